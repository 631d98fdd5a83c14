// Memory shared by the processes of one case: a page with counters, and a pipe of events. There are no locks, because a
// role may be killed anywhere.
#pragma once
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <string>

#include "suf/net/refusal.hpp"

namespace suf::faults {

// A fault at one frame. Up to kReceiverDies it happens to a process, later ones to the frame's bytes.
enum class What {
  kNone,
  kDies,          // the victim, before the frame is sent
  kDiesAfter,     // the sender, after it sent the frame
  kDiesHalfway,   // the sender, after half of the frame's bytes
  kReceiverDies,  // the receiver, on receipt
  kStops,         // the victim, before the frame is sent (SIGSTOP)
  kLost,          // never sent
  kSwapped,       // sent after the sender's next one
  kTwice,
  kShort,    // a byte less, as the header says
  kLong,     // a byte more, as the header says
  kFlip,     // a bit of the payload
  kHead,     // a bit of the header
  kReplay,   // the payload of another run at this position
  kForeign,  // the kind of the frame after it, with this length
};
inline const char* const kWhat[] = {
    "none",        "dies before", "dies after", "dies halfway", "receiver dies", "stops",      "lost",
    "swapped",     "twice",       "cut short",  "long",         "payload bit",   "header bit", "payload of another run",
    "foreign kind"};

struct Fault {
  What what = What::kNone;
  Role from{}, to{};
  int index = 0;  // of the frame among those of its sender on this link
  Role victim{};
  size_t bit = 0;
  uint16_t kind = 0;    // of the frame
  bool silent = false;  // the receiver may wait for what follows this frame
};

// Whether the fault happens to a process.
inline bool OfProcess(What w) { return w == What::kStops || (w >= What::kDies && w <= What::kReceiverDies); }
// Whether a role may wait for a frame that never comes.
inline bool Silences(const Fault& f) {
  return OfProcess(f.what) || f.what == What::kLost || f.what == What::kSwapped || f.silent ||
         (f.what == What::kHead && f.bit < 32);
}

inline double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Board {
  std::atomic<bool> armed, calm;                  // calm: time is not the subject
  std::atomic<double> fired;                      // time of the fault; 0: not yet
  std::atomic<int> dialled[kRoles], pid[kRoles];  // connections to that role; its process
  std::atomic<uint16_t> port[kRoles];
};

// A message in the pipe; shorter than PIPE_BUF, so it is written whole.
struct Event {
  enum Type : uint8_t { kListening, kEnded, kDone, kBroken, kNotice } type{};
  Role who{};
  int code = 0;    // exit code of a session or process
  int result = 0;  // of kDone: 0 none, 1 right, 2 wrong
  uint64_t serial = 0;
  char text[480] = "";
};

class Pipe {
 public:
  Pipe() { SUF_CHECK(!pipe(fd_)); }
  ~Pipe() {
    close(fd_[0]);
    close(fd_[1]);
  }
  Pipe(const Pipe&) = delete;
  void Say(Event e, const std::string& text) const {
    std::strncpy(e.text, text.c_str(), sizeof e.text - 1);
    (void)!write(fd_[1], &e, sizeof e);
  }
  // Returns the next event, or false if none arrives within `ms`.
  bool Hear(Event& e, int ms) const {
    pollfd p{fd_[0], POLLIN, 0};
    return poll(&p, 1, ms) > 0 && read(fd_[0], &e, sizeof e) == sizeof e;
  }

 private:
  int fd_[2];
};

}  // namespace suf::faults
