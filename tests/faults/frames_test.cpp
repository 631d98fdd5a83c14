// Makes every fault at every frame of an inference of a tiny random model, on all three links. Checks messages, exit
// codes and times of the other roles, the ledgers, and that the next inference works. It runs once with one stage
// everywhere, then the run's own frames by a plan for a far link. Then it runs sessions with receipts, at the frames
// that receipts concern. There no text may be done with a wrong one. The program frames_cuda_test does so on a device.
// There a party dies or stops at each frame if its peer uses the device. Keys and frames to a device are changed.
//
//    frames_test [--backend NAME] [--all] [--table] [--part K/N] [PATTERN]     --all: every bit of each header; --part:
//        part K of N of the sweep, from 1 on (default: SHARD of 8, if tools/shard.sh set it); PATTERN: names of faults
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <regex>
#include <set>

#include "fuzz/fuzz.hpp"
#include "tests/faults/roles.hpp"

namespace suf::faults {

using namespace store;
using namespace proto;
namespace {

constexpr double kLimit = 30, kPatience = 120;  // seconds: for the others to end; if time is not the subject
constexpr int kWorkers = 12;

// The outcome of one case; `problem` is empty if there is none.
struct Outcome {
  bool run = false;
  double seconds = 0;  // from the fault to the end of all others
  int code[kRoles] = {-1, -1, -1}, result = 0;
  char text[kRoles][160] = {}, problem[400] = "";
};

std::string KindName(uint16_t kind) {
  if (kind >= kFirstRun) return "run";
    // Without a default case: a kind without a name here does not compile.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"
  switch (Kind(kind)) {
    case kRefuse:
      return "refuse";
    case kHello:
      return "hello";
    case kJoin:
      return "join";
    case kWelcome:
      return "welcome";
    case kSetupAsk:
      return "setup";
    case kChunk:
      return "chunk";
    case kAnnounce:
      return "announce";
    case kChoice:
      return "choice";
    case kRequest:
      return "request";
    case kGrant:
      return "grant";
    case kHeader:
      return "header";
    case kClaim:
      return "claim";
    case kAck:
      return "ack";
    case kGo:
      return "go";
    case kOfflineEnd:
      return "offline";
    case kOnlineEnd:
      return "online";
    case kBye:
      return "bye";
    case kEnd:
      return "end";
    case kAudit:
      return "audit";
    case kOpened:
      return "opened";
    case kVerdict:
      return "verdict";
    case kWitness:
      return "witness";
    case kProbe:
      return "probe";
    case kLink:
      return "link";
    case kWait:
      return "wait";
    case kStay:
      return "stay";
    case kPull:
      return "pull";
    case kCatalogue:
      return "catalogue";
    case kFile:
      return "file";
    case kSegments:
      return "segments";
    case kFirstRun:
      break;
  }
#pragma GCC diagnostic pop
  throw Bug(Str("a frame of kind ", kind, ", which no session has"));
}

// The exit codes that the fault may lead to; any other one is wrong.
std::set<int> Codes(const Fault& f, uint16_t kind) {
  bool length = f.what == What::kShort || f.what == What::kLong || (f.what == What::kHead && f.bit < 32);
  bool words = f.what == What::kFlip || f.what == What::kReplay;
  // A role that dies, is silent or sends out of turn is a failed peer. So is a frame of another length, if it is fixed.
  bool open = kind == kHello || kind == kChunk || kind == kHeader || kind == kAnnounce;
  if (!words && !(length && open)) return {0, 3};
  if (kind == kAnnounce || kind == kRequest) return {0, 2, 3, 4};  // a number of tokens is an input
  return {0, 3, 4};
}

// A fault that need not be noticed.
bool Harmless(const Fault& f, uint16_t kind) {
  bool mac = kind >= kClaim && kind <= kBye && kind != kEnd;
  if (OfProcess(f.what) || kind == kEnd) return true;
  if (f.what == What::kTwice && kind == kChunk) return true;  // all keys are here, and later frames are not read
  if (f.what == What::kReplay) return !mac && kind < kFirstRun && kind != kHeader;  // the words are the same then
  bool last = kind == kAnnounce && f.index > 2;  // zero tokens: the rest of it is not read
  if (f.what == What::kTwice || f.what == What::kForeign || f.what == What::kLong ||
      (f.what == What::kFlip && f.bit >= 32 && last))
    return last;
  return f.what == What::kFlip && kind == kRequest && f.bit >= 8 * kJobBytes &&
         f.bit < 8 * kJobBytes + 32;  // at most this many bundles
}

// The error in an outcome; empty if there is none.
std::string Judge(const Fault& f, const Sent& frame, const Outcome& o) {
  if (!o.run) return "the case itself died";
  if (o.problem[0]) return o.problem;
  bool noticed = false;
  for (int r = 0; r < kRoles; ++r) {
    if (OfProcess(f.what) && int(f.victim) == r) continue;
    noticed = noticed || o.code[r] > 0;
    if (o.code[r] >= 0 && !Codes(f, frame.kind).count(o.code[r]))
      return Str("exit code ", o.code[r], " of ", Name(Role(r)));
  }
  return noticed || Harmless(f, frame.kind) ? "" : "nobody noticed";
}

class Case {
 public:
  Case(Setting& setting, Board& board, const Fault& fault)
      : fault_(fault), scene_{setting, board, pipe_, folder_.path(), fault} {
    for (auto& d : board.dialled) d = 0;
    board.armed = fault.what != What::kNone;
    board.calm = !board.armed;
    board.fired = 0;
  }
  ~Case() {
    for (Role r : {Role::kData, Role::kModel, Role::kDealer}) End(r);
  }
  Outcome Run() {
    try {
      Broken();
      if (fault_.what != What::kNone) Next();
      for (Role r : {Role::kData, Role::kModel, Role::kDealer}) End(r);
      CheckLedgers();
    } catch (const std::exception& e) {
      std::strncpy(out_.problem, e.what(), sizeof out_.problem - 1);
    }
    out_.run = true;
    return out_;
  }
  const Scene& scene() const { return scene_; }

