#include "suf/func/text.hpp"

#include <algorithm>
#include <bit>

#include "suf/func/internal/lines.hpp"

namespace suf::func {

namespace {

using internal::LineReader;
using internal::Text;

constexpr const char* kTerms[] = {"lt", "ltlow", "msb", "not", "and", "or", "xor", "in", "true", "false"};
constexpr const char* kSplits[] = {"sum", "product"};
constexpr const char* kChannels[] = {"bit", "unsigned", "signed"};

bool Valued(const Term& t) { return t.kind <= Term::kMsb || t.kind == Term::kIn; }

// ---- printing

void PrintPolynomials(const Piece& p, int ring, Text* out) {
  for (size_t j = 0; j < p.poly.size(); ++j) {
    if (j) *out << " |";
    for (uint64_t c : p.poly[j]) *out << " " << ring::Signed(c, ring);
  }
}

// Returns the logarithm of the width of piece i; -1 if the width is no power of two.
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

// The parser of a Suf, with the items read so far.
struct Parser {
  Suf f;
  bool head = false, ended = false;
  size_t coefficients = 0;
  // the end of the last run, at which the next piece or the end must be
  bool run = false;
  U128 due = 0;

  void Head(LineReader& line) {
    head = true;
    f.name = line.Word("a name");
    line.Keyword("domain");
    f.n = line.Small("a number of bits", 64);
    line.Keyword("ring");
    f.ring = line.Small("a number of bits", 64);
    line.Keyword("outputs");
    f.outputs = line.Small("a number of outputs", kMostOutputs);
    line.Keyword("degree");
    f.degree = line.Small("a degree", kMostDegree);
    if (f.ring < 1) line.FailLacking("a ring of 1 bit or more");
  }

  void Met(const LineReader& line, U128 begin) {
    if (run && begin != due) line.FailLacking("the place where the run before it ends");
    run = false;
  }

  // Reads one piece, up to the end of the line or a comma.
  void Polynomials(LineReader& line, U128 begin) {
    line.CheckCount(f.pieces.size() + 1, kMostPieces, "pieces");
    Piece& p = f.pieces.emplace_back();
    p.begin = begin;
    p.poly.resize(size_t(f.outputs));
    for (int j = 0; j < f.outputs; ++j) {
      if (j > 0 && !line.TakeSign('|')) line.FailLacking("the sign '|' before another output");
      auto& c = p.poly[size_t(j)];
      c.reserve(size_t(f.degree) + 1);
      for (int i = 0; i <= f.degree; ++i) c.push_back(line.Coefficient(f.ring));
      coefficients += c.size();
    }
    line.CheckCount(coefficients, kMostCoefficients, "coefficients");
  }

  void APiece(LineReader& line) {
    U128 begin = line.Unsigned("a cutpoint");
    Met(line, begin);
    line.Keyword(":");
    Polynomials(line, begin);
  }

  // Reads a piece with coefficients in x itself, and shifts them to its begin by Horner's scheme.
  void APoly(LineReader& line) {
    APiece(line);
    const uint64_t begin = uint64_t(f.pieces.back().begin);
    for (auto& c : f.pieces.back().poly) {
      for (size_t i = 0; i + 1 < c.size(); ++i)
        for (size_t j = c.size() - 1; j-- > i;) c[j] += begin * c[j + 1];
      for (uint64_t& v : c) v &= ring::Mask(f.ring);
    }
  }

  // Reads the value at every point.
  void ATable(LineReader& line) {
    if (f.outputs != 1 || f.degree != 0 || !f.pieces.empty() || f.n > kMostTableBits)
      line.FailLacking("a place for a table: it is the only item with pieces of a function of at most ", kMostTableBits,
                       " bits with 1 output of degree 0");
    for (U128 x = 0; x < U128{1} << f.n; ++x)
      f.pieces.push_back({x, {{line.Coefficient(f.ring, "a constant for each of the domain's points")}}});
  }

  void ARun(LineReader& line) {
    U128 begin = line.Unsigned("a cutpoint");
    Met(line, begin);
    const int w = line.Small("the logarithm of a width", 64);
    line.Keyword(":");
    due = begin;
    do {
      Polynomials(line, due);
      due += U128{1} << w;
    } while (line.TakeSign(','));
    run = true;
  }

  void AFormula(LineReader& line) {
    line.CheckCount(f.formulas.size() + 1, kMostFormulas, "formulas");
    Formula& g = f.formulas.emplace_back();
    while (line.HasWord()) {
      line.CheckCount(g.size() + 1, kMostTerms, "terms of a formula");
      Term t{Term::Kind(line.OneOf(kTerms, "one of lt, ltlow, msb, not, and, or, xor, in, true, false")), 0, 0, 0};
      if (t.kind == Term::kLtLow) t.f = line.Small("a number of low bits", 64);
      if (Valued(t)) t.value = line.Unsigned("a threshold");
      if (t.kind == Term::kIn) t.upper = line.Unsigned("the upper end of an interval");
      g.push_back(t);
    }
  }

