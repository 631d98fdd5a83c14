// The commands `suf fn list`, `show` and `fit`.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <utility>

#include "apps/exit.hpp"
#include "apps/fn/curve.hpp"
#include "apps/fn/fn_source.hpp"
#include "apps/log.hpp"
#include "apps/show.hpp"
#include "suf/base/file.hpp"
#include "suf/base/plural.hpp"
#include "suf/compiler/dump.hpp"
#include "suf/compiler/limits.hpp"
#include "suf/func/text.hpp"
#include "suf/ring/modular.hpp"

namespace suf::apps {

namespace {

constexpr size_t kShownPieces = 12, kShownLine = 116, kShownLines = 24;

// The drawn range of words, as numbers.
struct DrawnRange {
  int64_t low = 0;
  uint64_t size = 0;     // words, less one
  bool octaves = false;  // equal steps of log x, for cuts from small to large
};
// Returns the range from the first cut to the last, and a quarter more on both sides. Returns all if there is one cut
// at most, or if the domain is small.
DrawnRange DrawnRangeOf(const func::Function& f, const Numeric& numeric) {
  const int n = func::DomainBits(f);
  const DrawnRange all{numeric.is_signed ? -int64_t(uint64_t{1} << (n - 1)) : 0, ring::Mask(n)};
  const func::Suf* s = std::get_if<func::Suf>(&f);
  if (!s || n <= 8 || n > 62) return all;
  std::vector<int64_t> cuts;
  auto add = [&](func::U128 at) {
    if (at == 0 ? !numeric.is_signed : at >= func::U128{1} << n) return;
    const int64_t v = numeric.is_signed ? ring::Signed(uint64_t(at), n) : int64_t(at);
    if (v != all.low) cuts.push_back(v);
  };
  for (const func::Piece& p : s->pieces)
    if (!(p.begin == 0 && numeric.is_signed)) add(p.begin);
  for (const func::Formula& g : s->formulas)
    for (const func::Term& t : g) {
      if (t.kind == func::Term::kLt || t.kind == func::Term::kIn) add(t.value);
      if (t.kind == func::Term::kIn) add(t.upper);
    }
  if (cuts.empty()) return all;
  auto [low, high] = std::minmax_element(cuts.begin(), cuts.end());
  if (*low == *high) return all;
  if (!numeric.is_signed && *low > 0 && *high >> 10 > *low) return {1, all.size - 1, true};
  const int64_t margin = std::max<int64_t>(1, (*high - *low) / 4), end = all.low + int64_t(all.size);
  const int64_t from = std::max(all.low, *low - margin), to = std::min(end, *high + margin);
  return {from, uint64_t(to - from), false};
}

Plot PlotOf(const NamedFunction& g, int samples) {
  const Numeric numeric = NumericOf(g);
  const int n = func::DomainBits(g.f);
  const DrawnRange range = DrawnRangeOf(g.f, numeric);
  const double one = std::ldexp(1, numeric.scale), result = std::ldexp(1, numeric.result_scale);
  Plot p{double(range.low) / one, (double(range.low) + double(range.size) + 1) / one, range.octaves, {}, {}};
  const std::vector<func::OutputChannel> channels = func::ChannelsOf(g.f);
  for (const func::OutputChannel& c : channels)
    (c.kind == func::OutputChannel::kBit ? p.strips : p.lines)
        .push_back({c.name, std::vector<double>(size_t(samples))});
  std::optional<func::Evaluator> fast;
  if (auto* s = std::get_if<func::Suf>(&g.f)) fast.emplace(*s);
  for (int i = 0; i < samples; ++i) {
    const double part = double(i) / (samples - 1);
    const auto step = range.octaves
                          ? uint64_t(std::exp2(part * std::log2(double(range.size)))) - 1
                          : uint64_t(static_cast<func::U128>(range.size) * unsigned(i) / unsigned(samples - 1));
    const uint64_t x = (uint64_t(range.low) + step) & ring::Mask(n);
    const std::vector<int64_t> y = fast ? fast->Channels(x) : func::Channels(g.f, x);
    size_t line = 0, strip = 0;
    for (size_t c = 0; c < channels.size(); ++c) {
      const double v = channels[c].kind == func::OutputChannel::kUnsigned ? double(uint64_t(y[c])) : double(y[c]);
      if (channels[c].kind == func::OutputChannel::kBit)
        p.strips[strip++].y[size_t(i)] = v;
      else
        p.lines[line++].y[size_t(i)] = v / result;
    }
  }
  return p;
}

std::string Decimal(func::U128 v) {
  if (v >> 64) return "2^64";
  return std::to_string(uint64_t(v));
}

// Returns a table of the first pieces, with places as words and local coordinates t = x - begin.
std::string PiecesOf(const func::Suf& f) {
  std::vector<std::vector<std::string>> rows{{"piece", "from", "before"}};
  for (int o = 0; o < f.outputs; ++o) rows[0].push_back(Str("polynomial ", o, " in t = x - from"));
  for (size_t i = 0; i < std::min(kShownPieces, f.pieces.size()); ++i) {
    const func::Piece& p = f.pieces[i];
    rows.push_back({Str(i), Decimal(p.begin), Decimal(i + 1 < f.pieces.size() ? f.pieces[i + 1].begin : f.end)});
    for (auto& poly : p.poly) {
      std::string s;
      for (size_t k = 0; k < poly.size(); ++k) {
        const int64_t c = ring::Signed(poly[k], f.ring);
        if (c == 0 && poly.size() > 1) continue;
        s += (s.empty() ? (c < 0 ? "-" : "")
              : c < 0   ? " - "
                        : " + ") +
             std::to_string(c < 0 ? 0 - uint64_t(c) : uint64_t(c));
        s += k == 0 ? "" : k == 1 ? " t" : Str(" t^", k);
      }
      rows.back().push_back(s.empty() ? "0" : s);
    }
  }
  std::string out = Table(rows, {"before"});
  if (f.pieces.size() > kShownPieces) out += Str("and ", Plural(f.pieces.size() - kShownPieces, "piece"), " more\n");
  return out;
}

std::string ChannelsText(const func::Function& f) {
  std::string out;
  for (const func::OutputChannel& c : func::ChannelsOf(f))
    out += Str(out.empty() ? "" : ", ", c.name, c.kind == func::OutputChannel::kBit ? " (bit)" : "",
               c.kind == func::OutputChannel::kBit
                   ? ""
                   : Str(c.kind == func::OutputChannel::kSigned ? " (signed, " : " (unsigned, ", c.bits, " bits)"));
  return out.empty() ? "none" : out;
}

// Returns the first lines of a text; long ones are cut.
std::string Cut(const std::string& text) {
  std::string out;
  size_t begin = 0, lines = 0;
  bool whole = true;
  while (begin < text.size() && lines++ < kShownLines) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    if (line.size() > kShownLine) {
      line = line.substr(0, kShownLine) + " ..";
      whole = false;
    }
    out += line + "\n";
    begin = end + 1;
  }
  if (begin < text.size()) {
    out += "..\n";
    whole = false;
  }
  if (!whole) out += "(--pass text prints the whole text)\n";
  return out;
}

// Prints one form of the function, whole.
void PrintPass(const NamedFunction& g, const std::string& pass) {
  const func::Suf* s = std::get_if<func::Suf>(&g.f);
  if (pass == "text") {
    std::cout << func::Print(g.f);
    return;
  }
  for (const char* name : compiler::kPasses)
    if (pass == name) {
      if (!s)
        Fail(Cause::kInput, func::Name(g.f), " is a split and has no pass ", pass,
             "; use text, candidates, choice, emit or trace");
      std::cout << compiler::PassText(compiler::Compile(*s), pass);
      return;
    }
  gates::FunctionPlan plan{g.f, {}, gates::Origin::kP1, gates::To::kP1};
  const std::vector<compiler::Candidate> all = gates::Price(plan, compiler::Profiles()[0].prices, 1024);
  plan.choice = compiler::Best(all).choice;
  pfss::Trace t;
  gates::Emit(t, plan, 1024);
  const bool emit = pass == "emit" || pass == "trace";
  std::cout << "# " << (emit ? gates::Name(plan) + ", " : "") << "1024 values from P1 to P1\n";
  if (pass == "candidates") std::cout << compiler::CandidatesText(all);
  if (pass == "choice") std::cout << compiler::ChoiceText(all);
  if (pass == "emit") std::cout << compiler::EmitText(pfss::Schedule(t));
  if (pass == "trace") std::cout << pfss::Print(t) << "\n" << pfss::Print(pfss::Schedule(t));
}

// Parses bits:scale or bits:scale:u.
func::FixedPoint NumbersOf(const std::string& text, const char* option) {
  func::FixedPoint out;
  const char *at = text.data(), *end = at + text.size();
  auto [colon, code] = std::from_chars(at, end, out.bits);
  bool good = code == std::errc{} && colon != end && *colon == ':';
  if (good) {
    auto [rest, second] = std::from_chars(colon + 1, end, out.scale);
    good = second == std::errc{} && (rest == end || std::string(rest, end) == ":u");
    out.is_signed = rest == end;
  }
  if (!good)
    Fail(Cause::kInput, option, " takes bits:scale, as in 16:9, or bits:scale:u for unsigned numbers; got ", text);
  return out;
}

// Parses a number above 0, also as 2^-11.
double BoundOf(const std::string& text) {
  const bool power = text.starts_with("2^");
  double v = 0;
  const char *at = text.data() + (power ? 2 : 0), *end = text.data() + text.size();
  auto [rest, code] = std::from_chars(at, end, v);
  if (power) v = std::exp2(v);
  if (code != std::errc{} || rest != end || !std::isfinite(v) || v <= 0)
    Fail(Cause::kInput, "--error takes a number above 0 such as 0.0005 or 2^-11; got ", text);
  return v;
}

// Parses numbers with commas between.
std::vector<double> Reals(const std::string& text, const char* option) {
  std::vector<double> out;
  for (const std::string& part : AtCommas(text)) {
    double v = 0;
    const char *at = part.data(), *end = at + part.size();
    auto [rest, code] = std::from_chars(at, end, v);
    if (code != std::errc{} || rest != end || !std::isfinite(v))
      Fail(Cause::kInput, option, " has '", part, "' where a number belongs; write it as in -2.5");
    out.push_back(v);
  }
  return out;
}

// Parses C:V, C:x or C:V,S.
std::optional<func::Tail> TailOf(const std::string& text, const char* option) {
  if (text.empty()) return std::nullopt;
  const size_t colon = text.find(':');
  if (colon == std::string::npos)
    Fail(Cause::kInput, option, " takes C:V, C:x or C:V,S, as in 4:1 or -4:0,0.5; got ", text);
  func::Tail out;
  const std::vector<double> from = Reals(text.substr(0, colon), option);
  const std::string what = text.substr(colon + 1);
  const std::vector<double> v = what == "x" ? std::vector<double>{} : Reals(what, option);
  if (from.size() != 1 || v.size() > 2)
    Fail(Cause::kInput, option, " has ", Plural(from.size(), "number"), " before the colon and ", v.size(),
         " after it; write C:V, C:x or C:V,S");
  out.from = from[0];
  out.kind = v.empty() ? func::Tail::kIdentity : v.size() == 1 ? func::Tail::kConstant : func::Tail::kLine;
  if (!v.empty()) out.value = v[0];
  if (v.size() == 2) out.slope = v[1];
  return out;
}

// Sets the kind of knots by its name, or their places.
void SetKnots(const std::string& text, func::FitRequest* r) {
  constexpr std::pair<const char*, func::Knots> kKinds[] = {
      {"uniform", func::Knots::kUniform}, {"octaves", func::Knots::kOctaves}, {"free", func::Knots::kFree}};
  if (text.empty()) return;
  for (auto [name, kind] : kKinds)
    if (text == name) {
      r->knots = kind;
      return;
    }
  r->knots = func::Knots::kGiven;
  r->cuts = Reals(text, "--knots");
}

// Returns the reason for which `suf fn cost` and `suf fn run` would refuse a function; empty if they accept it.
std::string NoLowering(const func::Function& f) {
  const gates::FunctionPlan plan{f, {}, gates::Origin::kP1, gates::To::kP1};
  const std::vector<compiler::Candidate> all = gates::Price(plan, compiler::Profiles()[0].prices, 1);
  std::string why;
  for (const compiler::Candidate& c : all) {
    if (c.why_not.empty()) return "";
    if (why.empty() || c.choice.numbers.kind == compiler::Kind::kStepDcf) why = Str(c.name, ": ", c.why_not);
  }
  return Str("no lowering makes it (", why, ")");
}

// Shows progress once the work has taken two seconds.
class Patience {
 public:
  explicit Patience(const char* command) : bar_(command) {}
  void At(double done, const std::string& what) {
    if (std::chrono::steady_clock::now() - begin_ >= std::chrono::seconds(2)) bar_.At(done, what);
  }
  void Clear() { bar_.Clear(); }

