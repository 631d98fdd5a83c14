#include "suf/compiler/choose.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "suf/pfss/lint.hpp"

namespace suf::compiler {

namespace {

// Seconds of an AES block, without the words beside it. A walk of a DPF counts 4 words a block, and of a DCF 6.
// With them StepDcf is priced at 0.9 to 1.1 of the time that `suf fn bench --count 1024` measures. The whole rate of a
// walk would count these words twice and give 1.2 to 1.3 of that time. It is 0.96 G blocks of 32 bits a second in
// dpf_bench avx512, and 0.69 G in dcf_bench avx512.
constexpr double kBlock = 1 / 1.45e9;
// Seconds of a byte of key, and of an element of a strip on one core without its PRG words. Both are fitted to plans
// with different keys and words, by texts of 32 tokens on loopback (tools/link.py). Each party had one core. A function
// of 1024 rows alone takes 1.5 times as long for a word (suf fn bench).
constexpr double kKey = 0.8e-9, kWord = 0.2e-9;

Profile Network(const char* name, double rtt, const char* source) {
  return {
      name, {.flight = rtt / 2, .wire = 8 / 1e9, .key = kKey, .block = kBlock, .word = kWord, .duplex = true}, source};
}

enum class Unit { kSeconds, kRate, kNumber };

// The syntax of a price, its limits in the unit of the text, and its effect.
struct Term {
  const char* name;
  Unit unit;
  double least, most;
  const char* what;  // the quantity, for error messages
  void (*set)(Prices& p, double v);
};
constexpr Term kPrices[] = {
    {"rtt", Unit::kSeconds, 0, 10, "seconds of a round trip", [](Prices& p, double v) { p.flight = v / 2; }},
    {"flight", Unit::kSeconds, 0, 5, "seconds of a flight", [](Prices& p, double v) { p.flight = v; }},
    {"rate", Unit::kRate, 1e3, 1e15, "bits a second on the wire", [](Prices& p, double v) { p.wire = 8 / v; }},
    {"wire", Unit::kSeconds, 0, 8e-3, "seconds a byte on the wire", [](Prices& p, double v) { p.wire = v; }},
    {"key", Unit::kSeconds, 0, 1e-3, "seconds a byte of a key", [](Prices& p, double v) { p.key = v; }},
    {"aes", Unit::kRate, 1e3, 1e15, "AES blocks a second", [](Prices& p, double v) { p.block = 1 / v; }},
    {"word", Unit::kSeconds, 0, 1e-3, "seconds a word", [](Prices& p, double v) { p.word = v; }},
    {"duplex", Unit::kNumber, 0, 1, "0 or 1: whether both directions are used at once",
     [](Prices& p, double v) { p.duplex = v != 0; }},
    {"machines", Unit::kNumber, 1, 2, "machines of the parties: 1 where they share its cores",
     [](Prices& p, double v) { p.together = v == 1; }},
    {"cores", Unit::kNumber, 1, 4096, "cores of each role", [](Prices& p, double v) { p.cores = v; }},
    {"thin", Unit::kRate, 1e3, 1e15, "bits a second between dealer and data owner",
     [](Prices& p, double v) { p.thin = 8 / v; }},
    {"disk", Unit::kRate, 1e3, 1e15, "bytes a second of reading bundles", [](Prices& p, double v) { p.disk = 1 / v; }},
};

// Returns the factor of the suffix of a number, or 0 if it is no such unit.
double ScaleOf(Unit unit, std::string_view behind) {
  if (behind.empty()) return 1;
  if (unit == Unit::kSeconds)
    return behind == "s" ? 1 : behind == "ms" ? 1e-3 : behind == "us" ? 1e-6 : behind == "ns" ? 1e-9 : 0;
  if (unit == Unit::kRate) return behind == "k" ? 1e3 : behind == "M" ? 1e6 : behind == "G" ? 1e9 : 0;
  return 0;
}

const char* UnitsOf(Unit unit) {
  switch (unit) {
    case Unit::kSeconds:
      return "a number of seconds, or one with ns, us, ms or s";
    case Unit::kRate:
      return "a number, or one with k, M or G";
    case Unit::kNumber:
      break;
  }
  return "a whole number";
}

// Sets the price of an item NAME=VALUE. Throws Cause::kInput if the value is wrong or outside its limits.
void Set(const Term& price, const std::string& item, Prices* to) {
  const char *const begin = item.data() + item.find('=') + 1, *const last = item.data() + item.size();
  double v = 0;
  const auto [at, code] = std::from_chars(begin, last, v);
  const double scale = code == std::errc{} ? ScaleOf(price.unit, {at, size_t(last - at)}) : 0;
  v *= scale;
  const bool whole = price.unit != Unit::kNumber || v == std::floor(v);
  if (scale == 0 || !std::isfinite(v) || v < price.least || v > price.most || !whole)
    Fail(Cause::kInput, "the price '", item, "' is no number from ", price.least, " to ", price.most, " (", price.what,
         "); give ", UnitsOf(price.unit));
  price.set(*to, v);
}

}  // namespace

const std::vector<Profile>& Profiles() {
  static const std::vector<Profile> all{
      {"cpu",
       {.flight = 36e-6, .wire = 1.2e-9, .key = kKey, .block = kBlock, .word = kWord, .together = true},
       "loopback of one machine, TLS of one stream, one core; aes and word: walks as suf fn bench has them, avx512"},
      {"gpu",
       {.flight = 24e-6, .wire = 0.28e-9, .key = 0.045e-9, .block = 1 / 51e9, .word = 0.01e-9, .whole = true},
       "an H100 for both parties, plain TCP, keys uploaded meanwhile"},
      Network("lan", 1e-3, "1 ms round trip, 1 Gb/s; the machine of cpu"),
      Network("balanced", 20e-3, "20 ms round trip, 1 Gb/s; the machine of cpu"),
      Network("wan", 60e-3, "60 ms round trip, 1 Gb/s; the machine of cpu"),
  };
  return all;
}

std::string PricesHelp() {
  std::string names;
  for (const Profile& p : Profiles()) names += p.name + ", ";
  return names +
         "or prices with commas between. Times: rtt=, flight= (20ms); wire=, key=, word= (seconds). Rates a second: "
         "rate=, thin= (bits: 1G), aes= (blocks), disk= (bytes). Also duplex=, machines=, cores=, keys=ahead|now";
}

Profile ParseProfile(const std::string& text) {
  if (text.empty()) Fail(Cause::kInput, "the profile is empty; give one of ", PricesHelp());
  Profile out = Profiles()[0];
  out.name = text;
  out.source = "given";
  out.prices.together = false;
  std::set<std::string> seen;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin), name = item.substr(0, item.find('='));
    const Profile* named = nullptr;
    for (const Profile& p : Profiles())
      if (begin == 0 && p.name == item) named = &p;
    const Term* price = nullptr;
    for (const Term& p : kPrices)
      if (name == p.name && name != item) price = &p;
    if (named && end == text.size()) return *named;
    if (named)
      out.prices = named->prices;
    else if (item == "keys=ahead" || item == "keys=now") {
      out.prices.now = item == "keys=now";
      out.says_keys = true;
    } else if (price)
      Set(*price, item, &out.prices);
    else
      Fail(Cause::kInput, "'", item, "' is no profile and no price; profiles and prices are ", PricesHelp());
    const std::string sets = name == "rtt" ? "flight" : name == "rate" ? "wire" : name;
    if (!seen.insert(sets).second)
      Fail(Cause::kInput, "the price '", item,
           "' is given twice, rtt is two flights and rate one over wire; leave out one");
    begin = end + 1;
  }
  return out;
}