 private:
  void Need(bool ok, const std::string& what) {
    if (!ok) throw Bug(what);
  }
  bool Victim(Role r) const { return OfProcess(fault_.what) && fault_.victim == r; }
  // Ends the role and takes its last events, which could pass for those of its next process.
  void End(Role r) {
    if (!pid_[int(r)]) return;
    kill(pid_[int(r)], SIGKILL);
    waitpid(std::exchange(pid_[int(r)], 0), nullptr, 0);
    for (Event e; pipe_.Hear(e, 0);) Take(e);
  }
  // Keeps the records of a party's ledger, because its next start forgets finished ones.
  void Keep(Role r) {
    if (r == Role::kDealer) return;
    std::vector<Record>& all = history_[PartyOf(r)];
    uint64_t floor = 0;
    for (const Record& x : ReadLedger(StoreOf(scene_, r))) {
      if (x.kind == uint32_t(RecordKind::kFloor)) floor = x.serial;
      // A start writes an open claim again before it burns it.
      bool again = x.kind == uint32_t(RecordKind::kClaimed) && x.serial <= floor;
      if (x.kind <= uint32_t(RecordKind::kBurnt) && !again) all.push_back(x);
    }
  }
  void Begin(Role r) {
    Keep(r);
    listening_ = false;
    pid_[int(r)] = Start(scene_, r);
    if (r == Role::kData)
      done_ = false;
    else
      Await([&] { return listening_; }, kPatience, Str(Name(r), " does not listen"));
  }
  void Take(const Event& e) {
    int r = int(e.who);
    if (e.type == Event::kBroken) problems_ += Str(Name(e.who), ": ", e.text, "; ");
    if (e.type == Event::kListening) listening_ = true;
    if (e.type == Event::kDone) {
      done_ = true;
      out_.result = e.result;
      serial_ = e.serial;
    }
    if (e.type == Event::kEnded) ++ended_[r];
    if (e.type != Event::kEnded && e.type != Event::kDone) return;
    // Of the dealer's two sessions, the one that failed.
    if (e.code >= out_.code[r]) {
      out_.code[r] = e.code;
      std::snprintf(out_.text[r], sizeof out_.text[r], "%.150s", e.text);
    }
    static const std::regex sentence("(the |frame |bytes |cannot |an? |bundle |nobody )[^\\n]{10,380}");
    if (e.code && !std::regex_match(e.text, sentence)) problems_ += Str("no sentence: ", e.text);
  }
  // Whether the role is finished.
  bool Over(Role r) const { return r == Role::kData ? done_ : ended_[int(r)] >= scene_.board.dialled[int(r)].load(); }
  template <class F>
  void Await(F&& over, double seconds, const std::string& what) {
    for (double end = Now() + seconds; !over();) {
      Need(Now() < end, what + State());
      Event e;
      if (pipe_.Hear(e, 10)) Take(e);
    }
    Need(problems_.empty(), problems_);
  }
  std::string State() const {
    std::string s = ";";
    for (int r = 0; r < kRoles; ++r)
      s += Str(" ", Name(Role(r)), " ", ended_[r], "/", scene_.board.dialled[r].load(), " code ", out_.code[r], " ",
               out_.text[r]);
    return s;
  }