  void AChannel(LineReader& line) {
    line.CheckCount(f.channels.size() + 1, kMostChannels, "channels");
    OutputChannel c;
    c.kind = OutputChannel::Kind(line.OneOf(kChannels, "one of bit, unsigned, signed"));
    c.bits = line.Small("a number of bits", 64);
    c.source = line.Small("a source", kMostOutputs + kMostFormulas);
    c.name = line.Word("a name");
    f.channels.push_back(std::move(c));
  }

  void Item(LineReader& line) {
    std::string_view word = line.Word("a word");
    if (word == "suf" && !head)
      Head(line);
    else if (word == "piece" && head)
      APiece(line);
    else if (word == "poly" && head)
      APoly(line);
    else if (word == "table" && head)
      ATable(line);
    else if (word == "run" && head)
      ARun(line);
    else if (word == "end" && head && !ended) {
      ended = true;
      f.end = line.Unsigned("the end of the last piece");
      Met(line, f.end);
    } else if (word == "formula" && head)
      AFormula(line);
    else if (word == "channel" && head)
      AChannel(line);
    else
      line.FailLacking(head ? "one of piece, poly, run, table, formula, channel, and end once"
                            : "the head 'suf <name> ..'");
  }
};

void WantReadable(std::string_view text) {
  if (text.size() > kMostText)
    Fail(Cause::kInput, "a function's text has ", text.size(), " bytes; ", kMostText, " are the most that is read");
}

// The parser of a Split, with the items read so far.
struct SplitParser {
  Split f;
  bool head = false, high = false, low = false, ended = false;

  void Head(LineReader& line) {
    head = true;
    f.name = line.Word("a name");
    line.Keyword("domain");
    f.n = line.Small("a number of bits", 64);
    line.Keyword("ring");
    f.ring = line.Small("a number of bits", 64);
    if (f.ring < 1) line.FailLacking("a ring of 1 bit or more");
    f.kind = Split::Kind(line.OneOf(kSplits, "one of sum, product"));
    f.a = line.Small("a number of low bits", 64);
    if (f.kind == Split::kSum) f.c = line.Small("where the slope's bits begin", 64);
  }

  void Item(LineReader& line) {
    std::string_view word = line.Word("a word");
    auto values = [&](std::vector<uint64_t>& v) {
      while (line.HasWord()) {
        line.CheckCount(v.size() + 1, kMostPieces, "values of a table");
        v.push_back(line.Coefficient(f.ring, "a value of a table"));
      }
    };
    if (word == "split" && !head)
      Head(line);
    else if (word == "high" && head && !high) {
      high = true;
      values(f.high);
    } else if (word == "low" && head && !low) {
      low = true;
      values(f.low);
    } else if (word == "end" && head && !ended)
      ended = true;
    else
      line.FailLacking(head ? "one of high, low and end, each once" : "the head 'split <name> ..'");
  }
};

Split ParseSplit(std::string_view text) {
  SplitParser p;
  const int lines = internal::ReadLines(text, [&](LineReader& line) { p.Item(line); });
  if (!p.ended) Fail(Cause::kInput, "the text of ", p.f.name, " lacks its end: write 'end' after line ", lines);
  Verify(p.f);
  return std::move(p.f);
}

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
      if (Valued(t)) s << " " << t.value;
      if (t.kind == Term::kIn) s << " " << t.upper;
    }
    s << "\n";
  }
  for (const OutputChannel& c : f.channels)
    s << "channel " << kChannels[c.kind] << " " << c.bits << " " << c.source << " " << c.name << "\n";
  return s.Take();
}

std::string Print(const Split& f) {
  Text s;
  s << "split " << f.name << " domain " << f.n << " ring " << f.ring << " " << kSplits[f.kind] << " " << f.a;
  if (f.kind == Split::kSum) s << " " << f.c;
  for (const auto* table : {&f.high, &f.low}) {
    s << (table == &f.high ? "\nhigh" : "\nlow");
    for (uint64_t v : *table) s << " " << ring::Signed(v, f.ring);
  }
  s << "\nend\n";
  return s.Take();
}

std::string Print(const Function& f) {
  return std::visit([](const auto& g) { return Print(g); }, f);
}

Function ParseFunction(std::string_view text) {
  WantReadable(text);
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    if (LineReader line(rest.substr(0, end), 0); line.HasWord()) {
      if (line.Word("a word") == "split") return ParseSplit(text);
      break;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return Parse(text);
}

Suf Parse(std::string_view text) {
  WantReadable(text);
  Parser p;
  const int lines = internal::ReadLines(text, [&](LineReader& line) { p.Item(line); });
  if (!p.head) Fail(Cause::kInput, "a function's text must begin with 'suf <name> domain ..'");
  if (!p.ended)
    Fail(Cause::kInput, "a function's text lacks its end: write 'end <where the last piece ends>' after line ", lines);
  if (p.run && p.due != p.f.end)
    Fail(Cause::kInput,
         "the last run of a function's text does not end where the function does; write the end after it");
  Verify(p.f);
  return std::move(p.f);
}

}  // namespace suf::func
