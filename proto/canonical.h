// SPDX-License-Identifier: Apache-2.0
#pragma once

// Canonical bytes: the one encoding that is hashed and stored. Integers are
// little-endian and fixed width, strings and blobs carry a 32-bit length, so
// no two different values share an encoding (KNOWN_FAULTS 31: "A=1;B=" and
// "A=;B=1" must differ). The grammar of each value is in storage/FORMAT.md.

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/bytes.h"
#include "proto/constant.h"
#include "proto/digest.h"

namespace kiln {

// Appends canonical values to a buffer. Thread-compatible.
class CanonicalWriter {
 public:
  void U8(uint8_t value);
  void U32(uint32_t value);
  void U64(uint64_t value);
  void Text(std::string_view text);
  void Blob(ByteView bytes);
  void Id(const Digest& digest);

  // Writes a sequence: its size as U32, then `each(element)` for every element.
  template <typename Range, typename Each>
  void Sequence(const Range& range, Each each) {
    U32(static_cast<uint32_t>(range.size()));
    for (const auto& element : range) {
      each(element);
    }
  }

  ByteView bytes() const { return bytes_; }

  Bytes Take() && { return std::move(bytes_); }

 private:
  void Append(ByteView bytes);

  Bytes bytes_;
};

// Reads what CanonicalWriter wrote. The first fault sticks: later reads return
// zero values, and `Finish()` reports it. Thread-compatible.
// Lifetime: the bytes passed in must outlive the reader.
class CanonicalReader {
 public:
  explicit CanonicalReader(ByteView bytes) : rest_(bytes) {}

  uint8_t U8();
  uint32_t U32();
  uint64_t U64();
  std::string Text();
  Bytes Blob();
  Digest Id();

  // Reads a sequence: a count of at most `limit`, then `each()` that often.
  template <typename Each>
  void Sequence(uint32_t limit, Each each) {
    uint32_t count = U32();
    if (count > limit) {
      Fail("sequence longer than its limit");
      return;
    }
    for (uint32_t i = 0; i < count && ok_; ++i) {
      each();
    }
  }

  // True until a read ran past the end or a limit.
  bool ok() const { return ok_; }

  // Errors: InvalidArgument naming `what` if any read failed or bytes remain.
  absl::Status Finish(std::string_view what) const;

 private:
  ByteView Take(size_t count);
  void Fail(const char* reason);

  ByteView rest_;
  bool ok_ = true;
  const char* reason_ = "";
};

// A constant as programs and artifacts hold it (FORMAT.md, "constant").
void WriteConstant(CanonicalWriter& out, const Constant& constant);
Constant ReadConstant(CanonicalReader& in);

}  // namespace kiln
