// Ctrl-C (SIGINT), SIGTERM and SIGHUP. They are blocked in every thread and awaited in one, so that no handler
// interrupts other code.
#pragma once
#include <functional>
#include <stdexcept>
#include <string>

namespace suf::apps {

// Starts to await signals. Call it before the process has another thread.
void AwaitSignals();

// Ends this process by a signal, as if nothing had caught it. A shell shows 130 after Ctrl-C, 143 after SIGTERM, 129
// after SIGHUP. `last`, if not null, becomes the last line of stderr.
[[noreturn]] void EndBy(int signal, const char* last = nullptr) noexcept;

// Receives the signals while it lives; of several, the newest one does. Without any, a signal ends the process.
class SignalTaker {
 public:
  // Calls `take` in the thread that awaits signals; `turn` counts the signals since construction, from 1. SIGHUP counts
  // as the second at least, because no terminal is left to send another.
  // With `hangup`, SIGHUP calls that instead, also under nohup, and is not counted.
  explicit SignalTaker(std::function<void(int signal, int turn)> take, std::function<void()> hangup = {});
  ~SignalTaker();
  SignalTaker(const SignalTaker&) = delete;
  SignalTaker& operator=(const SignalTaker&) = delete;
};

// The exception of a command that a signal ended in good order. `main` prints what() and ends by the signal.
class Interrupt : public std::runtime_error {
 public:
  Interrupt(int signal, const std::string& sentence) : std::runtime_error(sentence), signal_(signal) {}
  int signal() const { return signal_; }

 private:
  int signal_;
};

}  // namespace suf::apps
