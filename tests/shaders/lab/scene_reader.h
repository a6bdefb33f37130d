// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reads a scene case back as its shader does: lane by lane.

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "shaders/lab/draw_inputs.h"
#include "shaders/scene/scene_features.h"

namespace kiln::lab {

inline constexpr uint32_t kMaterialLanes = 8;

// Lanes of the buffer at set 0. Requires: the binding is bound.
class LaneReader {
 public:
  LaneReader(const DrawInputs& inputs, uint32_t binding) {
    for (const BoundInput& input : inputs.bound) {
      if (input.set == 0 && input.binding == binding) {
        bytes_ = &input.buffer;
      }
    }
  }

  explicit LaneReader(const Bytes& bytes) : bytes_(&bytes) {}

  uint32_t lanes() const { return static_cast<uint32_t>(bytes_->size() / 16); }

  // All ones past the end, which is an index of nothing.
  scene::UintLanes Uints(uint32_t lane) const {
    scene::UintLanes words;
    words.fill(0xffffffff);
    if (lane < lanes()) {
      std::memcpy(words.data(), bytes_->data() + size_t{lane} * 16, 16);
    }
    return words;
  }

  scene::FloatLanes Floats(uint32_t lane) const {
    return std::bit_cast<scene::FloatLanes>(Uints(lane));
  }

 private:
  const Bytes* bytes_ = nullptr;
};

// The gates' lanes of one draw of `inputs`.
inline scene::MaterialLanes MaterialOf(const DrawInputs& inputs,
                                       const DrawCall& draw) {
  const LaneReader table(inputs, 1);
  const scene::UintLanes push = LaneReader(draw.push_constants).Uints(3);
  const bool in_table = push[1] < table.Uints(0)[0];
  const uint32_t row = 1 + (in_table ? push[1] : 0) * kMaterialLanes;
  return {push[0], in_table, table.Uints(row + 3), table.Floats(row + 4)};
}

inline scene::FrameLanes FrameOf(const DrawInputs& inputs) {
  const LaneReader block(inputs, 0);
  return {block.Uints(0), block.Uints(1), block.Floats(2)};
}

inline uint32_t FeaturesOf(const DrawInputs& inputs, const DrawCall& draw) {
  return scene::Combine(scene::OfMaterial(MaterialOf(inputs, draw)),
                        scene::OfFrame(FrameOf(inputs)));
}

}  // namespace kiln::lab
