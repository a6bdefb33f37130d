// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/worker_main.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "daemon/worker/channel.h"
#include "daemon/worker/job_runner.h"
#include "daemon/worker/sandbox.h"
#include "kiln/worker/v1/worker.pb.h"
#include "proto/status_macros.h"
#include "proto/target.h"
#include "proto/text.h"
#include "shaders/compiler.h"

namespace kiln::daemon {
namespace {

// glslang and drivers recurse over the source: 10,900 terms of a sum overflow
// 8 MiB (KNOWN_FAULTS 1). Pages not touched cost nothing.
constexpr size_t kCompileStackBytes = 256u << 20;

struct WorkerOptions {
  std::string target = std::string(kDefaultTarget);
  std::string job_file;
  std::string out_file;
  uint64_t memory_mb = 0;
  std::string sandbox = "off";
  int64_t cpu_s = 0;
  bool validate = false;
  bool no_compiler = false;
  OpenBackend open_backend;
};

// A job from a file and where its result goes: opened before the sandbox is
// entered, which opens no such files.
struct FileJob {
  worker::v1::Job job;
  int out = -1;
};

using SandboxLayers = std::vector<SandboxLayer>;

// Dies with the daemon, before everything else on the machine, and small.
void LimitSelf(const WorkerOptions& options) {
  if (options.job_file.empty()) {
    // A daemon that died before this line is noticed by the closed channel.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::ofstream("/proc/self/oom_score_adj") << 500;
  }
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (options.memory_mb != 0) {
    const rlim_t bytes = (options.memory_mb << 20) + kCompileStackBytes;
    const rlimit memory{bytes, bytes};
    setrlimit(RLIMIT_DATA, &memory);
  }
}

// The compiler's own start, 65 ms and more, is paid here and not by the first
// request (KNOWN_FAULTS 50).
void WarmUpCompiler() {
  Program program;
  program.stages = {{Stage::kVertex, "warm.vert"}};
  program.files = {{"warm.vert", "#version 460\nvoid main() {}\n"}};
  (void)shaders::CompileStage(program, Stage::kVertex);
}

void LimitJobTime(const WorkerOptions& options) {
  if (options.cpu_s != 0) {
    LimitCpuTime(std::chrono::seconds(options.cpu_s));
  }
}

// Errors: what `--sandbox=require` asks for and the kernel does not give.
absl::Status CheckSandbox(const WorkerOptions& options,
                          const SandboxLayers& layers) {
  return options.sandbox == "require" ? CheckAllHold(layers) : absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<JobRunner>> OpenTarget(
    const WorkerOptions& options, const SandboxLayers& layers) {
  KILN_RETURN_IF_ERROR(CheckSandbox(options, layers));
  LimitJobTime(options);
  KILN_ASSIGN_OR_RETURN(const TargetSpec spec,
                        TargetSpec::Parse(options.target));
  KILN_ASSIGN_OR_RETURN(auto backend,
                        options.open_backend(spec, {options.validate}));
  if (!options.no_compiler) {
    WarmUpCompiler();
  }
  return std::make_unique<JobRunner>(
      std::move(backend), JobRunnerOptions{.compiler = !options.no_compiler,
                                           .validate = options.validate});
}

void SetError(const absl::Status& status, worker::v1::Hello* hello) {
  const absl::string_view text = status.message();
  hello->set_error_code(static_cast<uint32_t>(status.code()));
  hello->set_error(ToValidUtf8({text.data(), text.size()}));
}

void AddLayers(const SandboxLayers& layers, worker::v1::Hello* hello) {
  for (const SandboxLayer& layer : layers) {
    worker::v1::SandboxLayer* out = hello->add_sandbox();
    out->set_name(layer.name);
    out->set_holds(layer.holds);
    out->set_detail(layer.detail);
  }
}

void FillHello(const TargetIdentity& identity, worker::v1::Hello* hello) {
  hello->set_device_name(identity.device_name);
  for (const IdentityField& field : identity.fields) {
    hello->add_field_names(field.name);
    hello->add_field_values(field.value);
  }
  hello->set_compiler_version(shaders::CompilerVersion());
}

bool Report(const worker::v1::WorkerReport& report) {
  return WriteFrame(kWorkerChannelFd, report.SerializeAsString());
}

// Answers commands until the daemon closes the channel.
int Serve(const WorkerOptions& options, const SandboxLayers& layers) {
  worker::v1::WorkerReport greeting;
  AddLayers(layers, greeting.mutable_hello());
  absl::StatusOr<std::unique_ptr<JobRunner>> runner =
      OpenTarget(options, layers);
  if (!runner.ok()) {
    SetError(runner.status(), greeting.mutable_hello());
    Report(greeting);
    return 1;
  }
  FillHello((*runner)->backend().identity(), greeting.mutable_hello());
  Report(greeting);
  while (std::optional<std::string> frame = ReadFrame(kWorkerChannelFd)) {
    worker::v1::WorkerCommand command;
    if (!command.ParseFromString(*frame)) {
      std::cerr << "kiln-worker: malformed command\n";
      return 1;
    }
    if (command.has_load_program()) {
      // A program that does not load fails the jobs that name it.
      (*runner)->LoadProgram(command.load_program()).IgnoreError();
      continue;
    }
    const worker::v1::Job& job = command.job();
    std::string last_phase;
    auto tell_phase = [&](std::string_view phase) {
      last_phase = phase;
      worker::v1::WorkerReport notice;
      notice.mutable_phase()->set_job_id(job.job_id());
      notice.mutable_phase()->set_phase(last_phase);
      Report(notice);
    };
    LimitJobTime(options);
    worker::v1::WorkerReport report;
    try {  // compilers and drivers throw it through us
      *report.mutable_result() = (*runner)->Run(job, tell_phase);
    } catch (const std::bad_alloc&) {
      tell_phase(last_phase + ", out of memory");
      return 1;
    }
    Report(report);
  }
  return 0;
}

// Reads the job of a file and opens the file for its result, whose old content
// stays until there is one. Returns: false when it cannot, having said so.
bool OpenFiles(const WorkerOptions& options, FileJob& file) {
  std::ifstream in(options.job_file, std::ios::binary);
  if (!in || !file.job.ParseFromIstream(&in)) {
    std::cerr << fmt::format("kiln-worker: '{}' holds no job\n",
                             options.job_file);
    return false;
  }
  file.out =
      open(options.out_file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file.out < 0) {
    std::cerr << fmt::format("kiln-worker: cannot write '{}'\n",
                             options.out_file);
  }
  return file.out >= 0;
}

// Runs the one job of a file. Exit code 0 when it compiled.
int RunFile(const WorkerOptions& options, const FileJob& file,
            const SandboxLayers& layers) {
  absl::StatusOr<std::unique_ptr<JobRunner>> runner =
      OpenTarget(options, layers);
  absl::Status status = runner.status();
  if (status.ok()) {
    status = (*runner)->LoadProgram(file.job.program());
  }
  if (!status.ok()) {
    std::cerr << fmt::format("kiln-worker: {}\n", status.ToString());
    return 1;
  }
  const worker::v1::JobResult result =
      (*runner)->Run(file.job, [](std::string_view phase) {
        std::cerr << fmt::format("kiln-worker: {}\n", phase);
      });
  if (ftruncate(file.out, 0) != 0 ||
      !result.SerializeToFileDescriptor(file.out)) {
    std::cerr << fmt::format("kiln-worker: cannot write '{}'\n",
                             options.out_file);
    return 2;
  }
  if (result.error_code() != 0) {
    std::cerr << fmt::format("kiln-worker: {}\n{}", result.error(),
                             result.diagnostics());
    return 1;
  }
  return 0;
}

struct Task {
  const WorkerOptions& options;
  const FileJob& file;
  const SandboxLayers& layers;
  int exit_code = 1;
};

void* RunTask(void* argument) {
  auto* task = static_cast<Task*>(argument);
  try {  // the process's outermost frame
    task->exit_code = task->options.job_file.empty()
                          ? Serve(task->options, task->layers)
                          : RunFile(task->options, task->file, task->layers);
  } catch (const std::exception& error) {
    std::cerr << fmt::format("kiln-worker: {}\n", ToValidUtf8(error.what()));
  }
  return nullptr;
}

int RunOnLargeStack(Task task) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kCompileStackBytes);
  pthread_t thread{};
  if (pthread_create(&thread, &attributes, RunTask, &task) != 0) {
    std::cerr << "kiln-worker: cannot start the compile thread\n";
    return 1;
  }
  pthread_join(thread, nullptr);
  return task.exit_code;
}

int Main(const WorkerOptions& options) {
  LimitSelf(options);
  FileJob file;
  if (!options.job_file.empty() && !OpenFiles(options, file)) {
    return 2;
  }
  SandboxLayers layers;
  if (options.sandbox != "off") {
    layers = EnterSandbox();
  }
  return RunOnLargeStack({options, file, layers});
}

}  // namespace