  // Runs the inference with the fault.
  void Broken() {
    Board& b = scene_.board;
    for (Role r : {Role::kDealer, Role::kModel, Role::kData}) Begin(r);
    auto rest = [&] {
      bool over = b.fired.load() > 0 || done_;
      for (int r = 0; r < kRoles; ++r) over = over && (Victim(Role(r)) || Over(Role(r)));
      return over;
    };
    // Waits until the fault happens, and then for the end in time.
    Await([&] { return b.fired.load() > 0 || rest(); }, kPatience, "the fault did not happen");
    if (fault_.what == What::kNone) return Await(rest, kPatience, "no end");
    Need(b.fired.load() > 0, "the fault did not happen" + State());
    Await(rest, kLimit - (Now() - b.fired.load()), "the others did not end in time");
    out_.seconds = Now() - b.fired.load();
    if (!OfProcess(fault_.what)) return;
    Role v = fault_.victim;
    if (fault_.what == What::kStops) {
      kill(pid_[int(v)], SIGCONT);
      Await([&] { return Over(v); }, kPatience, "the one that was stopped did not end");
    } else {
      End(v);
      ended_[int(v)] = 0;
      b.dialled[int(v)] = 0;
      if (v != Role::kData) Begin(v);
    }
  }

  // Runs the next inference, on the same stores.
  void Next() {
    End(Role::kData);
    Outcome before = out_;
    Need(before.result != 2, "a wrong result");
    Need(before.result != 3, "a wrong receipt, or none");
    scene_.board.calm = true;
    serial_ = 0;
    out_.code[int(Role::kData)] = -1;
    out_.result = 0;
    Begin(Role::kData);
    Await([&] { return Over(Role::kData) && Over(Role::kModel) && Over(Role::kDealer); }, kPatience,
          "the next one hangs");
    Need(out_.code[int(Role::kData)] == 0 && out_.result == 1, "the next one fails" + State());
    next_ = serial_;
    out_ = before;
  }

