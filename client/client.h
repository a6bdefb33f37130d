// SPDX-License-Identifier: Apache-2.0
#pragma once

// The client that an engine links: asks a kilnd on this machine for shader
// variants and hands them out between frames. Never blocks a frame, never
// throws, and needs no daemon: without one every key stays pending, and
// `Resolve` says "draw with the whole shader". client/README.md has a frame
// loop; client/vulkan/adapter.h turns a variant into a VkPipeline.
//
//   auto client = Client::Connect({.client_name = "game"});
//   auto program = client->Register(scene);              // at load
//   auto key = client->Request({.program = *program, .kind = "opaque",
//                               .features = bits});       // first draw
//   while (running) {
//     client->Poll(&events);                              // frame boundary
//     auto variant = client->Resolve(*key);               // null: whole shader
//     ...
//   }
//
// Threads. The client runs one background thread of its own, which does all
// waiting: it connects, asks, fetches and checks. gRPC's shared threads do the
// socket work. What they bring becomes visible only inside `Poll`, so a choice
// stays put while a frame records.

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/shader_handle.h"
#include "client/variant.h"
#include "proto/digest.h"
#include "proto/program.h"
#include "proto/target.h"
#include "proto/urgency.h"
#include "proto/variant_key.h"

namespace kiln::client {

class ShaderLibrary;
struct ShaderSource;

struct ClientOptions {
  // The daemon's socket; empty: DefaultSocketPath().
  std::string socket;
  // What the daemon's logs and `kiln status` call this process.
  std::string client_name = "engine";
  // The device to compile for: radv:<family>, lavapipe or gpu:<index>.
  std::string target = std::string(kDefaultTarget);
  // How often a ping is sent, and how long its pong may take before the
  // connection counts as stalled. Shorter: busy daemons look frozen. Longer: a
  // frozen one is noticed later. Nothing but `connection()` depends on it.
  std::chrono::milliseconds heartbeat{2000};
  // The longest pause between two attempts to connect (the first is 50 ms).
  // Shorter: more wake-ups while no daemon runs. Longer: a started one is
  // found later.
  std::chrono::milliseconds reconnect_max{1000};
  // The pause after a daemon that refused us: another protocol version, a
  // target it cannot open.
  std::chrono::milliseconds refused_retry{5000};
};

enum class VariantState : uint8_t {
  kUnknown = 0,  // never requested
  kPending = 1,  // asked for, or waiting for a daemon to ask
  kReady = 2,
  // Stays on the whole shader for the life of this client; of a living program,
  // until a source changes.
  kFailed = 3,
};

struct VariantStatus {
  VariantState state = VariantState::kUnknown;
  // kFailed: one line that names the thing. kReady: why what was saved since
  // does not compile; the variant of before stays. Else empty.
  std::string message;
  std::string diagnostics;  // with `message`: compiler output, may be empty
  // How often the key became ready: once, and again with each save that
  // changed it. A pipeline made for another generation is to be made again.
  uint32_t generation = 0;
};

struct ShaderStatus {
  VariantState state = VariantState::kUnknown;
  std::string message;  // as in VariantStatus
  // Compiler output: errors, or the warnings of a shader that compiles.
  std::string diagnostics;
};

enum class ConnectionState : uint8_t {
  kConnecting = 0,  // no daemon yet, or the connection was lost
  kReady = 1,
  kStalled = 2,  // it is there and does not answer
  kRefused = 3,  // it answered no; tried again slowly
};

// "connecting", "ready", "stalled", "refused".
std::string_view ConnectionStateText(ConnectionState state);

// What is known about the daemon now. The daemon's fields keep the last
// daemon's values while there is none.
struct Connection {
  ConnectionState state = ConnectionState::kConnecting;
  std::string reason;  // of every state but kReady; names the socket
  uint32_t daemon_pid = 0;
  std::string daemon_version;
  Digest target;  // TargetIdentity::Id(); none until a session was opened
  std::string device_name;
};

// Something that became true with the `Poll` that returned it; once each.
struct Event {
  enum class Kind : uint8_t {
    // `Resolve(id)` now has it; for a living program also each later version.
    kVariantReady = 1,
    kVariantFailed = 2,   // message, diagnostics; what was ready stays so
    kProgramRefused = 3,  // `id` is the program's; its keys fail, too
    kConnection = 4,      // `connection()` changed; message is the reason
    // What failed after it had been ready is right again, and as it was.
    kRecovered = 5,
    kShaderReady = 6,      // `id` is the program's; the library has it
    kShaderFailed = 7,     // as kVariantFailed
    kSurfaceAccepted = 8,  // `id` is the program's, label the surface's
    kSurfaceRejected = 9,  // message, diagnostics
  };

  Kind kind = Kind::kConnection;
  Digest id;          // of the key or the program
  std::string label;  // of the key or the program
  std::string message;
  std::string diagnostics;
  ConnectionState connection = ConnectionState::kConnecting;  // kConnection
  uint32_t surface_index = 0;  // kSurfaceAccepted: 1 to 255
};

// What a driver said when it was given a delivered blob. Values as on the wire.
enum class HitFeedback : uint8_t {
  kCacheHit = 1,
  kCreatedWithoutHit = 2,
  kCompileRequired = 3,
};

// A connection to kilnd, kept up in the background.
//
// Thread-safe. No function waits for the daemon, the disk or a compile, none
// throws, and none takes a lock that the background thread holds for longer
// than it takes to move a pointer.
class Client {
 public:
  // Never null and never waits: the socket is first touched by the background
  // thread. An unusable socket path shows as kRefused in `connection()`.
  static std::unique_ptr<Client> Connect(ClientOptions options);

