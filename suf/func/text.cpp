#include "suf/func/text.hpp"

#include <algorithm>
#include <bit>
#include <charconv>

namespace suf::func {

namespace {

constexpr const char* kTerms[] = {"lt", "ltlow", "msb", "not", "and", "or", "xor"};
constexpr const char* kChannels[] = {"bit", "unsigned", "signed"};

// ---- printing

// Text: a string that grows by words and numbers.
class Text {
 public:
  Text& operator<<(std::string_view s) {
    out_ += s;
    return *this;
  }
  Text& operator<<(int64_t v) { return Number(v); }
  Text& operator<<(int v) { return Number(v); }
  Text& operator<<(U128 v) {
    constexpr uint64_t kPart = 1'000'000'000'000'000'000;
    if (v < kPart) return Number(uint64_t(v));
    Number(uint64_t(v / kPart));
    char low[19];
    uint64_t rest = uint64_t(v % kPart);
    for (int i = 18; i-- > 0; rest /= 10) low[i] = char('0' + rest % 10);
    out_.append(low, 18);
    return *this;
  }
  std::string Take() { return std::move(out_); }

 private:
  template <class T>
  Text& Number(T v) {
    char room[24];
    out_.append(room, std::to_chars(room, room + sizeof room, v).ptr);
    return *this;
  }
  std::string out_;
};

void PrintPolynomials(const Piece& p, int ring, Text* out) {
  for (size_t j = 0; j < p.poly.size(); ++j) {
    if (j) *out << " |";
    for (uint64_t c : p.poly[j]) *out << " " << Signed(c, ring);
  }
}

// LogWidth: of piece i; -1 when its width is no power of two.
int LogWidth(const Suf& f, size_t i) {
  U128 width = (i + 1 < f.pieces.size() ? f.pieces[i + 1].begin : f.end) - f.pieces[i].begin;
  if (width == U128{1} << 64) return 64;
  return width > ~uint64_t{0} || !std::has_single_bit(uint64_t(width)) ? -1 : std::countr_zero(uint64_t(width));
}

void PrintPieces(const Suf& f, Text* out) {
  for (size_t i = 0, next = 0; i < f.pieces.size(); i = next) {
    const int w = LogWidth(f, i);
    for (next = i + 1; w >= 0 && next < f.pieces.size() && LogWidth(f, next) == w;) ++next;
    if (next - i < kLeastRun) {
      for (; i < next; ++i) {
        *out << "piece " << f.pieces[i].begin << " :";
        PrintPolynomials(f.pieces[i], f.ring, out);
        *out << "\n";
      }
      continue;
    }
    *out << "run " << f.pieces[i].begin << " " << w << " :";
    for (size_t k = i; k < next; ++k) {
      if (k > i) *out << " ,";
      PrintPolynomials(f.pieces[k], f.ring, out);
    }
    *out << "\n";
  }
}

// ---- parsing

bool Blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// Line: the words of one line, read in turn.
class Line {
 public:
  Line(std::string_view text, int number) : at_(text.data()), end_(at_ + text.size()), number_(number) {}
  template <class... T>
  [[noreturn]] void Bad(const T&... wanted) const {
    Fail(Cause::kInput, "line ", number_, " of a function's text lacks ", wanted...);
  }
  // Most: `count` would be more than `most` of `what`.
  void Most(size_t count, size_t most, const char* what) const {
    if (count > most)
      Fail(Cause::kInput, "line ", number_, " of a function's text holds more than ", most, " ", what,
           "; split the function");
  }
  bool More() {
    while (at_ != end_ && Blank(*at_)) ++at_;
    return at_ != end_;
  }
  std::string_view Word(const char* wanted) {
    if (!More()) Bad(wanted);
    const char* begin = at_;
    while (at_ != end_ && !Blank(*at_)) ++at_;
    return {begin, size_t(at_ - begin)};
  }
  void Keyword(std::string_view word) {
    if (Word("a word") != word) Bad("the word '", word, "'");
  }
  // Sign: whether the next word is that character; it is read then.
  bool Sign(char c) {
    if (!More() || *at_ != c || (at_ + 1 != end_ && !Blank(at_[1]))) return false;
    ++at_;
    return true;
  }
  U128 Unsigned(const char* wanted) {
    std::string_view w = Word(wanted);
    U128 v = 0;
    if (w.size() > 20) Bad(wanted);
    for (char c : w) {
      if (c < '0' || c > '9') Bad(wanted);
      v = v * 10 + U128(c - '0');
    }
    return v;
  }
  int Small(const char* wanted, int most) {
    U128 v = Unsigned(wanted);
    if (v > U128(most)) Bad(wanted, ", at most ", most);
    return int(v);
  }
  uint64_t Coefficient(int ring) {
    const char* const wanted = "a coefficient";
    if (!More()) Bad(wanted);
    const bool minus = *at_ == '-';
    uint64_t v = 0;
    auto [end, code] = std::from_chars(at_ + minus, end_, v);
    if (code == std::errc::result_out_of_range) Bad("a coefficient of at most 64 bits");
    if (code != std::errc{} || (end != end_ && !Blank(*end))) Bad(wanted);
    at_ = end;
    return (minus ? 0 - v : v) & Mask(ring);
  }
  template <size_t N>
  int OneOf(const char* const (&names)[N], const char* wanted) {
    std::string_view w = Word(wanted);
    for (size_t i = 0; i < N; ++i)
      if (w == names[i]) return int(i);
    Bad(wanted);
  }