int RunWorker(int argc, char** argv, OpenBackend open_backend) {
  WorkerOptions options;
  options.open_backend = std::move(open_backend);
  CLI::App app(
      "kiln-worker compiles shader variants for one target. kilnd starts it; "
      "with --job and --out\n"
      "it runs one job alone, from a file to a file.",
      "kiln-worker");
  app.add_option("--target", options.target,
                 "radv:<family>, lavapipe or gpu:<index>")
      ->capture_default_str();
  auto* job = app.add_option("--job", options.job_file,
                             "run the kiln.worker.v1.Job in this file");
  app.add_option("--out", options.out_file, "and write its JobResult here")
      ->needs(job);
  app.add_option("--memory-mb", options.memory_mb,
                 "data memory limit in MiB; 0: none");
  app.add_option("--cpu-s", options.cpu_s,
                 "seconds of CPU time a job may use, all threads together; 0: "
                 "no limit");
  app.add_option("--sandbox", options.sandbox,
                 "give up network, files, processes and privileges before the "
                 "driver is loaded:\n"
                 "off, on (as far as the kernel lets us), or require")
      ->check(CLI::IsMember({"off", "on", "require"}))
      ->capture_default_str();
  app.add_flag("--validate", options.validate,
               "load the Khronos validation layer");
  app.add_flag("--no-compiler", options.no_compiler,
               "refuse every job: for an installation without sources");
  try {  // CLI11 reports by exception only
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return Main(options);
}

}  // namespace kiln::daemon
