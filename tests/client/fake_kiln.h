// SPDX-License-Identifier: Apache-2.0
#pragma once

// A kilnd in this process, for answers that the real one never gives: another
// protocol version, damaged chunks, silence. Everything else is tested against
// the real one (daemon_process.h).

#include <cstdint>
#include <memory>
#include <string>

#include "proto/limits.h"

namespace kiln::testing {

struct FakeBehaviour {
  enum class Damage : uint8_t {
    kNone,
    kFlippedByte,  // in the fragment module
    kCutShort,     // the last chunk is missing
    kAnotherKey,   // sound, but of another key
    kBigChunk,     // over the contract's limit
    kNotFound,     // the daemon no longer has it
  };

  // Handshake.
  uint32_t protocol_version =
      limits::kProtocolVersion;  // what it says it speaks
  bool refuses = false;          // with FAILED_PRECONDITION
  bool answers = true;           // false: waits until the caller gives up

  // RegisterProgram.
  bool refuses_programs = false;

  // Stream.
  bool pongs = true;
  // That many requests are rejected as "queue full" before any is taken.
  int rejected_for_now = 0;
  bool compiles_fail = false;

  // GetArtifact: that many deliveries are damaged before any is sound.
  Damage damage = Damage::kNone;
  int damaged_deliveries = 1000000;
};

// Serves the protocol on `socket` until destroyed. Thread-safe.
class FakeKiln {
 public:
  FakeKiln(std::string socket, FakeBehaviour behaviour);
  ~FakeKiln();
  FakeKiln(const FakeKiln&) = delete;  // owns a server
  FakeKiln& operator=(const FakeKiln&) = delete;

  int handshakes() const;
  int requests() const;
  int deliveries() const;

 private:
  class Service;
  struct Server;

  std::unique_ptr<Service> service_;
  std::unique_ptr<Server> server_;
};

}  // namespace kiln::testing
