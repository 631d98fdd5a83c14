#include "apps/gate/gate_mirror.hpp"

#include <array>
#include <filesystem>

#include "suf/base/file.hpp"
#include "suf/base/plural.hpp"
#include "suf/base/printable.hpp"
#include "suf/gates/compose/value_type.hpp"

namespace suf::apps {

namespace {

using run::OpenedWire;

// Returns the wire's number and name as a file name. Labels may have spaces, and no name leads to another folder.
std::string FileOfWire(size_t number, size_t many, const std::string& name) {
  std::string digits = Str(number), safe;
  digits.insert(0, Str(many).size() - digits.size(), '0');
  constexpr size_t kMostFileName = 100;
  for (char c : name.substr(0, kMostFileName)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    safe += plain ? c : '_';
  }
  return digits + "_" + safe + ".txt";
}

// Returns element i: a number in decimal, a string in hexadecimal with all its digits.
std::string ElementOfWire(const OpenedWire& wire, const std::vector<uint64_t>& words, size_t i) {
  if (wire.ring.kind == pfss::Ring::kAdd) return std::to_string(words[i]);
  const auto w = size_t(wire.words()), digits = size_t(wire.ring.bits + 3) / 4;
  std::string out(digits, '0');
  for (size_t d = 0; d < digits; ++d)
    out[digits - 1 - d] = "0123456789abcdef"[words[i * w + d / 16] >> (4 * (d % 16)) & 15];
  return "0x" + out;
}

std::string RingOfWire(const OpenedWire& w) {
  return w.ring.kind == pfss::Ring::kAdd ? Str("mod 2^", w.ring.bits) : Str("xor of ", Plural(w.ring.bits, "bit"));
}

// Names the parties that learn the masked value. Of a wire without one, the peer of its only sender.
const char* LearnersOfWire(const OpenedWire& w) {
  if (!w.masked.empty()) return "both";
  return w.sent[0].empty() ? "P0" : "P1";
}

std::string TextOfWire(const OpenedWire& wire) {
  std::string text = Str("wire ", Printable(wire.name), " of ", Printable(wire.scope), ", ", RingOfWire(wire), ", ",
                         gates::Name(wire.shape), "\n");
  const std::array<std::pair<const char*, const std::vector<uint64_t>*>, 4> all{
      {{"clear", &wire.clear}, {"masked", &wire.masked}, {"sent_by_P0", &wire.sent[0]}, {"sent_by_P1", &wire.sent[1]}}};
  std::vector<const std::vector<uint64_t>*> columns;
  for (const auto& [name, words] : all) {
    if (words->empty()) continue;
    text += (columns.empty() ? "" : " ") + std::string(name);
    columns.push_back(words);
  }
  text += "\n";
  for (size_t i = 0; i < size_t(wire.count()); ++i)
    for (size_t c = 0; c < columns.size(); ++c)
      text += ElementOfWire(wire, *columns[c], i) + (c + 1 == columns.size() ? "\n" : " ");
  return text;
}

void WriteMirrorFile(const std::string& path, const std::string& text) {
  TempFile file(path);
  file.Add(AsView(text));
  file.Commit();
}

}  // namespace

void ProbeMirror(const std::string& dir) {
  std::error_code error;
  const bool there = std::filesystem::exists(std::filesystem::symlink_status(dir, error));
  if (there && !std::filesystem::is_directory(dir, error))
    Fail(Cause::kRefused, dir, " is no folder; name a new one for the opened wires");
  if (there && (!std::filesystem::is_empty(dir, error) || error))
    Fail(Cause::kRefused, "the folder ", dir, " is not empty or cannot be read; name a new one for the opened wires");
  MakeDir(dir);
}

void WriteMirror(const std::string& dir, const std::vector<OpenedWire>& wires) {
  ProbeMirror(dir);
  std::string index = "file\tname\tscope\tring\tshape\tlearned by\n";
  for (size_t i = 0; i < wires.size(); ++i) {
    const OpenedWire& w = wires[i];
    const std::string file = FileOfWire(i + 1, wires.size(), w.name);
    WriteMirrorFile(dir + "/" + file, TextOfWire(w));
    index += Str(file, "\t", Printable(w.name), "\t", Printable(w.scope), "\t", RingOfWire(w), "\t",
                 gates::Name(w.shape), "\t", LearnersOfWire(w), "\n");
  }
  WriteMirrorFile(dir + "/index.txt", index);
}

}  // namespace suf::apps
