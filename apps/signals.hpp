// Ctrl-C (SIGINT), SIGTERM and SIGHUP. They are blocked in every thread and awaited in one, so that no handler runs in
// the middle of anything.
#pragma once
#include <functional>
#include <stdexcept>
#include <string>

namespace suf::apps {

// Awaits signals from now on. Before the process has another thread.
void AwaitSignals();

// Ends this process by a signal, as if nothing had caught it: 130 in a shell after Ctrl-C, 143 after SIGTERM, 129 after
// SIGHUP. last: the last line of stderr, if any.
[[noreturn]] void EndBy(int signal, const char* last = nullptr) noexcept;

// While one lives, it takes the signals; the one made last if there are several. Without one a signal ends the process.
class SignalTaker {
 public:
  // take: is called in the thread that awaits signals, with how many came since the taker was made; SIGHUP counts as
  // the second, as nobody is left to send another.
  explicit SignalTaker(std::function<void(int signal, int turn)> take);
  ~SignalTaker();
  SignalTaker(const SignalTaker&) = delete;
  SignalTaker& operator=(const SignalTaker&) = delete;
};

// Thrown when a command put away what it had after a signal; what() is the sentence. main prints it and ends by the
// signal.
class Interrupted : public std::runtime_error {
 public:
  Interrupted(int signal, const std::string& sentence) : std::runtime_error(sentence), signal_(signal) {}
  int signal() const { return signal_; }

 private:
  int signal_;
};

}  // namespace suf::apps
