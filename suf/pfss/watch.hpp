// Wrappers of a backend and of an Io that observe a run. Benchmarks use them, and tests of the calls that executors
// make to their host.
#pragma once
#include <functional>
#include <memory>
#include <utility>

#include "suf/pfss/backend.hpp"

namespace suf::pfss {

// An Io that forwards every call.
class Forward : public Io {
 public:
  explicit Forward(Io& to) : io(to) {}
  View In(int node) override { return io.In(node); }
  bool Ready(int node) override { return io.Ready(node); }
  void Release(int node) override { io.Release(node); }
  std::span<uint8_t> Out(int node) override { return io.Out(node); }
  View Received() override { return io.Received(); }
  std::span<uint8_t> Sending() override { return io.Sending(); }
  void Await(size_t bytes) override { io.Await(bytes); }
  void ReportWritten(size_t bytes) override { io.ReportWritten(bytes); }
  void SendNow() override { io.SendNow(); }
  Data Input(int node) override { return io.Input(node); }
  void ReportDone(std::span<const int> nodes) override { io.ReportDone(nodes); }
  void ReportTime(uint16_t scope, const TimeUse& s) override { io.ReportTime(scope, s); }
  bool NeedsScopeTimes() const override { return io.NeedsScopeTimes(); }
  void ReportSent(int node, View value) override { io.ReportSent(node, value); }

 protected:
  Io& io;
};

// A backend that runs on another one. For each step of a run, `watch` wraps the Io of the host.
class WatchedBackend : public Backend {
 public:
  using IoFactory = std::function<std::unique_ptr<Io>(Role role, size_t step, Io& host)>;
  WatchedBackend(Backend& on, IoFactory watch) : on_(on), watch_(std::move(watch)) {}
  std::string name() const override { return on_.name(); }
  const Capabilities& capabilities() const override { return on_.capabilities(); }
  uint32_t prg() const override { return on_.prg(); }
  std::unique_ptr<Randomness> Expand(BundleSecrets m) override { return on_.Expand(std::move(m)); }
  std::unique_ptr<Executor> Start(const Schedule& s, Role role) override {
    return std::make_unique<StepExecutor>(on_.Start(s, role), role, watch_);
  }

 private:
  struct StepExecutor : Executor {
    StepExecutor(std::unique_ptr<Executor> e, Role r, const IoFactory& w) : executor(std::move(e)), role(r), watch(w) {}
    void Run(const Program& program, const Randomness& randomness, Io& host) override {
      const auto io = watch(role, next++, host);
      executor->Run(program, randomness, *io);
      executor->Finish();
    }
    std::vector<uint64_t> Result(int node) override { return executor->Result(node); }
    const std::unique_ptr<Executor> executor;
    const Role role;
    const IoFactory& watch;
    size_t next = 0;
  };
  Backend& on_;
  const IoFactory watch_;
};

}  // namespace suf::pfss
