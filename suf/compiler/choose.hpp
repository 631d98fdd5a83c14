// What a lowering costs, read from its closed trace, and which one a network is best served by: the schedule's steps
// and frames one after another, and key bytes x (key + disk). Where the parties take turns, that is flights x flight +
// bytes x wire + (AES blocks x block + words x word) / cores. Only the prices come from outside
// (docs/mathematics.md#cost-model). Deterministic: equal costs are settled by the order of the lowerings.
#pragma once
#include <functional>

#include "suf/compiler/lower.hpp"
#include "suf/pfss/backend.hpp"

namespace suf::compiler {

// Seconds for a flight, a byte on the wire, a byte of a key, an AES block, a word that a role computes. The
// dealer's work adds up when keys are dealt now. Key: of the party that has more.
struct Prices {
  double flight = 0, wire = 0, key = 0, block = 0, word = 0;
  bool now = false;       // keys are dealt while the parties wait, and come over the same wire
  bool duplex = false;    // both directions may be used at once; else a frame waits for one that goes the other way
  bool together = false;  // the parties share one machine, whose cores one of them has at a time
  double cores = 1;       // of each role: words and AES blocks are divided by it; one thread at a time takes turns
  double turn = 0;        // seconds of one core that a turn takes whatever it computes
  double disk = 0;        // seconds a byte of a bundle that is read from a disk; 0: from the memory that caches it
  bool whole = false;     // a text runs in one tile: halves of it would take as many kernels each
                          // (docs/design/gpu.md#whole-text)
};
// Prices with a name and where they come from.
struct Profile {
  std::string name;
  Prices prices;
  std::string source;
  bool says_keys = false;  // `keys=` was among the prices
};
const std::vector<Profile>& Profiles();  // cpu, gpu, lan, balanced, wan
// A name, or prices "rtt=20ms,rate=1G,..", each at most once, over those of cpu or of the profile whose
// name comes first. rtt (two flights) and flight, wire, key, word: seconds, by number or with ns, us, ms or s; rate
// (bits a second, one byte is 8 / rate seconds of wire), disk (bytes a second), aes (blocks a second): a number, or
// with k, M or G; duplex: 0 or 1; machines: 1 or 2; cores; keys: ahead or now. Throws Cause::kInput, naming what is
// wrong, the limit and what may be given.
Profile ParseProfile(const std::string& text);
// When keys come, as the flag --keys says ("ahead", "now"; empty: as the profile says). Throws Cause::kInput
// where both say it and differ.
void SetKeys(Profile* profile, const std::string& keys);
// What ParseProfile takes, in a few words.
std::string PricesHelp();

// What a party does at one tick: it waits for the peer's frame of the tick before where one is due, works, and
// sends a frame.
struct Turn {
  int tick = 0, party = 0;
  bool due = false;
  int64_t blocks = 0, words = 0, sent = 0;
};
// What a trace costs. turns: by tick and party; sums of them are by role and party.
struct Bill {
  int flights = 0;
  std::array<int64_t, 2> sent{}, key{};  // bytes, by party
  std::array<int64_t, 2> key_bits{};
  std::array<int64_t, 3> blocks{}, words{};  // by role: P0, P1, dealer
  std::vector<Turn> turns;
};
Bill BillOf(const pfss::Schedule& s);
// From the first turn to the end of the last one. A turn begins when its party's last one is over and the
// frame that is due is there; what waits for no frame is done by one party after the other. A frame leaves when its
// turn is over and its direction is free, takes it for its bytes, and is there a flight later.
double Seconds(const Bill& b, const Prices& p);

// A trace's bill, or why there is no such trace.
struct Priced {
  Bill bill;
  double seconds = 0;
  std::string why_not;
  std::string steering;  // what lets a P0 that alters its messages learn more than its results (pfss::Steering)
};
// A way to make a function, its bill, or why it does not apply.
struct Candidate : Priced {
  Choice choice;
  std::string name;
};
// Of the trace that `emit` makes and closes for a backend of these capabilities. A refusal is why there is
// none: a limit of a part, or what the backend cannot run. Every other error is thrown on.
Priced PriceOf(const Prices& p, const pfss::Capabilities& can, const std::function<void(Trace&)>& emit);
// Candidates for numbers and bits of c, each emitted alone by `emit` into a trace that it closes. In the order
// of the lowerings; those that do not apply come with why.
std::vector<Candidate> Price(const Compiled& c, const Prices& p, const pfss::Capabilities& can,
                             const std::function<void(Trace&, const Choice&)>& emit);
// The cheapest that applies. Throws Cause::kRefused, with why each does not, where none does.
const Candidate& Best(const std::vector<Candidate>& all);

}  // namespace suf::compiler
