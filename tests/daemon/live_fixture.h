// SPDX-License-Identifier: Apache-2.0
#pragma once

// A kilnd with one search root, "project", and clients that speak the wire by
// hand: for tests of recipes and what becomes of them when files change.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/shader_program.h"
#include "kiln/v1/kiln.pb.h"
#include "tests/support/daemon_process.h"
#include "tests/support/eventually.h"
#include "tests/support/small_program.h"
#include "tests/support/source_folder.h"
#include "tests/support/status_matchers.h"
#include "tests/support/stream_client.h"

namespace kiln::daemon {

inline constexpr char kLiveTarget[] = "radv:vangogh";

// small.frag of the root: a SmallProgram's, with an include.
inline constexpr char kLiveFragment[] = R"(#version 460
#extension GL_GOOGLE_include_directive : require
layout(constant_id = 2) const uint Features = 0x3u;
layout(push_constant) uniform Push { vec4 tint; } push;
layout(location = 0) out vec4 color;
#include "shade.glsl"
void main() {
  color = Shade(push.tint);
  if ((Features & 1u) != 0u) { color.r += sin(push.tint.y); }
}
)";

// `factor` may be any text.
inline std::string ShadeGlsl(const std::string& factor) {
  return "vec4 Shade(vec4 tint) { return tint * " + factor + "; }\n";
}

class LiveFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    root_.Write("small.frag", kLiveFragment);
    root_.Write("shade.glsl", ShadeGlsl("0.5"));
    for (const SourceFile& file : testing::SmallProgram().files) {
      if (file.path == "small.vert") {
        root_.Write(file.path, file.text);
      }
    }
    ASSERT_OK(daemon_.Start());
  }

  // A SmallProgram whose sources lie in the root.
  static Program Recipe() {
    Program program = testing::SmallProgram();
    program.rooted = true;
    program.files.clear();
    return program;
  }

  static Program Shader(const std::string& path, Stage stage,
                        std::vector<Define> defines = {}) {
    client::ShaderSource source;
    source.path = path;
    source.stage = stage;
    source.language = LanguageOfPath(path);
    source.defines = std::move(defines);
    return client::ShaderProgram(source);
  }

  Digest Register(const Program& program) {
    auto id = daemon_.Connect()->RegisterProgram(program);
    EXPECT_OK(id);
    return id.value_or(Digest());
  }

  uint64_t Count(const std::string& counter) const {
    return daemon_.CounterValue(counter);
  }

  // The next completion on a stream; fails the test when there is none.
  static v1::Completion Next(testing::StreamClient& client) {
    while (true) {
      auto message = client.Next();
      if (!message.ok()) {
        ADD_FAILURE() << message.status();
        return {};
      }
      if (message->has_completion()) {
        return message->completion();
      }
    }
  }

  // Sends a request for the front end of a program.
  static void AskShader(testing::StreamClient& client, const Digest& program,
                        uint64_t request_id = 0) {
    v1::ClientMessage message;
    v1::ShaderRequest* request = message.mutable_batch()->add_shaders();
    request->set_request_id(request_id);
    request->set_program_id(std::string(program.raw()));
    EXPECT_TRUE(client.Send(message));
  }

  // Compiles one shader of the roots on a stream of its own.
  v1::Completion Compile(const Program& shader) {
    testing::StreamClient client(daemon_.socket());
    EXPECT_OK(client.Attach(kLiveTarget));
    AskShader(client, Register(shader));
    return Next(client);
  }

  static std::string TextOf(const v1::Completion& completion) {
    return completion.failure().message() + "\n" +
           completion.failure().diagnostics();
  }

  testing::SourceFolder root_;
  testing::DaemonProcess daemon_{
      {{"--root", "project=" + root_.path().string()}, {}}};
};

}  // namespace kiln::daemon