void SetKeys(Profile* profile, const std::string& keys) {
  if (keys.empty()) return;
  const bool now = keys == "now";
  if (profile->says_keys && profile->prices.now != now)
    Fail(Cause::kInput, "the profile says keys=", profile->prices.now ? "now" : "ahead", " where ", keys,
         " is requested; leave one of both out");
  profile->prices.now = now;
}

pfss::KeysTo KeysToFor(const Prices& p) { return p.thin > 2 * p.wire ? pfss::KeysTo::kP0 : pfss::KeysTo::kBalanced; }

Bill BillOf(const pfss::Schedule& s) {
  const Trace& t = s.trace();
  Bill b;
  b.flights = s.flights();
  auto work = [&](const std::vector<int>& nodes, int64_t* blocks, int64_t* words) {
    for (int i : nodes)
      if (pfss::Info(t.node(i).op).cls != pfss::OpClass::kGiven) {
        *blocks += pfss::AesBlocks(t, i);
        *words += pfss::Words(t, i);
      }
  };
  for (int p : {0, 1}) {
    b.key[size_t(p)] = s.key_bytes(p);
    b.key_bits[size_t(p)] = s.key_bits(p);
    for (const pfss::Step& step : s.steps(p)) {
      TickWork tick{step.tick, p, step.receive >= 0 && s.frames()[size_t(step.receive)].tick >= 0};
      work(step.nodes, &tick.blocks, &tick.words);
      if (step.send >= 0) tick.sent = s.frames()[size_t(step.send)].bytes;
      b.sent[size_t(p)] += tick.sent;
      b.blocks[size_t(p)] += tick.blocks;
      b.words[size_t(p)] += tick.words;
      b.steps.push_back(tick);
    }
  }
  std::sort(b.steps.begin(), b.steps.end(), [](const TickWork& x, const TickWork& y) {
    return std::pair(x.tick, x.party) < std::pair(y.tick, y.party);
  });
  const size_t dealer = size_t(Role::kDealer);
  work(s.live(Role::kDealer), &b.blocks[dealer], &b.words[dealer]);
  return b;
}

