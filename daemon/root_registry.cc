// SPDX-License-Identifier: Apache-2.0
#include "daemon/root_registry.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "proto/canonical.h"
#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "storage/variant_store.h"

namespace kiln::daemon {
namespace {

// "KRR" and the format version (storage/FORMAT.md, "Roots").
constexpr uint32_t kRootsMagic = 0x0152524B;

// "NAME=FOLDER", or a folder.
RegisteredRoot ParseRoot(const std::string& given) {
  RegisteredRoot root;
  root.fixed = true;
  const size_t equals = given.find('=');
  if (equals != given.npos && given.find('/') > equals) {
    root.name = given.substr(0, equals);
    root.folder = given.substr(equals + 1);
  } else {
    root.folder = given;
  }
  std::error_code error;
  const auto absolute = std::filesystem::absolute(root.folder, error);
  if (!error && !root.folder.empty()) {
    std::filesystem::path normal = absolute.lexically_normal();
    if (!normal.has_filename()) {
      normal = normal.parent_path();
    }
    root.folder = normal.string();
    if (root.name.empty()) {
      root.name = normal.filename().string();
    }
  }
  return root;
}

}  // namespace

absl::Status RootRegistry::Load(const std::vector<std::string>& given) {
  absl::MutexLock lock(&mutex_);
  for (const std::string& text : given) {
    const RegisteredRoot root = ParseRoot(text);
    if (absl::Status status = roots_.Add(root.name, root.folder);
        !status.ok()) {
      const absl::string_view why = status.message();
      return absl::InvalidArgumentError(
          fmt::format("root '{}': {}", ToValidUtf8(text),
                      std::string_view(why.data(), why.size())));
    }
    Keep(root);
  }
  LoadSaved();
  return absl::OkStatus();
}

void RootRegistry::LoadSaved() {
  const auto saved = store_.GetRoots();
  if (!saved.ok() || !saved->has_value()) {
    return;
  }
  CanonicalReader in(**saved);
  std::vector<RegisteredRoot> roots;
  if (in.U32() == kRootsMagic) {
    in.Sequence(limits::kSearchRoots, [&] {
      RegisteredRoot& root = roots.emplace_back();
      root.name = in.Text();
      root.folder = in.Text();
      root.fixed = in.U8() != 0;
      root.precompiled = in.U8() != 0;
    });
  }
  if (!in.Finish("roots").ok()) {
    return;  // of a newer version; it is written again with the next change
  }
  for (const RegisteredRoot& root : roots) {
    auto known =
        std::ranges::find_if(registered_, [&](const RegisteredRoot& other) {
          return other.name == root.name && other.folder == root.folder;
        });
    if (known != registered_.end()) {
      known->precompiled = root.precompiled;
    } else if (!root.fixed) {  // a fixed one is no longer asked for
      if (absl::Status status = roots_.Add(root.name, root.folder);
          status.ok()) {
        Keep(root);
      } else {
        spdlog::warn("root forgotten name=\"{}\" error=\"{}\"",
                     ToValidUtf8(root.name), status.ToString());
      }
    }
  }
}

void RootRegistry::Keep(const RegisteredRoot& root) {
  registered_.push_back(root);
  registered_.back().folder = roots_.Find(root.name)->folder;
}

void RootRegistry::Save() {
  std::vector<RegisteredRoot> ordered;
  for (const sources::SearchRoot& root : roots_.roots()) {
    ordered.push_back(
        *std::ranges::find(registered_, root.name, &RegisteredRoot::name));
  }
  CanonicalWriter out;
  out.U32(kRootsMagic);
  out.Sequence(ordered, [&](const RegisteredRoot& root) {
    out.Text(root.name);
    out.Text(root.folder);
    out.U8(root.fixed ? 1 : 0);
    out.U8(root.precompiled ? 1 : 0);
  });
  if (absl::Status status = store_.PutRoots(out.bytes()); !status.ok()) {
    spdlog::warn("roots not stored error=\"{}\"", status.ToString());
  }
}

absl::StatusOr<bool> RootRegistry::Add(std::string_view name,
                                       std::string_view folder,
                                       std::string_view before) {
  {
    absl::MutexLock lock(&mutex_);
    if (const sources::SearchRoot* known = roots_.Find(name);
        known != nullptr && known->folder == folder) {
      return true;
    }
    std::optional<size_t> position;
    if (!before.empty()) {
      const auto found =
          std::ranges::find(roots_.roots(), before, &sources::SearchRoot::name);
      if (found == roots_.roots().end()) {
        return absl::NotFoundError(
            fmt::format("no search root '{}' to put it before",
                        Shorten(before, limits::kNameBytes)));
      }
      position = static_cast<size_t>(found - roots_.roots().begin());
    }
    KILN_RETURN_IF_ERROR(roots_.Add(name, folder, position));
    Keep({std::string(name), std::string(folder)});
    Save();
  }
  spdlog::info("root added name=\"{}\" folder=\"{}\"", ToValidUtf8(name),
               ToValidUtf8(folder));
  on_change_();
  return false;
}

absl::Status RootRegistry::Remove(std::string_view name) {
  {
    absl::MutexLock lock(&mutex_);
    auto known = std::ranges::find(registered_, name, &RegisteredRoot::name);
    if (known != registered_.end() && known->fixed) {
      return absl::FailedPreconditionError(
          fmt::format("root '{}' is one that kilnd was started with; start it "
                      "without it",
                      known->name));
    }
    KILN_RETURN_IF_ERROR(roots_.Remove(name));
    registered_.erase(known);
    Save();
  }
  spdlog::info("root removed name=\"{}\"", ToValidUtf8(name));
  on_change_();
  return absl::OkStatus();
}

absl::Status RootRegistry::MarkPrecompiled(
    const std::vector<std::string>& names, bool precompiled) {
  absl::MutexLock lock(&mutex_);
  for (const std::string& name : names) {
    if (roots_.Find(name) == nullptr) {
      return absl::NotFoundError(fmt::format(
          "no search root '{}'", Shorten(name, limits::kNameBytes)));
    }
  }
  for (RegisteredRoot& root : registered_) {
    if (std::ranges::find(names, root.name) != names.end()) {
      root.precompiled = precompiled;
    }
  }
  Save();
  return absl::OkStatus();
}

std::vector<RegisteredRoot> RootRegistry::List() const {
  absl::MutexLock lock(&mutex_);
  std::vector<RegisteredRoot> list;
  for (const sources::SearchRoot& root : roots_.roots()) {
    list.push_back(
        *std::ranges::find(registered_, root.name, &RegisteredRoot::name));
  }
  return list;
}

sources::SearchRoots RootRegistry::roots() const {
  absl::MutexLock lock(&mutex_);
  return roots_;
}

}  // namespace kiln::daemon