 private:
  Bar bar_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

int RunFnList() {
  std::vector<std::vector<std::string>> rows{{"function", "x", "error", "what it is"}};
  for (const func::LibraryEntry& e : func::Library())
    rows.push_back({std::string(e.name), std::string(e.range), std::string(e.error), std::string(e.sentence)});
  std::cout << Listing(rows, {"error"});
  std::cout << "\n--n and --scale set the ring and the scale of a function; suf fn show NAME draws it\n";
  return 0;
}

int RunFnShow(const FnShowArgs& a) {
  const NamedFunction g = FunctionOf(a.f);
  if (!a.pass.empty()) {
    PrintPass(g, a.pass);
    return 0;
  }
  if (!a.svg.empty()) {
    WriteText(a.svg, CurveSvg(PlotOf(g, 1200)));
    return 0;
  }
  const func::Suf* s = std::get_if<func::Suf>(&g.f);
  std::cout << func::Name(g.f) << ": x of " << func::DomainBits(g.f) << " bits, ";
  if (s)
    std::cout << Plural(s->pieces.size(), "piece") << " of degree " << s->degree << ", "
              << Plural(s->formulas.size(), "formula");
  else
    std::cout << "tables of " << std::get<func::Split>(g.f).high.size() << " and "
              << std::get<func::Split>(g.f).low.size() << " values";
  std::cout << "; channels: " << ChannelsText(g.f) << "\n";
  if (g.made) {
    std::cout << "x = word / 2^" << g.made->in.scale << ", y = channel / 2^" << g.made->scale << "; for "
              << Short(g.made->low) << " <= x < " << Short(g.made->high) << " y is ";
    if (g.made->error == 0 && g.made->relative == 0)
      std::cout << "exact\n";
    else
      std::cout << (g.made->error > 0 ? Str("off by ", Short(g.made->error))
                                      : Str("off by ", Short(g.made->relative), " of its size"))
                << " at most\n";
  }
  std::cout << "\n" << Cut(func::Print(g.f)) << "\n";
  if (s && s->outputs > 0) std::cout << PiecesOf(*s) << "\n";
  std::cout << Curve(PlotOf(g, kSamples));
  return 0;
}

int RunFnFit(const FnFitArgs& a) {
  func::FitRequest r;
  r.what = a.formula;
  r.in = NumbersOf(a.in, "--in");
  r.result = NumbersOf(a.result, "--result");
  r.pieces = a.pieces;
  r.degree = a.degree;
  r.slope = a.slope;
  r.below = TailOf(a.below, "--below");
  r.above = TailOf(a.above, "--above");
  if (a.bipartite) r.form = func::FitForm::kBipartite;
  SetKnots(a.knots, &r);
  if (!a.scales.empty())
    for (double v : Reals(a.scales, "--scales")) {
      if (v != std::floor(v) || std::abs(v) > 64)
        Fail(Cause::kInput, "--scales has ", v, "; write whole numbers of bits, -64 to 64");
      r.finer.push_back(int(v));
    }
  if (!a.error.empty()) r.error = BoundOf(a.error);
  if (const std::string stem = std::filesystem::path(a.out).stem(); func::IsWord(stem)) r.name = stem;
  if (r.error && r.form == func::FitForm::kPieces && r.in.bits > compiler::kMostDense)
    r.pieces = int(compiler::kMostSteps);  // no lowering takes more pieces
  r.why_not = NoLowering;
  if (std::error_code none; !a.out.empty() && !std::filesystem::exists(a.out, none)) ProbeFile(a.out, 1);
  Patience patience("fn fit");
  r.progress = [&](double done, const std::string& what) { patience.At(done, what); };
  func::FitResult<func::Function> fitted =
      Hinted(Cause::kRefused, "see --result, --error, --in, --below and --above", [&] {
        return Hinted(Cause::kInput, "suf fn fit --help lists the words of a formula, and the tails",
                      [&] { return func::Fit(r); });
      });
  patience.Clear();
  const std::string text = func::Print(fitted.f);
  if (a.out.empty())
    std::cout << text;
  else
    WriteText(a.out, text);
  std::cerr << "fit: ";
  if (auto* s = std::get_if<func::Suf>(&fitted.f))
    std::cerr << Plural(s->pieces.size(), "piece") << " of degree " << s->degree;
  else
    std::cerr << "two tables of " << std::get<func::Split>(fitted.f).high.size() << " and "
              << std::get<func::Split>(fitted.f).low.size() << " values";
  std::cerr << ", y = channel / 2^" << fitted.scale << ", error at most " << Short(fitted.error)
            << (fitted.error > 0 ? Str(" = 2^", Fixed(std::log2(fitted.error), 2)) : "")
            << (fitted.exact ? ", measured at every x" : ", bounded from samples") << "\n";
  const int finer = fitted.scale - r.result.scale, bits = func::RingBits(fitted.f);
  if (finer > 0 && !a.slope && a.scales.empty())
    std::cerr << "fit: for its slopes the result has " << finer << (finer == 1 ? " bit" : " bits")
              << " more than --result, in a ring of " << bits << "; a rounding shift by " << finer
              << " gives the scale of --result (--slope 0 avoids this)\n";
  return 0;
}

}  // namespace suf::apps
