#include "apps/signals.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "apps/screen.hpp"

namespace suf::apps {

namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

struct Take {
  std::function<void(int, int)> call;
  std::function<void()> hangup;
  int turn = 0;
};

// The takers that live. Never destroyed, because the thread that uses them is not joined.
struct Takers {
  std::mutex m;
  std::vector<Take> all;
};
Takers& TheTakers() {
  static Takers* const takers = new Takers;
  return *takers;
}

// Drops repetitions of this signal within 10 ms, because timeout(1) sends it to the process and then to its group.
void Settle(int signal) {
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  const timespec now{};
  while (sigtimedwait(&one, nullptr, &now) > 0) {
  }
}

void Await(const sigset_t& set, bool ignores) {
  for (;;) {
    int signal = 0;
    if (sigwait(&set, &signal)) continue;
    Settle(signal);
    Takers& takers = TheTakers();
    const std::unique_lock lock(takers.m);
    if (!takers.all.empty()) {
      Take& take = takers.all.back();
      if (signal == SIGHUP && take.hangup) {
        take.hangup();
        continue;
      }
      take.turn = signal == SIGHUP ? std::max(take.turn + 1, 2) : take.turn + 1;
      take.call(signal, take.turn);
    } else if (!(ignores && signal == SIGINT)) {
      EndBy(signal);
    }
  }
}

bool Ignored(int signal) {
  struct sigaction now {};
  return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

void AwaitSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (int s : kSignals) sigaddset(&set, s);  // SIGHUP does not arrive while it is ignored, as under nohup
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  // a shell makes its background processes ignore Ctrl-C
  std::thread([set, ignores = Ignored(SIGINT)] { Await(set, ignores); }).detach();
}

void EndBy(int signal, const char* last) noexcept {
  screen::Leave();
  if (last) (void)!write(STDERR_FILENO, last, std::strlen(last));
  std::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  (void)std::raise(signal);
  _exit(128 + signal);  // the first process of a container does not end by its own signal
}

SignalTaker::SignalTaker(std::function<void(int, int)> take, std::function<void()> hangup) {
  if (hangup) std::signal(SIGHUP, SIG_DFL);  // it ends nothing now, so nohup need not prevent it
  Takers& takers = TheTakers();
  const std::lock_guard lock(takers.m);
  takers.all.push_back({std::move(take), std::move(hangup)});
}

SignalTaker::~SignalTaker() {
  Takers& takers = TheTakers();
  const std::lock_guard lock(takers.m);
  takers.all.pop_back();
}

}  // namespace suf::apps
