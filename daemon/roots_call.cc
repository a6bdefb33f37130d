// SPDX-License-Identifier: Apache-2.0
#include "daemon/roots_call.h"

#include <filesystem>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "kiln/v1/kiln.pb.h"
#include "proto/status_macros.h"
#include "proto/text.h"

namespace kiln::daemon {
namespace {

namespace fs = std::filesystem;

// A root with more is listed up to here.
constexpr size_t kMaxFiles = 200000;
constexpr int kMaxShadowedShown = 1000;

absl::Status CheckNotSealed(const ServiceContext& context) {
  return context.sealed ? absl::FailedPreconditionError(
                              "sealed: this kilnd has no search roots")
                        : absl::OkStatus();
}

bool IsHidden(const fs::path& path) {
  return path.filename().string().starts_with('.');
}

// Files of a root, and those of them that an earlier root hides; links are not
// followed, as they may lead out of the root. `owners`: which root a plain name
// means so far.
void ListFiles(const RegisteredRoot& root,
               absl::flat_hash_map<std::string, std::string>& owners,
               v1::SearchRoot* out) {
  std::error_code error;
  fs::recursive_directory_iterator it(
      root.folder, fs::directory_options::skip_permission_denied, error);
  size_t files = 0;
  for (;
       !error && files < kMaxFiles && it != fs::recursive_directory_iterator();
       it.increment(error)) {
    if (IsHidden(it->path())) {
      it.disable_recursion_pending();
      continue;
    }
    if (it->is_symlink(error) || !it->is_regular_file(error)) {
      continue;
    }
    ++files;
    const std::string path =
        it->path().lexically_relative(root.folder).generic_string();
    const auto [owner, is_first] = owners.try_emplace(path, root.name);
    if (!is_first && out->shadowed_size() < kMaxShadowedShown) {
      v1::ShadowedFile* shadowed = out->add_shadowed();
      shadowed->set_path(ToValidUtf8(path));
      shadowed->set_hidden_by(owner->second);
    }
  }
  out->set_files(files);
}

}  // namespace

absl::Status AnswerListRoots(const ServiceContext& context,
                             const v1::ListRootsRequest& request,
                             v1::ListRootsResponse* response) {
  absl::flat_hash_map<std::string, std::string> owners;
  for (const RegisteredRoot& root : context.roots.List()) {
    v1::SearchRoot* out = response->add_roots();
    out->set_name(root.name);
    out->set_folder(ToValidUtf8(root.folder));
    std::error_code error;
    out->set_exists(fs::is_directory(root.folder, error));
    out->set_fixed(root.fixed);
    out->set_precompiled(root.precompiled);
    if (request.with_files()) {
      ListFiles(root, owners, out);
    }
  }
  return absl::OkStatus();
}

absl::Status AnswerAddRoot(ServiceContext& context,
                           const v1::AddRootRequest& request,
                           v1::AddRootResponse* response) {
  KILN_RETURN_IF_ERROR(CheckNotSealed(context));
  KILN_ASSIGN_OR_RETURN(
      const bool known,
      context.roots.Add(request.name(), request.folder(), request.before()));
  response->set_already_known(known);
  return absl::OkStatus();
}

absl::Status AnswerRemoveRoot(ServiceContext& context,
                              const v1::RemoveRootRequest& request) {
  KILN_RETURN_IF_ERROR(CheckNotSealed(context));
  return context.roots.Remove(request.name());
}

absl::Status AnswerMarkRoots(ServiceContext& context,
                             const v1::MarkRootsRequest& request) {
  KILN_RETURN_IF_ERROR(CheckNotSealed(context));
  return context.roots.MarkPrecompiled(
      {request.names().begin(), request.names().end()}, request.precompiled());
}

}  // namespace kiln::daemon