namespace {

// The times of both parties while a bill's steps are added up.
class Clock {
 public:
  explicit Clock(const Prices& p) : p_(p) {}

  // Adds the steps of one tick.
  void AddTick(std::span<const TickWork> steps) {
    const std::array<double, 2> arrived = arrives_;
    std::array<double, 2> over = ready_;
    for (const TickWork& t : steps) {
      const size_t p = size_t(t.party);
      const double begin = std::max({ready_[p], t.due ? arrived[p] : front_, p_.together ? cores_ : 0});
      over[p] = ready_[p] =
          begin + (t.due ? p_.step : 0) + (double(t.blocks) * p_.block + double(t.words) * p_.word) / p_.cores;
      cores_ = over[p];
      if (!t.due) front_ = over[p];
      if (t.tick < 0) front_ += double(t.sent) * p_.wire;  // before the inference, without a flight
    }
    // the frame that is ready first takes the wire first
    if (steps.size() == 2 && steps[0].tick >= 0 && over[1] < over[0]) {
      SendFrame(steps[1], over);
      SendFrame(steps[0], over);
    } else {
      for (const TickWork& t : steps) SendFrame(t, over);
    }
  }
  double End() const { return std::max({ready_[0], ready_[1], front_}); }

 private:
  void SendFrame(const TickWork& t, const std::array<double, 2>& over) {
    if (t.sent == 0 || t.tick < 0) return;
    const size_t p = size_t(t.party);
    double& wire = free_[p_.duplex ? p : 0];
    wire = std::max(wire, over[p]) + double(t.sent) * p_.wire;
    arrives_[1 - p] = wire + p_.flight;
  }

  const Prices& p_;
  // By party: the end of the last step and the arrival of the last frame. By direction: the time when it is free.
  std::array<double, 2> ready_{}, arrives_{}, free_{};
  double front_ = 0;  // end of the last step that waited for no frame
  double cores_ = 0;  // end of the last step of either party
};

// Returns the seconds of a role's arithmetic.
double WorkSeconds(const Bill& b, size_t role, const Prices& p) {
  return (double(b.blocks[role]) * p.block + double(b.words[role]) * p.word) / p.cores;
}

// Emits into an empty trace and prices it, without steering.
TraceBill Emitted(const Prices& p, Trace* t, const std::function<void(Trace&)>& emit) {
  try {
    emit(*t);
  } catch (const Error& e) {
    if (e.cause() != Cause::kRefused) throw;
    return {{}, 0, e.what(), {}, 0};
  }
  const Bill bill = BillOf(pfss::Schedule(*t));
  return {bill, Seconds(bill, p), {}, {}, 0};
}

}  // namespace

