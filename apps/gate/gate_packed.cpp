#include "apps/gate/gate_packed.hpp"

#include <algorithm>
#include <charconv>

#include "suf/base/file.hpp"
#include "suf/base/plural.hpp"
#include "suf/ring/modular.hpp"
#include "suf/roles/files.hpp"

namespace suf::apps {

using func::OutputChannel;
using gates::Composition;
using gates::Ints;
using gates::OutputStatement;
using gates::ValueType;

namespace {

constexpr uint64_t kPackedWordBytes = 21;  // most bytes of a word of 64 bits and the space behind it

int ValueOfOutput(const Composition& c, const OutputStatement& s) { return c.value(s.name.name); }

// Returns the numbers of the output statements whose values the party learns.
std::vector<size_t> LearnedBy(const Composition& c, int party) {
  std::vector<size_t> out;
  for (size_t o = 0; o < c.text().outputs.size(); ++o)
    if (gates::Learns(c.text().outputs[o], party)) out.push_back(o);
  return out;
}

// Returns "16 elements a row", or "16 elements" of a value without rows.
std::string ElementsPhrase(const Composition& c, int value) {
  const int64_t one = gates::CountOf(c, value, 1);
  return Plural(one, "element") + (one == gates::CountOf(c, value, 2) ? "" : " a row");
}

// Returns the bits of each word that fields use.
std::vector<uint64_t> UsedBits(const std::vector<OutputChannel>& channels) {
  std::vector<uint64_t> used;
  const std::vector<func::ChannelSlot> slots = func::Layout(channels);
  for (size_t i = 0; i < slots.size(); ++i) {
    used.resize(std::max(used.size(), size_t(slots[i].word) + 1));
    used[size_t(slots[i].word)] |= ring::Mask(channels[i].bits) << slots[i].offset;
  }
  return used;
}

std::string PackedHeader(const std::vector<OutputChannel>& channels) {
  std::string out = Str("packed ", Plural(UsedBits(channels).size(), "word"), ":");
  for (const OutputChannel& c : channels) {
    const char* kind = c.kind == OutputChannel::kBit ? "bit" : c.kind == OutputChannel::kSigned ? "signed" : "unsigned";
    out += Str(&c == channels.data() ? " " : ", ", c.name, " ", kind, " ", c.bits);
  }
  return out;
}

// Returns the elements of each packed output for `rows` rows.
int64_t ElementsOf(const Composition& c, const std::vector<size_t>& outputs, int64_t rows) {
  return gates::CountOf(c, ValueOfOutput(c, c.text().outputs[outputs[0]]), rows);
}

// Parses a line of decimal words. Throws Cause::kInput.
std::vector<uint64_t> WordsOfLine(const std::string& line, const std::string& where,
                                  const std::vector<uint64_t>& used) {
  std::vector<uint64_t> words;
  const char *at = line.data(), *const end = at + line.size();
  while (at != end) {
    uint64_t word = 0;
    const auto [behind, code] = std::from_chars(at, end, word);
    if (behind == at || code != std::errc{} || (behind != end && *behind != ' '))
      Fail(Cause::kInput, where, " has ", Quoted(std::string(at, end)),
           " where a decimal word below 2^64 belongs; give a file of --packed");
    words.push_back(word);
    for (at = behind; at != end && *at == ' ';) ++at;
  }
  if (words.size() != used.size())
    Fail(Cause::kInput, where, " has ", Plural(words.size(), "word"), ", and the outputs take ", used.size(),
         "; give a file of --packed");
  for (size_t k = 0; k < words.size(); ++k)
    if (words[k] & ~used[k])
      Fail(Cause::kInput, where, " has bits above the fields in word ", k + 1, "; give a file of --packed");
  return words;
}

}  // namespace

std::vector<OutputChannel> ChannelsOfOutputs(const Composition& c, int party) {
  std::vector<OutputChannel> out;
  int first = -1;  // the value of the first packed output
  for (size_t o : LearnedBy(c, party)) {
    const OutputStatement& s = c.text().outputs[o];
    const ValueType& type = c.values()[size_t(ValueOfOutput(c, s))].type;
    if (s.to == gates::To::kShared)
      Fail(Cause::kRefused, "shares of ", s.name.name,
           " cannot be packed, because sums of packed words would carry from one output into the next; leave out "
           "--packed");
    const int v = ValueOfOutput(c, s);
    if (first < 0) first = v;
    if (ElementsPhrase(c, v) != ElementsPhrase(c, first))
      Fail(Cause::kRefused, "a line of packed words has one element of each output, and ", out[0].name, " has ",
           ElementsPhrase(c, first), " and ", s.name.name, " ", ElementsPhrase(c, v),
           "; let the party learn outputs of one size, or leave out --packed");
    const bool number = type.kind == gates::ValueKind::kNumber;
    out.push_back({number && type.is_signed              ? OutputChannel::kSigned
                   : type.kind == gates::ValueKind::kBit ? OutputChannel::kBit
                                                         : OutputChannel::kUnsigned,
                   type.bits, int(o), s.name.name});
  }
  if (out.empty()) Fail(Cause::kRefused, "P", party, " learns no output that could be packed; leave out --packed");
  return out;
}

void ProbePacked(const Composition& c, int party, const std::string& out, int64_t rows) {
  const std::vector<OutputChannel> channels = ChannelsOfOutputs(c, party);
  const auto lines = uint64_t(ElementsOf(c, LearnedBy(c, party), rows));
  ProbeFile(out, PackedHeader(channels).size() + 1 + lines * UsedBits(channels).size() * kPackedWordBytes);
}

void WritePacked(const Composition& c, int party, const std::string& out, const std::vector<Ints>& words) {
  const std::vector<OutputChannel> channels = ChannelsOfOutputs(c, party);
  std::string text = PackedHeader(channels) + "\n";
  std::vector<int64_t> values(channels.size());
  for (size_t i = 0; i < words[size_t(channels[0].source)].size(); ++i) {
    for (size_t k = 0; k < channels.size(); ++k) values[k] = words[size_t(channels[k].source)][i];
    const std::vector<uint64_t> packed = func::PackWords(channels, values);
    for (size_t k = 0; k < packed.size(); ++k) text += (k ? " " : "") + std::to_string(packed[k]);
    text += "\n";
  }
  TempFile file(out);
  file.Add(AsView(text));
  file.Commit();
}

std::vector<Ints> ReadPacked(const Composition& c, int party, const std::string& path) {
  const std::vector<OutputChannel> channels = ChannelsOfOutputs(c, party);
  const std::string header = PackedHeader(channels), name = roles::FileName(path);
  const std::vector<uint64_t> used = UsedBits(channels);
  const std::string text = roles::ReadText(path, "the packed words ", "give a file of --packed");
  std::vector<Ints> out(c.text().outputs.size());
  size_t lines = 0;
  for (size_t begin = 0, number = 1; begin < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin), where = Str(name, ", line ", number, ",");
    begin = end + 1;
    if (number == 1) {
      if (line != header)
        Fail(Cause::kInput, where, " is ", Quoted(line), ", and the outputs of p", party, " have ", Quoted(header),
             "; give the composition and the party of the run");
      continue;
    }
    const std::vector<int64_t> values = func::Unpack(channels, WordsOfLine(line, where, used));
    for (size_t k = 0; k < channels.size(); ++k) out[size_t(channels[k].source)].push_back(values[k]);
    ++lines;
  }
  // a whole number of rows, or the one number of elements that outputs without rows have
  const std::vector<size_t> outputs = LearnedBy(c, party);
  const auto one = size_t(ElementsOf(c, outputs, 1)), two = size_t(ElementsOf(c, outputs, 2));
  if (lines == 0 || (one == two ? lines != one : lines % one != 0))
    Fail(Cause::kInput, name, " has ", Plural(lines, "line"), " of words, and ",
         one == two ? "the outputs take " : "a row takes ", one, "; give the whole file");
  return out;
}

}  // namespace suf::apps
