#include "suf/compiler/choose.hpp"

#include <charconv>
#include <cmath>
#include <set>

namespace suf::compiler {

const std::vector<Profile>& Profiles() {
  // a word: what an element of a strip takes on one core, its share of the PRG left out; suf fn bench finds 0.3 ns
  static const std::vector<Profile> all{
      {"cpu", {36e-6, 1.2e-9, 1.1e-9, 1 / 3.0e9, 0.3e-9}, "loopback of one machine, TLS of one stream, VAES, one core"},
      {"gpu", {10.7e-6, 0.115e-9, 0.012e-9, 1 / 51e9, 0.01e-9}, "two GPUs of one host, pinned flags and three sockets"},
      {"lan", {0.5e-3, 8e-9, 1.1e-9, 1 / 3.0e9, 0.3e-9}, "0.5 ms one way, 1 Gb/s"},
      {"wan", {30e-3, 8e-9, 1.1e-9, 1 / 3.0e9, 0.3e-9}, "30 ms one way, 1 Gb/s"},
  };
  return all;
}

Profile ParseProfile(const std::string& text) {
  std::string names;
  for (const Profile& p : Profiles()) {
    if (p.name == text) return p;
    names += p.name + ", ";
  }
  Profile out = Profiles()[0];
  out.name = text, out.source = "given";
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    const size_t sign = item.find('=');
    const std::string name = item.substr(0, sign);
    double* const to = name == "flight" ? &out.prices.flight
                       : name == "wire" ? &out.prices.wire
                       : name == "key"  ? &out.prices.key
                       : name == "aes"  ? &out.prices.block
                       : name == "word" ? &out.prices.word
                                        : nullptr;
    if (sign == std::string::npos || !to)
      Fail(Cause::kInput, "'", item, "' is no profile and no price; profiles are ", names,
           "prices are flight=, wire=, key=, word= (seconds) and aes= (blocks a second)");
    double v = 0;
    const char* const last = item.data() + item.size();
    auto [at, code] = std::from_chars(item.data() + sign + 1, last, v);
    if (code != std::errc{} || at != last || !std::isfinite(v) || v < 0 || (name == "aes" && v == 0))
      Fail(Cause::kInput, "the price '", item, "' is no number of at least 0", name == "aes" ? " and not 0" : "",
           "; give seconds, or blocks a second for aes");
    *to = name == "aes" ? 1 / v : v;
    begin = end + 1;
  }
  return out;
}

Bill BillOf(const pfss::Schedule& s) {
  const pfss::Cost cost = pfss::CostOf(s);
  Bill b;
  b.flights = s.flights();
  for (int p : {0, 1}) {
    b.sent[size_t(p)] = s.sent(p, true) + s.sent(p, false);
    b.key[size_t(p)] = s.key_bytes(p), b.key_bits[size_t(p)] = s.key_bits(p);
  }
  b.blocks = cost.total.aes, b.words = cost.total.words;
  return b;
}

double Seconds(const Bill& b, const Prices& p) {
  const size_t dealer = size_t(Role::kDealer);
  double blocks = double(b.blocks[0] + b.blocks[1]), words = double(b.words[0] + b.words[1]);
  if (p.now) blocks += double(b.blocks[dealer]), words += double(b.words[dealer]);
  return b.flights * p.flight + double(b.sent[0] + b.sent[1]) * p.wire +
         double(std::max(b.key[0], b.key[1])) * (p.now ? p.key + p.wire : p.key) + blocks * p.block + words * p.word;
}

Priced PriceOf(const Prices& p, const pfss::Capabilities& can, const std::function<void(Trace&)>& emit) {
  Trace t(can);
  try {
    emit(t);
  } catch (const Error& e) {
    if (e.cause() != Cause::kRefused) throw;
    return {{}, 0, e.what()};
  }
  const Bill bill = BillOf(pfss::Schedule(t));
  return {bill, Seconds(bill, p), {}};
}

std::vector<Candidate> Price(const Compiled& c, const Prices& p, const pfss::Capabilities& can,
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
      not_one.name = Name(c, l), not_one.why_not = no;
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
