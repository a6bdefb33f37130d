// SPDX-License-Identifier: Apache-2.0
#include "proto/canonical.h"

#include <array>
#include <bit>
#include <cstring>

#include <fmt/format.h>

namespace kiln {
namespace {

static_assert(std::endian::native == std::endian::little,
              "canonical bytes are written by copying little-endian integers");

template <typename T>
std::array<std::byte, sizeof(T)> Encode(T value) {
  return std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
}

template <typename T>
T Decode(ByteView bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), bytes.size());
  return value;
}

}  // namespace

void CanonicalWriter::Append(ByteView bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

void CanonicalWriter::U8(uint8_t value) {
  Append(Encode(value));
}

void CanonicalWriter::U32(uint32_t value) {
  Append(Encode(value));
}

void CanonicalWriter::U64(uint64_t value) {
  Append(Encode(value));
}

void CanonicalWriter::Text(std::string_view text) {
  Blob(AsBytes(text));
}

void CanonicalWriter::Blob(ByteView bytes) {
  U32(static_cast<uint32_t>(bytes.size()));
  Append(bytes);
}

void CanonicalWriter::Id(const Digest& digest) {
  Append(digest.bytes());
}

ByteView CanonicalReader::Take(size_t count) {
  if (!ok_ || count > rest_.size()) {
    Fail("ends too early");
    return {};
  }
  ByteView taken = rest_.first(count);
  rest_ = rest_.subspan(count);
  return taken;
}

void CanonicalReader::Fail(const char* reason) {
  if (ok_) {
    ok_ = false;
    reason_ = reason;
  }
}

uint8_t CanonicalReader::U8() {
  return Decode<uint8_t>(Take(1));
}

uint32_t CanonicalReader::U32() {
  return Decode<uint32_t>(Take(4));
}

uint64_t CanonicalReader::U64() {
  return Decode<uint64_t>(Take(8));
}

std::string CanonicalReader::Text() {
  return std::string(AsText(Take(U32())));
}

Bytes CanonicalReader::Blob() {
  return ToBytes(Take(U32()));
}

Digest CanonicalReader::Id() {
  ByteView bytes = Take(Digest::kBytes);
  return bytes.empty() ? Digest() : Digest::FromRaw(AsText(bytes)).value();
}

absl::Status CanonicalReader::Finish(std::string_view what) const {
  if (!ok_) {
    return absl::InvalidArgumentError(fmt::format("{}: {}", what, reason_));
  }
  if (!rest_.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {} bytes too many", what, rest_.size()));
  }
  return absl::OkStatus();
}

void WriteConstant(CanonicalWriter& out, const Constant& constant) {
  out.U32(constant.id);
  out.U64(constant.value);
  out.U8(static_cast<uint8_t>(constant.type));
  out.Text(constant.name);
}

Constant ReadConstant(CanonicalReader& in) {
  Constant constant;
  constant.id = in.U32();
  constant.value = in.U64();
  constant.type = static_cast<ConstantType>(in.U8());
  constant.name = in.Text();
  return constant;
}

}  // namespace kiln
