// SPDX-License-Identifier: Apache-2.0
#pragma once

// The plainest client there is: the wire contract spoken by hand, so that tests
// can also say what libkiln never would.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kiln/v1/kiln.grpc.pb.h"
#include "proto/digest.h"

namespace kiln::testing {

// One channel and one stream. Thread-compatible. Every call has a deadline.
class StreamClient {
 public:
  explicit StreamClient(const std::string& socket);
  ~StreamClient();

  v1::Kiln::Stub& stub() { return *stub_; }

  absl::StatusOr<v1::OpenSessionResponse> OpenSession(
      const std::string& target);

  // Opens a session for `target` and a stream attached to it.
  absl::Status Attach(const std::string& target);

  // Opens a stream without a session.
  void OpenStream();

  bool Send(const v1::ClientMessage& message);

  // Sends one batch. Request ids are the positions in it.
  bool Ask(const std::vector<v1::VariantRequest>& requests);

  // The next message. Errors: the status the stream ended with.
  absl::StatusOr<v1::ServerMessage> Next();

  // Sends one request and waits for its completion.
  absl::StatusOr<v1::Completion> AskOne(const v1::VariantRequest& request);

  // Ends the stream as a client that dies does; a Send or Next of another
  // thread returns.
  void Cancel();

  // Ends the stream. Returns: its status.
  absl::Status Finish();

 private:
  std::unique_ptr<v1::Kiln::Stub> stub_;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<
      grpc::ClientReaderWriter<v1::ClientMessage, v1::ServerMessage>>
      stream_;
};

// A request with the given axes and the program's first backdrop and blend.
v1::VariantRequest MakeRequest(const Digest& program, const std::string& kind,
                               uint32_t features);

}  // namespace kiln::testing