  static std::string Records(const std::vector<Record>& all) {
    std::string out;
    for (const Record& x : all) out += Str(out.empty() ? "" : ", ", "serial ", x.serial, " kind ", x.kind);
    return out;
  }
  // Checks that no serial is left open, every claim is burnt or done, and no frame has two claims.
  void CheckLedgers() {
    std::map<uint64_t, uint32_t> last[2];
    std::set<uint64_t> claimed[2], sent[2];
    std::set<std::pair<uint64_t, uint16_t>> frames[2];
    std::set<Hash> seen;
    for (Role r : {Role::kModel, Role::kData}) {
      int p = PartyOf(r);
      Keep(r);
      for (const Record& x : history_[p]) {
        last[p][x.serial] = x.kind;
        if (x.kind == uint32_t(RecordKind::kClaimed))
          Need(claimed[p].insert(x.serial).second, Str(Name(r), " claimed a serial twice: ", Records(history_[p])));
      }
      std::ifstream in(SentFile(scene_, r), std::ios::binary);
      for (Entry e; in.read(reinterpret_cast<char*>(&e), sizeof e);) {
        sent[p].insert(e.serial);
        Need(frames[p].emplace(e.serial, e.kind).second, Str("frame ", e.kind, " of serial ", e.serial, " left twice"));
        Need(!e.counts || seen.insert(e.hash).second, Str("frame ", e.kind, " left in two runs"));
      }
      for (auto [serial, fate] : last[p])
        Need(fate == uint32_t(RecordKind::kBurnt) || fate == uint32_t(RecordKind::kDone),
             Str("serial ", serial, " is left open"));
      if (next_)
        Need(last[p][next_] == uint32_t(RecordKind::kDone) && last[p].rbegin()->first == next_,
             "the next serial is not done");
    }
    // A party may have claimed and sent nothing yet. This happens if another process kills it, or its thread that takes
    // keys from the dealer.
    bool dealers_link = fault_.from == Role::kDealer || fault_.to == Role::kDealer;
    bool killed_apart = OfProcess(fault_.what) && fault_.what != What::kStops && fault_.victim != Role::kDealer &&
                        (dealers_link || (fault_.what == What::kDies && fault_.victim != fault_.from));
    // The model owner is done when the goodbye arrives, not before.
    bool no_bye = fault_.kind == kBye && (fault_.what == What::kLost || fault_.what == What::kDiesHalfway ||
                                          (fault_.what == What::kDies && fault_.victim == Role::kData));
    for (auto [serial, fate] : last[0])
      Need(!no_bye || serial == next_ || fate == uint32_t(RecordKind::kBurnt), "done without a goodbye");
    for (uint64_t s : claimed[0]) Need(claimed[1].count(s), "the model owner claimed first");
    for (int p : {0, 1}) {
      Need(std::ranges::includes(claimed[p], sent[p]), "a serial was used that was never claimed");
      Need((killed_apart && p == PartyOf(fault_.victim)) || claimed[p] == sent[p],
           "a serial was claimed and nothing was sent under it");
      // Burnt iff claimed, and done only if the session reached its goodbye.
      for (auto [serial, fate] : last[p]) {
        Need(claimed[p].count(serial), "a serial was burnt that was never claimed");
        if (fate == uint32_t(RecordKind::kDone)) Need(frames[1].count({serial, kBye}), "done without a goodbye");
      }
    }
  }