double Seconds(const Bill& b, const Prices& p) {
  const std::array<double, 2> link{p.wire, p.thin > 0 ? p.thin : p.wire};
  double before = 0;  // until the keys of both parties are there
  for (size_t i : {0, 1}) {
    const double took = double(b.key[i]) * (p.key + (p.now ? link[i] : p.disk));
    before = p.now && p.together ? before + took : std::max(before, took);  // one machine encrypts and decrypts both
  }
  if (p.now) before += WorkSeconds(b, size_t(Role::kDealer), p);
  Clock clock(p);
  for (size_t begin = 0, end = 0; begin < b.steps.size(); begin = end) {
    while (end < b.steps.size() && b.steps[end].tick == b.steps[begin].tick) ++end;
    clock.AddTick(std::span(b.steps).subspan(begin, end - begin));
  }
  return before + clock.End();
}

double DeliverySeconds(const Bill& b, const Prices& p) {
  const double dealt = WorkSeconds(b, size_t(Role::kDealer), p);
  const double p0 = double(b.key[0]) * p.wire, p1 = double(b.key[1]) * (p.thin > 0 ? p.thin : p.wire);
  return dealt + (p.together ? p0 + p1 : std::max(p0, p1));
}

double BusySeconds(const Bill& b, const Prices& p) {
  std::array<double, 2> wire{}, cores{};
  for (size_t i : {0, 1}) {
    wire[i] = double(b.sent[i]) * p.wire;
    cores[i] =
        (double(b.blocks[i]) * p.block + double(b.words[i]) * p.word + double(b.key[i]) * (p.key + p.disk)) / p.cores;
  }
  for (const TickWork& t : b.steps) cores[size_t(t.party)] += t.due ? p.step / p.cores : 0;
  const auto busy = [](const std::array<double, 2>& of, bool shared) {
    return shared ? of[0] + of[1] : std::max(of[0], of[1]);
  };
  return std::max(busy(wire, !p.duplex), busy(cores, p.together));
}

TraceBill CostOf(const Prices& p, const pfss::Capabilities& can, const std::function<void(Trace&)>& emit) {
  Trace t(can);
  return Emitted(p, &t, emit);
}

TraceBill PriceOf(const Prices& p, const pfss::Capabilities& can, const std::function<void(Trace&)>& emit) {
  Trace t(can);
  TraceBill out = Emitted(p, &t, emit);
  if (!out.why_not.empty()) return out;
  const pfss::SteeringReport steering = pfss::ReadSteering(t, 0);
  out.steering = steering.first;
  out.steered = steering.messages;
  return out;
}

std::vector<Candidate> Price(const CompiledFunction& c, const Prices& p, const pfss::Capabilities& can,
                             const std::function<void(Trace&, const Choice&)>& emit) {
  std::vector<Candidate> out;
  std::vector<Lowering> numbers, bits;
  auto sort = [&](const std::vector<Lowering>& all, auto why, bool is_numbers, std::vector<Lowering>* applies) {
    for (const Lowering& l : all) {
      std::string no = why(c, l);
      if (no.empty()) {
        applies->push_back(l);
        continue;
      }
      Candidate not_one;
      (is_numbers ? not_one.choice.numbers : not_one.choice.bits) = l;
      not_one.name = Name(c, l);
      not_one.why_not = no;
      out.push_back(not_one);
    }
  };
  if (c.f.outputs > 0)
    sort(AllForNumbers(), WhyNotNumbers, true, &numbers);
  else
    numbers.push_back({});
  if (!c.f.formulas.empty())
    sort(AllForBits(), WhyNotBits, false, &bits);
  else
    bits.push_back({});
  std::vector<Candidate> found;
  for (const Lowering& n : numbers)
    for (const Lowering& b : bits) {
      const Choice choice{n, b};
      found.push_back({PriceOf(p, can, [&](Trace& t) { emit(t, choice); }), choice, Name(c, choice)});
    }
  found.insert(found.end(), out.begin(), out.end());
  return found;
}

const Candidate& Best(const std::vector<Candidate>& all) {
  const Candidate* best = nullptr;
  for (const Candidate& c : all)
    if (c.why_not.empty() && (!best || c.seconds < best->seconds)) best = &c;
  if (!best) {
    std::set<std::string> reasons;
    std::string why;
    for (const Candidate& c : all)
      if (reasons.insert(c.why_not).second) why += (why.empty() ? "" : "; ") + c.name + ": " + c.why_not;
    Fail(Cause::kRefused, "no lowering makes this function, so give it fewer pieces or a smaller domain (", why, ")");
  }
  return *best;
}

}  // namespace suf::compiler