 private:
  const char *at_, *end_;
  int number_;
};

// Parser: what a text has said so far.
struct Parser {
  Suf f;
  bool head = false, ended = false;
  size_t coefficients = 0;
  // where the last run ends: the next piece, or the end, must be there
  bool run = false;
  U128 due = 0;

  void Head(Line& line) {
    head = true;
    f.name = line.Word("a name");
    line.Keyword("domain"), f.n = line.Small("a number of bits", 64);
    line.Keyword("ring"), f.ring = line.Small("a number of bits", 64);
    line.Keyword("outputs"), f.outputs = line.Small("a number of outputs", kMostOutputs);
    line.Keyword("degree"), f.degree = line.Small("a degree", kMostDegree);
    if (f.ring < 1) line.Bad("a ring of 1 bit or more");
  }

  void Met(const Line& line, U128 begin) {
    if (run && begin != due) line.Bad("the place where the run before it ends");
    run = false;
  }

  // Polynomials: of one piece, up to the line's end or a comma.
  void Polynomials(Line& line, U128 begin) {
    line.Most(f.pieces.size() + 1, kMostPieces, "pieces");
    Piece& p = f.pieces.emplace_back();
    p.begin = begin;
    p.poly.resize(size_t(f.outputs));
    for (int j = 0; j < f.outputs; ++j) {
      if (j > 0 && !line.Sign('|')) line.Bad("the sign '|' before another output");
      auto& c = p.poly[size_t(j)];
      c.reserve(size_t(f.degree) + 1);
      for (int i = 0; i <= f.degree; ++i) c.push_back(line.Coefficient(f.ring));
      coefficients += c.size();
    }
    line.Most(coefficients, kMostCoefficients, "coefficients");
  }

  void APiece(Line& line) {
    U128 begin = line.Unsigned("a cutpoint");
    Met(line, begin);
    line.Keyword(":");
    Polynomials(line, begin);
  }

  void ARun(Line& line) {
    U128 begin = line.Unsigned("a cutpoint");
    Met(line, begin);
    const int w = line.Small("the logarithm of a width", 64);
    line.Keyword(":");
    due = begin;
    do {
      Polynomials(line, due);
      due += U128{1} << w;
    } while (line.Sign(','));
    run = true;
  }

  void AFormula(Line& line) {
    line.Most(f.formulas.size() + 1, kMostFormulas, "formulas");
    Formula& g = f.formulas.emplace_back();
    while (line.More()) {
      line.Most(g.size() + 1, kMostTerms, "terms of a formula");
      Term t{Term::Kind(line.OneOf(kTerms, "one of lt, ltlow, msb, not, and, or, xor")), 0, 0};
      if (t.kind == Term::kLtLow) t.f = line.Small("a number of low bits", 64);
      if (t.kind <= Term::kMsb) t.value = line.Unsigned("a threshold");
      g.push_back(t);
    }
  }

  void AChannel(Line& line) {
    line.Most(f.channels.size() + 1, kMostChannels, "channels");
    Channel c;
    c.kind = Channel::Kind(line.OneOf(kChannels, "one of bit, unsigned, signed"));
    c.bits = line.Small("a number of bits", 64);
    c.source = line.Small("a source", kMostOutputs + kMostFormulas), c.name = line.Word("a name");
    f.channels.push_back(std::move(c));
  }

  void Item(Line& line) {
    std::string_view word = line.Word("a word");
    if (word == "suf" && !head)
      Head(line);
    else if (word == "piece" && head)
      APiece(line);
    else if (word == "run" && head)
      ARun(line);
    else if (word == "end" && head && !ended) {
      ended = true, f.end = line.Unsigned("the end of the last piece");
      Met(line, f.end);
    } else if (word == "formula" && head)
      AFormula(line);
    else if (word == "channel" && head)
      AChannel(line);
    else
      line.Bad(head ? "one of piece, run, formula, channel, and end once" : "the head 'suf <name> ..'");
    if (line.More()) line.Bad("an end: words are left over");
  }
};

}  // namespace

std::string Print(const Suf& f) {
  Text s;
  s << "suf " << f.name << " domain " << f.n << " ring " << f.ring << " outputs " << f.outputs << " degree " << f.degree
    << "\n";
  PrintPieces(f, &s);
  s << "end " << f.end << "\n";
  for (const Formula& g : f.formulas) {
    s << "formula";
    for (const Term& t : g) {
      s << " " << kTerms[t.kind];
      if (t.kind == Term::kLtLow) s << " " << t.f;
      if (t.kind <= Term::kMsb) s << " " << t.value;
    }
    s << "\n";
  }
  for (const Channel& c : f.channels)
    s << "channel " << kChannels[c.kind] << " " << c.bits << " " << c.source << " " << c.name << "\n";
  return s.Take();
}

Suf Parse(std::string_view text) {
  if (text.size() > kMostText)
    Fail(Cause::kInput, "a function's text has ", text.size(), " bytes; ", kMostText, " are the most that is read");
  Parser p;
  for (int number = 1; !text.empty(); ++number) {
    size_t end = std::min(text.find('\n'), text.size());
    Line line(text.substr(0, end), number);
    if (line.More()) p.Item(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!p.head) Fail(Cause::kInput, "a function's text must begin with 'suf <name> domain ..'");
  if (p.run && p.due != p.f.end)
    Fail(Cause::kInput,
         "the last run of a function's text does not end where the function does; write the end after it");
  Verify(p.f);
  return std::move(p.f);
}

}  // namespace suf::func