  Fault fault_;
  fuzz::Folder folder_;
  Pipe pipe_;
  Scene scene_;
  Outcome out_;
  int pid_[kRoles] = {}, ended_[kRoles] = {};
  bool listening_ = false, done_ = false;
  uint64_t serial_ = 0, next_ = 0;
  std::string problems_;
  std::vector<Record> history_[2];
};

// A frame of the reference run, by its number among those of its sender on its link.
struct Place {
  const Sent* frame;
  int index;
};
std::vector<Place> Places(const std::vector<Sent>& frames) {
  std::map<std::pair<Role, Role>, int> count;
  std::vector<Place> all;
  for (const Sent& f : frames) all.push_back({&f, count[{f.from, f.to}]++});
  return all;
}

std::vector<Fault> Sweep(const std::vector<Sent>& reference, bool all) {
  std::vector<Fault> faults;
  size_t turn = 0;
  for (auto [f, index] : Places(reference)) {
    auto add = [&, f = f, index = index](What w, Role victim = {}, size_t bit = 0) {
      bool silent = f->kind < kClaim;  // until the bundle is here, a role may wait for the other one
      faults.push_back({w, f->from, f->to, index, victim, bit, f->kind, silent});
    };
    for (What w : {What::kDies, What::kStops})
      for (int r = 0; r < kRoles; ++r) add(w, Role(r));
    for (What w : {What::kDiesAfter, What::kDiesHalfway}) add(w, f->from);
    add(What::kReceiverDies, f->to);
    for (What w : {What::kLost, What::kSwapped, What::kTwice, What::kLong, What::kReplay, What::kForeign}) add(w);
    size_t bits = 8 * f->payload.size();
    if (bits) {
      add(What::kShort);
      for (size_t bit : {size_t{0}, (turn * 4099) % bits, bits - 1}) add(What::kFlip, {}, bit);
    }
    for (size_t bit = 0; bit < 64; ++bit)
      if (all || bit % 8 == turn % 8) add(What::kHead, {}, bit);
    ++turn;
  }
  return faults;
}

const Sent& FrameOf(const std::vector<Sent>& reference, const Fault& fault) {
  for (auto [f, index] : Places(reference))
    if (f->from == fault.from && f->to == fault.to && index == fault.index) return *f;
  throw Bug("no such frame");
}

std::string NameOf(const std::vector<Sent>& reference, const Fault& f) {
  std::string who = OfProcess(f.what) ? Str(Name(f.victim), " ") : "";
  return Str(who, kWhat[int(f.what)], " at ", Name(f.from), " to ", Name(f.to), " ", f.index, " ",
             KindName(FrameOf(reference, f).kind));
}

template <class T>
T* Shared(size_t n) {
  void* p =
      mmap(nullptr, std::max<size_t>(n, 1) * sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  SUF_CHECK(p != MAP_FAILED);
  return static_cast<T*>(p);
}

// Runs all cases in kWorkers processes, because a case forks and so must have no threads. `ended` is called in a worker
// after each case.
void RunAll(Setting& setting, const std::vector<Fault>& faults, Outcome* outcomes,
            const std::function<void(size_t)>& ended) {
  auto* next = Shared<std::atomic<size_t>>(1);
  std::vector<pid_t> workers;
  for (int i = 0; i < kWorkers; ++i) {
    pid_t child = fork();
    SUF_CHECK(child >= 0);
    if (child) {
      workers.push_back(child);
      continue;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    auto* board = Shared<Board>(1);
    for (size_t k; (k = next->fetch_add(1)) < faults.size();) {
      outcomes[k] = Case(setting, *board, faults[k]).Run();
      ended(k);
    }
    _exit(0);
  }
  constexpr double kTold = 20;  // seconds
  for (double told = Now(); !workers.empty(); usleep(50'000)) {
    std::erase_if(workers, [](pid_t w) { return waitpid(w, nullptr, WNOHANG) == w; });
    if (Now() - told < kTold) continue;
    std::fprintf(stderr, "%zu of %zu faults begun\n", std::min(next->load(), faults.size()), faults.size());
    told = Now();
  }
}

std::vector<Sent> Reference(Setting& setting) {
  auto* board = Shared<Board>(1);
  Case clean(setting, *board, {});
  Outcome o = clean.Run();
  if (o.problem[0] || o.result != 1) throw Bug(Str("the run without a fault fails: ", o.problem));
  std::vector<Sent> all;
  for (int r = 0; r < kRoles; ++r)
    for (Sent& f : ReadFrames(FramesFile(clean.scene(), Role(r)))) all.push_back(std::move(f));
  return all;
}

// Whether a fault concerns a device: P0 or P1 dies, or a frame of keys or of a run changes.
bool OfDevice(const Fault& f) {
  if (f.what == What::kDies || f.what == What::kStops) return f.victim != Role::kDealer;
  const bool bytes = f.kind == kChunk || f.kind >= kFirstRun;
  return bytes && (f.what == What::kLost || (f.what == What::kFlip && f.bit == 0));
}

// The options of the command line; `part` counts from 0.
struct Asked {
  std::string backend = SUF_BACKEND, pattern;
  bool all = false, table = false;
  size_t part = 0, parts = 1;
};

// The sessions of a sweep.
enum class Sessions { kPlain, kFar, kReceipts };
constexpr const char* kSessionNames[] = {"plain plan", "far plan", "receipts"};

// Whether a sweep leaves out a fault that another one has. Receipts concern the greeting, which requests them, and the
// parties' own frames from the claim to the goodbye.
bool Repeated(Sessions sessions, const Fault& f) {
  if (sessions == Sessions::kFar) return f.kind < kFirstRun;
  if (sessions != Sessions::kReceipts) return false;
  const bool dealers = f.from == Role::kDealer || f.to == Role::kDealer;
  return dealers || !(f.kind == kHello || f.kind == kWelcome || (f.kind >= kClaim && f.kind <= kBye));
}

// The number of failures of one sweep.
size_t Failures(const Asked& a, Sessions sessions) {
  fuzz::Folder folder;
  Setting setting(folder.path(), sessions == Sessions::kFar, sessions == Sessions::kReceipts, a.backend);
  setting.reference = Reference(setting);
  std::vector<Fault> faults = Sweep(setting.reference, a.all);
  size_t number = 0;
  std::erase_if(faults, [&](const Fault& f) {
    const bool other = Repeated(sessions, f) || (a.backend == "cuda" && !OfDevice(f));
    return other || !std::regex_search(NameOf(setting.reference, f), std::regex(a.pattern)) ||
           number++ % a.parts != a.part;
  });
  auto* outcomes = Shared<Outcome>(faults.size());
  double begun = Now(), slowest = 0;
  const auto problem = [&](size_t i) { return Judge(faults[i], FrameOf(setting.reference, faults[i]), outcomes[i]); };
  const auto say = [&](size_t i) {
    const std::string what = problem(i);
    if (what.empty()) return;
    const Outcome& o = outcomes[i];
    std::fprintf(stderr, "FAIL %s bit %zu: %s\n  %s | %s | %s\n", NameOf(setting.reference, faults[i]).c_str(),
                 faults[i].bit, what.c_str(), o.text[0], o.text[1], o.text[2]);
  };
  RunAll(setting, faults, outcomes, say);
  size_t bad = 0;
  for (size_t i = 0; i < faults.size(); ++i) {
    const Outcome& o = outcomes[i];
    slowest = std::max(slowest, o.seconds);
    bad += !problem(i).empty();
    if (!o.run) say(i);  // its process died before it could report
    if (a.table)
      std::printf("%-50s bit %4zu  %d %d %d result %d %.2f s\n", NameOf(setting.reference, faults[i]).c_str(),
                  faults[i].bit, o.code[0], o.code[1], o.code[2], o.result, o.seconds);
  }
  std::printf("%s: %zu frames, %zu faults, %zu fail; the others ended after %.2f s at most; %.0f s in all\n",
              kSessionNames[int(sessions)], setting.reference.size(), faults.size(), bad, slowest, Now() - begun);
  return faults.empty() ? 1 : bad;
}

}  // namespace
}  // namespace suf::faults

int main(int argc, char** argv) {
  suf::faults::Asked asked;
  if (const char* shard = std::getenv("SHARD")) {
    asked.part = std::strtoul(shard, nullptr, 10) - 1;
    asked.parts = 8;
  }
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    if (a == "--all") {
      asked.all = true;
    } else if (a == "--table") {
      asked.table = true;
    } else if (a == "--backend" && i + 1 < argc) {
      asked.backend = argv[++i];
    } else if (a == "--part" && i + 1 < argc) {
      if (std::sscanf(argv[++i], "%zu/%zu", &asked.part, &asked.parts) != 2 || !asked.part ||
          asked.part > asked.parts) {
        std::fprintf(stderr, "--part %s: give it as K/N, K from 1 to N\n", argv[i]);
        return 2;
      }
      --asked.part;
    } else {
      asked.pattern = a;
    }
  }
  signal(SIGPIPE, SIG_IGN);
  size_t failures = 0;
  for (const auto s : {suf::faults::Sessions::kPlain, suf::faults::Sessions::kFar, suf::faults::Sessions::kReceipts})
    failures += suf::faults::Failures(asked, s);
  return failures > 0;
}
