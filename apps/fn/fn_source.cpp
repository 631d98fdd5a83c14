#include "apps/fn/fn_source.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>

#include "apps/fn/curve.hpp"
#include "suf/base/file.hpp"
#include "suf/func/text.hpp"
#include "suf/gates/plan_text.hpp"
#include "suf/ring/modular.hpp"
#include "suf/roles/files.hpp"

namespace suf::apps {

NamedFunction FunctionOf(const FunctionArgs& a) {
  const bool path =
      a.name == roles::kStandardInput || a.name.ends_with(".suf") || a.name.find('/') != std::string::npos;
  if (!path) {
    func::LibraryFunction made = func::Make(a.name, a.n, a.scale);
    func::Function f = made.f;
    return {std::move(f), std::move(made)};
  }
  const std::string text = roles::ReadText(a.name, "the function ", "check the path; suf fn list names the library");
  try {
    func::Function f = func::ParseFunction(text);
    func::Verify(f);
    return {std::move(f), std::nullopt};
  } catch (const Error& e) {
    throw Error(e.cause(), Str(roles::FileName(a.name), ": ", e.what()));
  }
}

gates::FunctionPlan PlanOf(const func::Function& f, const EndsArgs& ends) {
  return {f, {}, gates::FromNamed(ends.from, "--from"), gates::ToNamed(ends.to, "--to")};
}

compiler::Choice ChoiceFor(const gates::FunctionPlan& plan, const std::string& lowering,
                           const compiler::Profile& profile, int64_t count, const pfss::Capabilities& can) {
  return gates::Pick(plan, gates::Price(plan, profile.prices, count, can), lowering, false).choice;
}

Numeric NumericOf(const NamedFunction& g) {
  if (g.made) return {g.made->in.is_signed, g.made->in.scale, g.made->scale};
  Numeric out;
  if (auto* f = std::get_if<func::Suf>(&g.f)) {
    const func::U128 half = func::U128{1} << (f->n - 1);
    for (const func::Piece& p : f->pieces) out.is_signed |= p.begin == half;
  }
  return out;
}

void ArgumentLimits::Want(const std::string& where, const std::string& text, int64_t number) const {
  if (number >= first && number <= last) return;
  std::string units;
  if (scale)
    units = Str(", which is x from ", Short(std::ldexp(double(first), -*scale)), " to ",
                Short(std::ldexp(double(last), -*scale)));
  Fail(Cause::kInput, where, " is ", text, "; ", name, " takes ", first, " to ", last, units, "; give one of these");
}

std::optional<ArgumentLimits> LimitsOf(const NamedFunction& g) {
  const std::optional<func::ArgumentRange> taken = g.made ? func::ArgumentRangeOf(*g.made) : func::ArgumentRangeOf(g.f);
  if (!taken) return std::nullopt;
  return ArgumentLimits{*taken, func::Name(g.f)};
}

uint64_t WordOf(const std::string& text, int n, const std::string& where, const std::optional<ArgumentLimits>& limits) {
  const char *begin = text.data(), *end = begin + text.size();
  const bool minus = begin != end && *begin == '-';
  uint64_t v = 0;
  auto [at, code] = std::from_chars(begin + minus, end, v);
  if (at == begin + minus || at != end)
    Fail(Cause::kInput, where, " is no whole number: ", Quoted(text), "; write one such as -7");
  if (limits && code == std::errc{} && v <= uint64_t(INT64_MAX)) {
    const int64_t number = minus ? -int64_t(v) : int64_t(v);
    const bool word = limits->is_signed && !minus && v <= ring::Mask(n);
    limits->Want(where, text, word ? ring::Signed(v, n) : number);
  }
  const uint64_t most = minus ? uint64_t{1} << (n - 1) : ring::Mask(n);
  if (code != std::errc{} || v > most)
    Fail(Cause::kInput, where, " is ", text, "; the function takes words of ", n, " bits: 0 to 2^", n,
         " - 1, or from -2^", n - 1, " in two's complement");
  return (minus ? 0 - v : v) & ring::Mask(n);
}

void EachNumber(const std::string& path, int n, const NumberTaker& taker,
                const std::function<void(const std::string& text, const std::string& where)>& f) {
  const std::string text = roles::ReadText(path, "the values ", "give a file with one number a line");
  const std::string file = roles::FileName(path);
  bool any = false;
  size_t begin = 0;
  for (int number = 1; begin < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    line.resize(std::min(line.find('#'), line.size()));
    begin = end + 1;
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.pop_back();
    line.erase(0, line.find_first_not_of(" \t"));
    if (line.empty()) continue;
    if (!any && line.starts_with("mod ")) {
      bool fits = line == Str("mod 2^", n);
      for (int k = 1; taker.narrower && k < n; ++k) fits |= line == Str("mod 2^", k);
      if (!fits)
        Fail(Cause::kInput, file, " holds numbers ", line.substr(0, 16), ", and ", taker.name, " takes them mod 2^", n,
             "; ", taker.remedy);
      continue;
    }
    f(line, Str(file, ", line ", number, ","));
    any = true;
  }
  if (!any) Fail(Cause::kInput, file, " holds no number; give one a line");
}

std::vector<uint64_t> ReadWords(const std::string& path, int n, const std::optional<ArgumentLimits>& limits) {
  std::vector<uint64_t> out;
  EachNumber(path, n, {"the function", "use a function with a domain of that size"},
             [&](const std::string& text, const std::string& where) { out.push_back(WordOf(text, n, where, limits)); });
  return out;
}

void WriteText(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) Fail(Cause::kResource, "cannot write ", path, "; check the directory and free space");
}

void WriteWords(const std::string& path, const std::vector<uint64_t>& words, int n, bool is_signed) {
  std::string text = Str("mod 2^", n, "\n");
  for (uint64_t w : words) text += (is_signed ? std::to_string(ring::Signed(w, n)) : std::to_string(w)) + "\n";
  TempFile file(path);
  file.Add(AsView(text));
  file.Commit();
}

std::vector<std::string> AtCommas(const std::string& text) {
  std::vector<std::string> out{""};
  for (char c : text)
    if (c == ',')
      out.emplace_back();
    else
      out.back() += c;
  return out;
}

}  // namespace suf::apps
