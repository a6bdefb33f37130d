// SPDX-License-Identifier: Apache-2.0
#pragma once

// The key of one variant: which program, and which choice on each axis. A key
// is normalised before it is hashed, so that requests that must give the same
// pipeline share one compile and one stored artifact.
//
//   axis      values                 normal form
//   kind      Program::kinds         must be declared
//   backdrop  Program::backdrops     first one, where the kind does not use it
//   blend     Program::blends        first one, where the kind does not use it
//   features  mask of declared bits  merged groups filled, bits the kind does
//                                    not reach cleared; every bit that it does
//                                    reach = every declared bit, the whole
//                                    shader
//   overrides name -> value          rounded up to a step, sorted by name,
//                                    defaults left out

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/bytes.h"
#include "proto/digest.h"
#include "proto/program.h"

namespace kiln {

struct OverrideValue {
  std::string name;
  uint64_t value = 0;  // bits, as in Constant

  friend auto operator<=>(const OverrideValue&, const OverrideValue&) = default;
};

// Thread-compatible value. Only `NormaliseKey` and `DecodeKey` make keys that
// are fit to be hashed.
struct VariantKey {
  Digest program;
  std::string kind;
  std::string backdrop;  // empty in a request: the default
  std::string blend;     // empty in a request: the default
  FeatureMask features = 0;
  std::vector<OverrideValue> overrides;

  friend auto operator<=>(const VariantKey&, const VariantKey&) = default;
};

// Returns: `key` in normal form for `program`, whose id it must carry.
// Errors: InvalidArgument naming the unknown kind, backdrop, blend, bit or
// override, or the override's value and the range or last step it exceeds.
absl::StatusOr<VariantKey> NormaliseKey(const Program& program, VariantKey key);

// True when `stored` is `asked`, or `asked` without some of its overrides:
// kilnd leaves out those that no code reads (KNOWN_FAULTS 34), so the artifact
// of the one serves the other.
bool Serves(const VariantKey& stored, const VariantKey& asked);

// Canonical bytes (storage/FORMAT.md, "Variant key").
Bytes EncodeKey(const VariantKey& key);

// Errors: InvalidArgument when `bytes` are not a canonical key.
absl::StatusOr<VariantKey> DecodeKey(ByteView bytes);

// The id of a key: SHA-256 of its canonical bytes.
Digest KeyId(const VariantKey& key);

// The overrides of `key` as text: "A=1|B=4", sorted by name; "" for none.
std::string OverridesText(const Program& program, const VariantKey& key);

// One line for people: "scene opaque/none/alpha Detail|Height A=1|B=4".
// Every diagnostic about a variant carries it. Valid UTF-8.
std::string KeyLabel(const Program& program, const VariantKey& key);

// The value of every specialization constant of `key`: kind's, backdrop's and
// blend's, then features, then overrides; later ones win. Sorted by id; those
// known by name only (kIdByName) come last. Requires: `key` is normalised for
// `program`.
std::vector<Constant> KeyConstants(const Program& program,
                                   const VariantKey& key);

// The pipeline state of `key`: kind's, then backdrop's, then blend's settings;
// later ones win. Sorted by name. Requires: as above.
std::vector<StateSetting> KeyState(const Program& program,
                                   const VariantKey& key);

// Every combination of kind, backdrop and blend with all features: the set an
// engine builds up front.
std::vector<VariantKey> WholeKeys(const Program& program,
                                  const Digest& program_id);

}  // namespace kiln
