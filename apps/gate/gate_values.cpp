#include "apps/gate/gate_values.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "apps/fn/fn_source.hpp"
#include "suf/base/file.hpp"
#include "suf/base/plural.hpp"
#include "suf/ring/modular.hpp"

namespace suf::apps {

using gates::Bound;
using gates::Composition;
using gates::Ints;
using gates::ValueType;

namespace {

constexpr size_t kLongestNumber = 20;    // digits and sign of a word
constexpr uint64_t kGateLineBytes = 21;  // most bytes of a line: a word of 64 bits and its end

// Parses a whole number in [low, high]. Throws Cause::kInput.
int64_t NumberWithin(const std::string& text, const std::string& where, Bound low, Bound high) {
  const char *begin = text.data(), *end = begin + text.size();
  const bool minus = begin != end && *begin == '-';
  uint64_t v = 0;
  const auto [at, code] = std::from_chars(begin + minus, end, v);
  if (at == begin + minus || at != end)
    Fail(Cause::kInput, where, " is no whole number: ", Quoted(text), "; write one such as -7");
  const Bound number = minus ? -Bound(v) : Bound(v);
  if (code != std::errc{} || number < low || number > high)
    Fail(Cause::kInput, where, " is ", text.size() > kLongestNumber ? Quoted(text) : text, ", outside ",
         gates::Decimal(low), " to ", gates::Decimal(high), "; give a number within");
  return int64_t(uint64_t(number));
}

Ints ReadWithin(const std::string& path, const std::string& name, int bits, Bound low, Bound high, bool narrower) {
  Ints out;
  EachNumber(
      path, bits, {name, Str("declare it with that width, or bring numbers of ", Plural(bits, "bit")), narrower},
      [&](const std::string& text, const std::string& where) { out.push_back(NumberWithin(text, where, low, high)); });
  return out;
}

}  // namespace

std::vector<std::string> FilesOfInputs(const Composition& c, const std::vector<std::string>& values) {
  std::vector<std::string> out(c.text().inputs.size());
  std::string all;
  for (const gates::InputStatement& s : c.text().inputs) all += (all.empty() ? "" : ", ") + s.name.name;
  for (const std::string& v : values) {
    const size_t at = v.find('=');
    if (at == v.npos || at == 0 || at + 1 == v.size())
      Fail(Cause::kInput, "--values takes NAME=FILE, such as ", c.text().inputs[0].name.name, "=x.txt, and got ",
           Quoted(v));
    const std::string name = v.substr(0, at);
    const int i = c.value(name);
    if (i < 0 || size_t(i) >= out.size())
      Fail(Cause::kInput, "--values: ", Quoted(name), " is no input; there ", out.size() == 1 ? "is " : "are ", all);
    if (!out[size_t(i)].empty()) Fail(Cause::kInput, "--values names ", name, " twice; give one file for it");
    out[size_t(i)] = v.substr(at + 1);
  }
  return out;
}

Ints ReadInput(const std::string& path, const gates::InputStatement& in) {
  return ReadWithin(path, in.name.name, in.type.bits, in.type.low, in.type.high, true);
}

Ints ReadShare(const std::string& path, const gates::InputStatement& in) {
  return ReadWithin(path, in.name.name, in.type.bits, 0, Bound(ring::Mask(in.type.bits)), false);
}

void WriteOutput(const std::string& path, const ValueType& type, const Ints& words, bool share) {
  const bool is_signed = type.kind == gates::ValueKind::kNumber && type.is_signed && !share;
  std::vector<uint64_t> all;
  for (int64_t v : words) all.push_back(uint64_t(v) & ring::Mask(type.bits));
  WriteWords(path, all, type.bits, is_signed);
}

Ints ReadOutput(const std::string& path, const ValueType& type, bool share) {
  const bool is_signed = type.kind == gates::ValueKind::kNumber && type.is_signed && !share;
  const Bound half = Bound{1} << (type.bits - 1);
  return ReadWithin(path, "this output", type.bits, is_signed ? -half : Bound{0}, is_signed ? half - 1 : 2 * half - 1,
                    false);
}

std::vector<std::string> FilesOfOutputs(const Composition& c, int p, const std::string& out) {
  std::vector<std::string> files(c.text().outputs.size());
  const auto many = std::count_if(c.text().outputs.begin(), c.text().outputs.end(),
                                  [&](const gates::OutputStatement& o) { return gates::Learns(o, p); });
  for (size_t o = 0; o < files.size(); ++o)
    if (const gates::OutputStatement& s = c.text().outputs[o]; gates::Learns(s, p))
      files[o] = many == 1 ? out : Str(out, ".", s.name.name);
  return files;
}

void RefuseReplacing(const Composition& c, int p, const std::string& out, const std::vector<std::string>& values) {
  std::vector<std::string> files = FilesOfOutputs(c, p, out);
  files.push_back(out);
  for (const std::string& value : values)
    for (const std::string& input : AtCommas(value.substr(value.find('=') + 1)))
      for (const std::string& file : files) {
        std::error_code none;
        if (!file.empty() && std::filesystem::equivalent(file, input, none))
          Fail(Cause::kInput, "--out would replace ", file, ", which --values reads; name another file");
      }
}

void ProbeOutputs(const Composition& c, int p, const std::string& out, int64_t rows) {
  const std::vector<std::string> files = FilesOfOutputs(c, p, out);
  for (size_t o = 0; o < files.size(); ++o)
    if (!files[o].empty())
      ProbeFile(files[o],
                uint64_t(gates::CountOf(c, c.value(c.text().outputs[o].name.name), rows) + 1) * kGateLineBytes);
}

void WriteOutputs(const Composition& c, int p, const std::string& out, const std::vector<Ints>& words) {
  const std::vector<std::string> files = FilesOfOutputs(c, p, out);
  for (size_t o = 0; o < files.size(); ++o) {
    if (files[o].empty()) continue;
    const gates::OutputStatement& s = c.text().outputs[o];
    WriteOutput(files[o], gates::OutputType(c, s), words[o], s.to == gates::To::kShared);
  }
}

}  // namespace suf::apps