  // Stops the background thread and closes the connection, also with a frozen
  // daemon, in well under a second. Variants handed out stay valid. The daemon
  // finishes what it compiles, and drops what only this client waited for.
  // Requires: no other call is running; main() has not returned.
  ~Client();
  Client(const Client&) = delete;  // owns a thread
  Client& operator=(const Client&) = delete;

  // Makes a program known; uploaded in the background, and again whenever
  // another daemon answers. Encodes and hashes all sources on the calling
  // thread (1 ms per MB): call it at load. Idempotent.
  // Returns: the program's id. Errors: InvalidArgument naming the field.
  absl::StatusOr<Digest> Register(Program program);

  // Asks for a variant, once: later calls for the same normalised key do
  // nothing but compute its id (1 to 2 us), so keep the id. Only while it is
  // pending, another urgency than the last moves it among what the daemon
  // compiles next, up or down. An engine asks for what it draws now as on
  // screen, for what a level will need as warm-up.
  // Returns: the key's id, for `Resolve`.
  // Errors: InvalidArgument naming the unknown kind, backdrop, blend, bit or
  // override, NotFound for a program that is not registered here.
  absl::StatusOr<Digest> Request(const VariantKey& key,
                                 Urgency urgency = Urgency::kOnScreen);

  // Nobody here waits for a pending key any more: `StateOf` no longer knows it,
  // and the daemon does not start its compile unless another client waits for
  // it. What is ready or failed stays.
  void Withdraw(const Digest& key_id);

  // What this engine does from now on, also after a reconnect; playing until
  // it is told. While any engine plays, one of the daemon's workers, if it has
  // several, takes nothing but what is on screen.
  void SetActivity(Activity activity);

  // Compiles a shader alone, without a pipeline: by its text, or by a path in
  // kilnd's search roots; then it is compiled again whenever its sources
  // change. Idempotent.
  // Returns: the name's handle in `library()`, which resolves once a `Poll` has
  // brought the module; each later one bumps its generation. The client owns
  // the module until `Release`.
  // Errors: InvalidArgument naming the field.
  absl::StatusOr<ShaderHandle> Compile(const ShaderSource& source);
  absl::StatusOr<std::vector<ShaderHandle>> Compile(
      std::span<const ShaderSource> sources);

  ShaderStatus StateOf(ShaderHandle shader) const;

  // Forgets a shader: `StateOf` no longer knows it, no event follows, and its
  // module ends with `library().EndFrame()` unless somebody else owns it. To
  // have it back, `Compile` it again and use the handle which that returns.
  void Release(ShaderHandle shader);

  // Every compiled shader. Call its EndFrame between frames.
  ShaderLibrary& library();

  // Adds user code to a program that takes surface shaders; `name` is what
  // diagnostics call it. The verdict is an event: kSurfaceAccepted with the
  // index that draws use, or kSurfaceRejected. Every variant of the program is
  // then compiled again with it. Sent again to each new daemon. While the
  // program does not compile there is no verdict: asked again every few
  // seconds. The same name again replaces the text, with an event of its own;
  // a running daemon keeps the earlier text too, until `kiln surface remove`
  // frees its index.
  // Errors: NotFound for a program that is not registered here;
  // FailedPrecondition for one that takes none; InvalidArgument over the limit.
  absl::Status RegisterSurface(const Digest& program, std::string_view name,
                               std::string_view source);

  // True while a variant, shader or surface that was asked for has had no
  // answer, or one that no `Poll` has published.
  bool HasPending() const;

  // Polls until nothing is pending. For loading screens and tools.
  // Returns: false if something still was at the timeout. Appends to `events`,
  // which may be null. Blocks: for compiles.
  bool Flush(std::chrono::milliseconds timeout, std::vector<Event>* events);

  // Publishes what has arrived since the last call: `Resolve`, `StateOf` and
  // the events agree from here on. Call once per frame, between frames. With
  // nothing new it costs one atomic load.
  // Appends to `events` (may be null, then they are lost).
  // Returns: whether anything was published: a signal to throw away recorded
  // command bundles.
  bool Poll(std::vector<Event>* events);

  // Returns: the variant, or null for "draw with the whole shader". Changes
  // only within `Poll` and `set_specialization_enabled`. Any thread may call
  // it while recording.
  std::shared_ptr<const ReadyVariant> Resolve(const Digest& key_id) const;

  VariantStatus StateOf(const Digest& key_id) const;

  // Tells the daemon how the driver answered; counted there by target. Sent
  // when there is a connection; past a few thousand unsent, dropped.
  void ReportFeedback(const Digest& key_id, HitFeedback feedback,
                      std::chrono::microseconds create_time);

  // The state right now, not as of the last `Poll`.
  Connection connection() const;

  // Off: `Resolve` returns null for everything, at once; variants are kept,
  // and requests go on. Switch between frames.
  void set_specialization_enabled(bool enabled);
  bool specialization_enabled() const;

 private:
  class Impl;
  explicit Client(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace kiln::client
