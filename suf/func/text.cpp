#include "suf/func/text.hpp"

#include <algorithm>

namespace suf::func {

namespace {

constexpr const char* kTerms[] = {"lt", "ltlow", "msb", "not", "and", "or", "xor"};
constexpr const char* kChannels[] = {"bit", "unsigned", "signed"};

std::string Decimal(U128 v) {
  std::string s;
  do s += char('0' + int(v % 10));
  while ((v /= 10) != 0);
  std::reverse(s.begin(), s.end());
  return s;
}

// Line: the words of one line, read in turn.
class Line {
 public:
  Line(const std::string& text, int number) : in_(text), number_(number) {}
  [[noreturn]] void Bad(const std::string& wanted) const {
    Fail(Cause::kInput, "line ", number_, " of a function's text lacks ", wanted);
  }
  bool More() { return bool(in_ >> std::ws) && !in_.eof(); }
  std::string Word(const char* wanted) {
    std::string w;
    if (!(in_ >> w)) Bad(wanted);
    return w;
  }
  void Keyword(const char* word) {
    if (Word(word) != word) Bad(Str("the word '", word, "'"));
  }
  U128 Unsigned(const char* wanted) { return Digits(Word(wanted), wanted); }
  int Small(const char* wanted) {
    U128 v = Unsigned(wanted);
    if (v > 1 << 20) Bad(Str(wanted, " of reasonable size"));
    return int(v);
  }
  uint64_t Coefficient(const std::string& word, int ring) {
    bool minus = word[0] == '-';
    U128 v = Digits(word.substr(minus), "a coefficient");
    if (v > ~uint64_t{0}) Bad("a coefficient of at most 64 bits");
    return (minus ? -uint64_t(v) : uint64_t(v)) & Mask(ring);
  }
  template <size_t N>
  int OneOf(const char* const (&names)[N], const char* wanted) {
    std::string w = Word(wanted);
    for (size_t i = 0; i < N; ++i)
      if (w == names[i]) return int(i);
    Bad(wanted);
  }

 private:
  U128 Digits(const std::string& w, const char* wanted) const {
    U128 v = 0;
    if (w.empty() || w.size() > 30) Bad(wanted);
    for (char c : w) {
      if (c < '0' || c > '9') Bad(wanted);
      v = v * 10 + U128(c - '0');
    }
    return v;
  }
  std::istringstream in_;
  int number_;
};

Piece ParsePiece(Line& line, int ring) {
  Piece p{line.Unsigned("a cutpoint"), {}};
  line.Keyword(":");
  if (line.More()) p.poly.emplace_back();
  while (line.More()) {
    std::string w = line.Word("a coefficient");
    if (w == "|")
      p.poly.emplace_back();
    else
      p.poly.back().push_back(line.Coefficient(w, ring));
  }
  return p;
}

Formula ParseFormula(Line& line) {
  Formula f;
  while (line.More()) {
    Term t{Term::Kind(line.OneOf(kTerms, "one of lt, ltlow, msb, not, and, or, xor")), 0, 0};
    if (t.kind == Term::kLtLow) t.f = line.Small("a number of low bits");
    if (t.kind <= Term::kMsb) t.value = line.Unsigned("a threshold");
    f.push_back(t);
  }
  return f;
}

}  // namespace

std::string Print(const Suf& f) {
  std::string s =
      Str("suf ", f.name, " domain ", f.n, " ring ", f.ring, " outputs ", f.outputs, " degree ", f.degree, "\n");
  for (const Piece& p : f.pieces) {
    s += "piece " + Decimal(p.begin) + " :";
    for (size_t j = 0; j < p.poly.size(); ++j) {
      if (j) s += " |";
      for (uint64_t c : p.poly[j]) s += " " + std::to_string(Signed(c, f.ring));
    }
    s += "\n";
  }
  s += "end " + Decimal(f.end) + "\n";
  for (const Formula& g : f.formulas) {
    s += "formula";
    for (const Term& t : g) {
      s += Str(" ", kTerms[t.kind]);
      if (t.kind == Term::kLtLow) s += Str(" ", t.f);
      if (t.kind <= Term::kMsb) s += " " + Decimal(t.value);
    }
    s += "\n";
  }
  for (const Channel& c : f.channels)
    s += Str("channel ", kChannels[c.kind], " ", c.bits, " ", c.source, " ", c.name, "\n");
  return s;
}

Suf Parse(std::string_view text) {
  Suf f;
  std::istringstream in{std::string(text)};
  std::string row;
  bool head = false;
  for (int number = 1; std::getline(in, row); ++number) {
    Line line(row, number);
    if (!line.More()) continue;
    std::string word = line.Word("a word");
    if (word == "suf" && !head) {
      head = true;
      f.name = line.Word("a name");
      line.Keyword("domain"), f.n = line.Small("a number of bits");
      line.Keyword("ring"), f.ring = line.Small("a number of bits");
      line.Keyword("outputs"), f.outputs = line.Small("a number of outputs");
      line.Keyword("degree"), f.degree = line.Small("a degree");
      if (f.ring < 1 || f.ring > 64) line.Bad("a ring of 1 to 64 bits");
    } else if (word == "piece" && head) {
      f.pieces.push_back(ParsePiece(line, f.ring));
    } else if (word == "end" && head) {
      f.end = line.Unsigned("the end of the last piece");
    } else if (word == "formula" && head) {
      f.formulas.push_back(ParseFormula(line));
    } else if (word == "channel" && head) {
      Channel c;
      c.kind = Channel::Kind(line.OneOf(kChannels, "one of bit, unsigned, signed"));
      c.bits = line.Small("a number of bits"), c.source = line.Small("a source"), c.name = line.Word("a name");
      f.channels.push_back(c);
    } else {
      line.Bad(head ? "one of piece, end, formula, channel" : "the head 'suf <name> ..'");
    }
    if (line.More()) line.Bad("an end: words are left over");
  }
  if (!head) Fail(Cause::kInput, "a function's text must begin with 'suf <name> domain ..'");
  Verify(f);
  return f;
}

}  // namespace suf::func
