// Prices the closed traces of lowerings and chooses the cheapest for a network (docs/mathematics.md#cost-model). The
// time is that of the schedule's steps and frames, one after another, plus key bytes x (key + disk). If the parties
// alternate, steps and frames take `flights x flight + bytes x wire + (AES blocks x block + words x word) / cores`.
// Only the prices come from outside. Among equal costs the first lowering wins.
#pragma once
#include <functional>

#include "suf/compiler/lower.hpp"
#include "suf/pfss/backend.hpp"

namespace suf::compiler {

// Prices of a network and its machines.
struct Prices {
  // Seconds of a flight, a byte on the wire, a byte of key, an AES block, and a computed word. Key bytes are those of
  // the party that has more, or of both if one machine also receives them now.
  double flight = 0, wire = 0, key = 0, block = 0, word = 0;
  bool now = false;       // the parties wait for keys, which are dealt during the run and use the same wire
  bool duplex = false;    // both directions work at once; otherwise a frame waits for one in the other direction
  bool together = false;  // both parties are on one machine and use its cores alternately
  double cores = 1;       // cores of each role, which divide the time of words and AES blocks
  double step = 0;        // seconds of one core for each step, whatever it computes
  double thin = 0;        // seconds of a byte between dealer and data owner; 0: as `wire`
  double disk = 0;        // seconds to read a byte of a bundle from a disk; 0: the bundle is cached in memory
  bool whole = false;     // a text runs in one tile, because each half would take as many kernels
                          // (docs/design/gpu.md#whole-text)
};
// Prices with a name and a source.
struct Profile {
  std::string name;
  Prices prices;
  std::string source;
  bool says_keys = false;  // the text had `keys=`
};
// Returns the built-in profiles: cpu, gpu, lan, balanced, wan.
const std::vector<Profile>& Profiles();
// Parses the name of a profile, or prices "rtt=20ms,rate=1G,..". Prices override those of cpu, or of a profile whose
// name comes first. Each may be given once. Throws Cause::kInput, with the fault, the limit and the choices.
// * rtt (two flights), flight, wire, key, word: seconds, as a number or with ns, us, ms or s
// * rate: bits a second, so a byte takes 8 / rate seconds of wire; a number, or with k, M or G
// * thin: bits a second between dealer and data owner; likewise
// * disk (bytes a second) and aes (blocks a second): likewise
// * duplex: 0 or 1; machines: 1 or 2; cores: a number; keys: ahead or now
Profile ParseProfile(const std::string& text);
// Sets when keys are dealt: "ahead" or "now"; empty: as the profile says. Throws Cause::kInput if the profile says
// otherwise.
void SetKeys(Profile* profile, const std::string& keys);
// Returns the bundle that should receive corrections: that of P0 if each byte takes P1 twice as long to download.
// P1's bundle is then a fifth, and P0's less than twice as long.
pfss::KeysTo KeysToFor(const Prices& p);
// Returns the syntax of ParseProfile in a few words.
std::string PricesHelp();

// The work of a party at one tick. If `due`, it first waits for the frame that its peer sent at the tick before. At the
// end it sends a frame of `sent` bytes.
struct TickWork {
  int tick = 0, party = 0;
  bool due = false;
  int64_t blocks = 0, words = 0, sent = 0;
};
// The cost of a trace before prices.
struct Bill {
  int flights = 0;
  std::array<int64_t, 2> sent{}, key{};  // bytes, by party
  std::array<int64_t, 2> key_bits{};
  std::array<int64_t, 3> blocks{}, words{};  // by role: P0, P1, dealer
  std::vector<TickWork> steps;               // by tick and party
};
Bill BillOf(const pfss::Schedule& s);
// Returns the seconds from the first step to the end of the last one. A step begins after the party's previous step and
// after the frame that is due. Steps that wait for no frame run one after another. A frame occupies its direction after
// its step, as soon as the direction is free, and arrives a flight later.
double Seconds(const Bill& b, const Prices& p);
// Returns the seconds until both bundles are dealt and each party has received its own, over its own link. On one
// machine the bytes of both count, because they share its cores.
double DeliverySeconds(const Bill& b, const Prices& p);
// Returns the seconds of work of the busiest wire or the busiest party's cores. Runs side by side do not shorten it.
double BusySeconds(const Bill& b, const Prices& p);

// The bill of a trace, or the reason why there is no such trace.
struct TraceBill {
  Bill bill;
  double seconds = 0;
  std::string why_not;
  std::string steering;  // how P0 can learn more than its results by altering messages (pfss::Steering)
  int steered = 0;       // the messages by which it can (pfss::SteeringReport)
};
// A way to lower a function, with its bill or the reason why it does not apply.
struct Candidate : TraceBill {
  Choice choice;
  std::string name;
};
// Prices the trace that `emit` writes and closes for a backend with these capabilities. Leaves out what P0 can steer.
// If `emit` throws Cause::kRefused, its message is the reason why there is no trace. Other errors propagate.
TraceBill CostOf(const Prices& p, const pfss::Capabilities& can, const std::function<void(Trace&)>& emit);
// Prices a trace in the same way, and reads what P0 can steer.
TraceBill PriceOf(const Prices& p, const pfss::Capabilities& can, const std::function<void(Trace&)>& emit);
// Returns all candidates for numbers and bits of c, in the order of the lowerings. For each one `emit` writes and
// closes a trace of its own. Candidates that do not apply have a reason.
std::vector<Candidate> Price(const CompiledFunction& c, const Prices& p, const pfss::Capabilities& can,
                             const std::function<void(Trace&, const Choice&)>& emit);
// Returns the cheapest candidate that applies. Throws Cause::kRefused, with all reasons, if none does.
const Candidate& Best(const std::vector<Candidate>& all);

}  // namespace suf::compiler
