// The text of compositions, both ways. A line has one statement. Blocks of functions are found first, so a statement
// can name a block below it. Columns count bytes.
#include <algorithm>
#include <map>

#include "suf/base/plural.hpp"
#include "suf/base/printable.hpp"
#include "suf/func/text.hpp"
#include "suf/gates/compose/place.hpp"
#include "suf/gates/plan_text.hpp"

namespace suf::gates {

namespace {

constexpr size_t kMostNameBytes = 64, kMostGateConstants = 1024, kMostAxes = 4;
// The most bytes of a statement without blanks, comment, constants in braces and quoted text. Print changes only those.
constexpr size_t kMostStatementBytes = 1024;
// The most numbers of all statements' functions, which bounds the memory of their copies.
constexpr size_t kMostFunctionNumbers = size_t{1} << 20;
constexpr int64_t kMostInRow = int64_t{1} << 26;
constexpr std::string_view kKeywords[] = {"input", "output", "outputs", "range", "mod"};

bool BeginsName(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool InName(char c) { return BeginsName(c) || IsDigit(c); }
bool IsName(std::string_view s) { return !s.empty() && BeginsName(s[0]) && std::all_of(s.begin(), s.end(), InName); }
bool IsKeyword(std::string_view s) {
  return std::find(std::begin(kKeywords), std::end(kKeywords), s) != std::end(kKeywords);
}

// Returns the number that a token spells, if it spells one. Digits after the first 30 or so are dropped.
std::optional<Bound> WholeOf(std::string_view token) {
  const bool minus = token.starts_with('-');
  if (minus) token.remove_prefix(1);
  if (token.empty() || !std::all_of(token.begin(), token.end(), IsDigit)) return {};
  Bound v = 0;
  for (char c : token)
    if (v < Bound{1} << 96) v = 10 * v + (c - '0');
  return minus ? -v : v;
}

// Returns "a, b or c", with a dozen names at most.
std::string Alternatives(const std::vector<std::string>& names) {
  constexpr size_t kShown = 12;
  const size_t shown = std::min(names.size(), kShown);
  std::string out;
  for (size_t i = 0; i < shown; ++i) out += (i == 0 ? "" : i + 1 < names.size() ? ", " : " or ") + names[i];
  return shown < names.size() ? Str(out, " or ", names.size() - shown, " more") : out;
}

template <class... T>
[[noreturn]] void FailAt(TextPlace at, const std::string& found, const T&... allowed) {
  Fail(Cause::kInput, Where(at), "found ", found, "; allowed: ", allowed...);
}

// The tokens of one line, read in turn: names, whole numbers, quoted texts and signs. A # begins a comment.
class StatementReader {
 public:
  StatementReader(std::string_view text, int line) : text_(text), line_(line) { Skip(); }

  // Returns the place of the next token.
  TextPlace place() const { return {line_, int(at_) + 1}; }
  bool AtEnd() const { return at_ == text_.size(); }
  // Returns the next token; it is empty at the end. A quoted text without an end goes up to the end of the line.
  std::string_view Peek() const { return TokenAt(at_); }
  // Returns whether a parameter follows: a name and the sign =.
  bool SeesParameter() const {
    const std::string_view name = Peek();
    return IsName(name) && TokenAt(Blanks(at_ + name.size())) == "=";
  }
  std::string_view Take() {
    const std::string_view token = Peek();
    if (token == "}") in_braces_ = false;
    if (!in_braces_ && !token.starts_with('"')) Count(token.size());
    if (token == "{") in_braces_ = true;
    at_ += token.size();
    Skip();
    return token;
  }
  // Takes the next token if it is `token`; returns whether it is.
  bool TakeIf(std::string_view token) {
    if (AtEnd() || Peek() != token) return false;
    Take();
    return true;
  }
  template <class... T>
  [[noreturn]] void FailHere(const T&... allowed) const {
    FailAt(place(), AtEnd() ? "the end of the line" : Quoted(Peek()), allowed...);
  }

  void Expect(std::string_view token) {
    if (!TakeIf(token)) FailHere("'", token, "'");
  }
  void ExpectEnd(const std::string& allowed = "the end of the line") const {
    if (!AtEnd()) FailHere(allowed);
  }
  PlacedName Name(const std::string& allowed) {
    const TextPlace at = place();
    const std::string_view name = Peek();
    if (!IsName(name)) FailHere(allowed);
    if (name.size() > kMostNameBytes)
      FailAt(at, Str("the name ", Quoted(name), " of ", name.size(), " characters"), "at most ", kMostNameBytes);
    if (IsKeyword(name)) FailAt(at, "the keyword " + Quoted(name), allowed);
    Take();
    return {std::string(name), at};
  }
  Bound Whole(Bound low, Bound high, const std::string& what = "a whole number", const std::string& why = "") {
    const std::optional<Bound> v = WholeOf(Peek());
    if (!v || *v < low || *v > high) FailHere(what, " from ", Decimal(low), " to ", Decimal(high), why);
    Take();
    return *v;
  }
  // Returns the arguments of a library function without blanks, "(-1,1)", or nothing.
  std::string NumbersInParentheses() {
    if (Peek() != "(") return {};
    const size_t end = text_.find_first_not_of("0123456789+-.,eE \t", at_ + 1);
    if (end == std::string_view::npos || text_[end] != ')') FailHere("numbers in parentheses, as in clamp(-1,1)");
    std::string out;
    for (char c : text_.substr(at_, end + 1 - at_))
      if (c != ' ' && c != '\t') out += c;
    Count(out.size());
    at_ = end + 1;
    Skip();
    return out;
  }

 private:
  size_t Blanks(size_t at) const {
    while (at < text_.size() && (text_[at] == ' ' || text_[at] == '\t')) ++at;
    return at < text_.size() && text_[at] == '#' ? text_.size() : at;
  }
  void Skip() { at_ = Blanks(at_); }
  std::string_view TokenAt(size_t at) const {
    const std::string_view rest = text_.substr(at);
    if (rest.empty()) return rest;
    size_t size = 1;
    if (InName(rest[0]) || (rest[0] == '-' && rest.size() > 1 && IsDigit(rest[1])))
      while (size < rest.size() && InName(rest[size])) ++size;
    else if (rest[0] == '"')
      size = std::min(rest.find('"', 1), rest.size() - 1) + 1;
    else if (rest.starts_with("->") || rest.starts_with(".."))
      size = 2;
    else  // one character
      while (size < rest.size() && (uint8_t(rest[size]) & 0xc0) == 0x80) ++size;
    return rest.substr(0, size);
  }
  void Count(size_t bytes) {
    bytes_ += bytes;
    if (bytes_ > kMostStatementBytes)
      FailAt(place(), Str("a statement of more than ", kMostStatementBytes, " characters"), "at most ",
             kMostStatementBytes, ", besides blanks, comments, constants in braces and quoted texts");
  }

  std::string_view text_;
  int line_;
  size_t at_ = 0, bytes_ = 0;
  bool in_braces_ = false;
};

// Throws Cause::kInput if a line has a character that a terminal does not show, other than a tab.
void CheckShown(std::string_view line, int number) {
  for (size_t i = 0; i < line.size();) {
    size_t size = 1;
    while (i + size < line.size() && (uint8_t(line[i + size]) & 0xc0) == 0x80) ++size;
    const bool is_plain = size == 1 && ((line[i] >= ' ' && line[i] <= '~') || line[i] == '\t');
    if (!is_plain && !IsPrintable(line.substr(i, size)))
      FailAt({number, int(i) + 1}, "the character " + Quoted(line.substr(i, size)),
             "visible characters, blanks and tabs");
    i += size;
  }
}

// Returns whether a line assigns `name`, without an error if it is no statement.
bool Assigns(std::string_view line, std::string_view name) {
  const size_t end = line.find_first_of("=#(");
  if (end == std::string_view::npos || line[end] != '=') return false;
  StatementReader left(line.substr(0, std::min(end, kMostStatementBytes)), 0);
  while (!left.AtEnd())
    if (left.Take() == name) return true;
  return false;
}

// Returns the amount of numbers, terms and channels of a function, which bounds its memory.
size_t SizeOf(const func::Function& f) {
  if (const auto* s = std::get_if<func::Split>(&f)) return s->high.size() + s->low.size();
  const auto& g = std::get<func::Suf>(f);
  size_t size = g.pieces.size() * size_t(g.outputs) * size_t(g.degree + 1) + g.channels.size();
  for (const func::Formula& terms : g.formulas) size += terms.size();
  return size;
}

// Returns "select(b, v)".
std::string CallForm(const GateFacts& facts) {
  std::string out;
  auto add = [&](const std::string& part) { out += (out.empty() ? "" : ", ") + part; };
  for (const GatePort& p : facts.inputs) add(p.name);
  if (facts.takes_function) add("a function");
  if (facts.takes_constants) add("constants");
  return facts.name + "(" + out + ")";
}

// The parser of one text.
class CompositionParser {
 public:
  explicit CompositionParser(std::string_view text) { Divide(text); }

  CompositionText Read() {
    for (; at_ < lines_.size(); ++at_) Statement();
    for (const auto& [name, block] : blocks_)
      if (!block.function)
        FailAt(block.place, "the function " + Quoted(name) + ", which no statement reads", "functions of statements");
    return std::move(out_);
  }

 private:
  struct SourceLine {
    std::string_view text;
    int number = 0;
  };
  struct FunctionBlock {
    TextPlace place;
    std::string_view text;
    std::optional<func::Function> function;  // once a statement reads it
  };

  // Finds the lines with statements, and the blocks of functions.
  void Divide(std::string_view text) {
    if (text.size() > kMostCompositionText)
      FailAt({1, 1}, Str("a text of ", text.size(), " bytes"), "at most ", kMostCompositionText);
    FunctionBlock* block = nullptr;
    size_t begin = 0, next = 0;  // begin: of the block's lines
    for (int number = 1; next < text.size(); ++number) {
      const size_t here = next, end = std::min(text.find('\n', here), text.size());
      next = std::min(end + 1, text.size());
      std::string_view line = text.substr(here, end - here);
      if (line.ends_with('\r')) line.remove_suffix(1);
      CheckShown(line, number);
      StatementReader words(line, number);
      if (block) {
        if (!words.TakeIf("end") || !words.TakeIf("function")) continue;
        words.ExpectEnd();
        block->text = text.substr(begin, here - begin);
        block = nullptr;
      } else if (FunctionBlock* opened = Opened(words)) {
        block = opened;
        begin = next;
      } else if (StatementReader all(line, number); !all.AtEnd()) {
        if (lines_.size() == kMostStatements)
          FailAt(all.place(), Str("more than ", kMostStatements, " statements"), "at most ", kMostStatements);
        lines_.push_back({line, number});
      }
    }
    if (block) FailAt(block->place, "a function without an end", "the line 'end function' after its lines");
  }

  // Returns a new block if the line is the head of one: `function NAME`.
  FunctionBlock* Opened(StatementReader& words) {
    const TextPlace place = words.place();
    if (!words.TakeIf("function") || !IsName(words.Peek())) return nullptr;
    const PlacedName name = words.Name("the name of a function");
    words.ExpectEnd();
    const auto [it, is_new] = blocks_.emplace(name.name, FunctionBlock{place, {}, {}});
    if (!is_new)
      FailAt(name.place, Str(Quoted(name.name), ", which line ", it->second.place.line, " begins"),
             "another name for a function");
    return &it->second;
  }

  void Statement() {
    StatementReader line(lines_[at_].text, lines_[at_].number);
    if (line.TakeIf("output")) return Output(line);
    std::vector<PlacedName> names;
    do {
      if (names.size() == kMostPorts) line.FailHere("at most ", kMostPorts, " names of one statement");
      names.push_back(NewName(line, names));
    } while (line.TakeIf(","));
    if (!line.TakeIf("=")) line.FailHere("',' or '='");
    if (line.TakeIf("input"))
      Input(line, names);
    else
      Gate(line, names);
    for (const PlacedName& n : names) assigned_.emplace(n.name, n.place.line);
  }

  PlacedName NewName(StatementReader& line, const std::vector<PlacedName>& others) {
    PlacedName n = line.Name("NAME = input .., NAMES = gate(..) or output NAME -> ..; a NAME is no keyword");
    int assigned = 0;
    if (const auto it = assigned_.find(n.name); it != assigned_.end()) assigned = it->second;
    for (const PlacedName& other : others)
      if (other.name == n.name) assigned = n.place.line;
    if (assigned) FailAt(n.place, Str(Quoted(n.name), ", which line ", assigned, " assigns already"), "a new name");
    return n;
  }

  // Reads the name of a value that a line above assigns.
  PlacedName Value(StatementReader& line, const std::string& allowed) {
    PlacedName n = line.Name(allowed);
    if (assigned_.contains(n.name)) return n;
    for (size_t i = at_; i < lines_.size(); ++i)
      if (Assigns(lines_[i].text, n.name))
        FailAt(n.place, Str(Quoted(n.name), ", which is assigned later, in line ", lines_[i].number),
               "values that a line above assigns");
    std::vector<std::string> known;
    for (const auto& [name, number] : assigned_) known.push_back(name);
    FailAt(n.place, Quoted(n.name) + ", which no line assigns", "values that a line above assigns",
           known.empty() ? "" : ", such as ", Alternatives(known));
  }

  // Reads the name of one of the first `count` values of an enumeration.
  template <class T>
  static T Named(StatementReader& line, int count) {
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) {
      names.emplace_back(gates::Name(T(i)));
      if (line.TakeIf(names.back())) return T(i);
    }
    line.FailHere(Alternatives(names));
  }

  void Output(StatementReader& line) {
    OutputStatement s;
    s.name = Value(line, "the name of a value");
    line.Expect("->");
    s.to = Named<To>(line, 4);
    line.ExpectEnd();
    out_.outputs.push_back(std::move(s));
  }

  void Input(StatementReader& line, const std::vector<PlacedName>& names) {
    if (names.size() > 1) FailAt(names[1].place, Quoted(names[1].name), "one name of an input");
    InputStatement s{names[0], Named<Origin>(line, 3), {}};
    if (line.TakeIf("bit")) {
      s.type = BitOf({});
    } else if (line.TakeIf("mask")) {
      s.type = MaskOf(int(line.Whole(2, 64)), {});
    } else {
      if (!WholeOf(line.Peek())) line.FailHere("BITS:SCALE, BITS:SCALE:u, bit or mask BITS");
      const int bits = int(line.Whole(1, 64));
      line.Expect(":");
      const int scale = int(line.Whole(-64, 64));
      const bool is_unsigned = line.TakeIf(":");
      if (is_unsigned) line.Expect("u");
      s.type = WholeNumber(bits, scale, !is_unsigned, {});
    }
    const bool shaped = line.Peek() == "[";
    s.type.shape = Dimensions(line);
    std::string rest = shaped ? "" : "a shape, as in [n, 16], ";
    if (s.type.kind == ValueKind::kNumber && s.from != Origin::kShared) {
      if (line.TakeIf("range")) {
        s.type.low = line.Whole(s.type.low, s.type.high);
        line.Expect("..");
        s.type.high = line.Whole(s.type.low, s.type.high);
        rest = "";
      } else {
        rest += "range LOW..HIGH ";
      }
    }
    if (s.from == Origin::kShared && line.Peek() == "range")
      line.FailHere("a shared input without a range, because each party has a share of it only");
    line.ExpectEnd(rest.empty() ? "the end of the line" : rest + "or the end of the line");
    out_.inputs.push_back(std::move(s));
  }

  static pfss::Shape Dimensions(StatementReader& line) {
    pfss::Shape shape;
    if (!line.TakeIf("[")) return shape;
    int64_t in_row = 1;
    do {
      if (shape.size() == kMostAxes) line.FailHere("at most ", kMostAxes, " dimensions");
      const bool is_first = shape.empty();
      if (is_first && line.TakeIf("n")) {
        shape.push_back(kRows);
        continue;
      }
      const std::string why = in_row > 1 ? Str(", because a row has at most ", kMostInRow, " values")
                              : is_first ? ""
                                         : "; n is the first dimension only";
      shape.push_back(
          int64_t(line.Whole(1, kMostInRow / in_row, is_first ? "n or a whole number" : "a whole number", why)));
      in_row *= shape.back();
    } while (line.TakeIf(","));
    if (!line.TakeIf("]")) line.FailHere("',' or ']'");
    return shape;
  }

  void Gate(StatementReader& line, const std::vector<PlacedName>& names) {
    GateStatement s;
    s.names = names;
    s.gate = line.Name("input or the name of a gate");
    const GateFacts& facts = AtPlace(s.gate.place, [&]() -> const GateEntry& { return GateNamed(s.gate.name); }).facts;
    s.gate.name = facts.name;
    line.Expect("(");
    Arguments(line, facts, s);
    Outputs(line, facts, s);
    out_.gates.push_back(std::move(s));
  }

  // Reads arguments and parameters, up to the closing parenthesis.
  void Arguments(StatementReader& line, const GateFacts& facts, GateStatement& s) {
    const size_t values = facts.inputs.size(), all = values + facts.takes_function + facts.takes_constants;
    size_t at = 0;
    for (bool is_first = true; is_first || line.TakeIf(","); is_first = false) {
      if (is_first && line.Peek() == ")") break;
      if (line.SeesParameter())
        Parameter(line, facts, s);
      else if (at == all || !s.set.empty())
        line.FailHere(at == all ? CallForm(facts) + ", then parameter=value"
                                : "parameter=value after the first parameter");
      else if (at++ < values)
        Argument(line, facts, s);
      else if (at == values + 1 && facts.takes_function)
        Function(line, s);
      else
        Constants(line, s);
    }
    if (line.Peek() != ")") line.FailHere("',' or ')'");
    if (at < all) FailAt(line.place(), Str("\")\" after ", Plural(at, "argument")), CallForm(facts));
    line.Take();
  }

  void Argument(StatementReader& line, const GateFacts& facts, GateStatement& s) {
    const std::string allowed = "a value's name for each argument of " + CallForm(facts);
    if (!IsName(line.Peek())) line.FailHere(allowed);
    StatementReader after = line;
    after.Take();
    if (after.Peek() == "(")
      FailAt(line.place(), Quoted(std::string(line.Peek()) + "("), allowed, "; a gate inside needs a line of its own");
    s.arguments.push_back(Value(line, allowed));
  }

  static void Parameter(StatementReader& line, const GateFacts& facts, GateStatement& s) {
    const PlacedName name = line.Name("a parameter");
    for (const auto& [other, value] : s.set)
      if (other.name == name.name) FailAt(name.place, Quoted(name.name) + " twice", "one value of a parameter");
    line.Expect("=");
    std::string value(line.Peek());
    if (const std::optional<Bound> v = WholeOf(value); v && *v >= INT64_MIN && *v <= INT64_MAX) value = Decimal(*v);
    AtPlace(name.place, [&] { return ParameterValue(facts, name.name, value); });
    line.Take();
    s.set.emplace_back(name, std::move(value));
  }

  void Function(StatementReader& line, GateStatement& s) {
    const char* const allowed = "a path in quotation marks or a function of the library";
    const TextPlace place = line.place();
    std::string name(line.Peek());
    const bool is_quoted = name.starts_with('"');
    if (is_quoted) {
      if (name.size() < 3 || !name.ends_with('"')) line.FailHere(allowed);
      name = name.substr(1, name.size() - 2);
      line.Take();
    } else {
      name = line.Name(allowed).name;
      name += line.NumbersInParentheses();
    }
    s.function_name = name;
    s.quoted = is_quoted;
    const auto block = blocks_.find(name);
    if (block == blocks_.end()) return;
    s.function = FunctionOf(block->first, block->second);
    numbers_ += SizeOf(*s.function);
    if (numbers_ > kMostFunctionNumbers)
      FailAt(place, Str("functions of ", numbers_, " numbers up to this one"), "at most ", kMostFunctionNumbers,
             " in all statements");
  }

  static const func::Function& FunctionOf(const std::string& name, FunctionBlock& block) {
    if (!block.function) try {
        block.function = func::ParseFunction(block.text);
      } catch (const Error& e) {
        FailAt(block.place, Str("the function ", Quoted(name), " with this fault: ", e.what()),
               "the text of a function up to 'end function'");
      }
    return *block.function;
  }

  static void Constants(StatementReader& line, GateStatement& s) {
    const auto one = [&] { return int64_t(line.Whole(INT64_MIN, INT64_MAX)); };
    if (!line.TakeIf("{")) {
      if (!WholeOf(line.Peek())) line.FailHere("a whole number, or several as in {1, -2, 3}");
      s.constants.push_back(one());
      return;
    }
    do {
      if (s.constants.size() == kMostGateConstants) line.FailHere("at most ", kMostGateConstants, " constants");
      s.constants.push_back(one());
    } while (line.TakeIf(","));
    if (!line.TakeIf("}")) line.FailHere("',' or '}'");
  }

  // Reads the names of outputs. Those of a function are known later.
  static void Outputs(StatementReader& line, const GateFacts& facts, GateStatement& s) {
    std::vector<std::string> known;
    for (const GatePort& p : facts.outputs) known.push_back(p.name);
    const std::string allowed = "outputs of " + facts.name + ", such as " + Alternatives(known);
    if (!line.TakeIf("outputs")) {
      line.ExpectEnd("outputs NAMES or the end of the line");
      if (s.names.size() > 1)
        FailAt(s.names[1].place, Str(s.names.size(), " names without outputs"), "one name, or as many ", allowed);
      return;
    }
    do {
      const PlacedName n = line.Name(allowed);
      if (!facts.takes_function && std::find(known.begin(), known.end(), n.name) == known.end())
        FailAt(n.place, Quoted(n.name), allowed);
      for (const PlacedName& other : s.outputs)
        if (other.name == n.name) FailAt(n.place, Quoted(n.name) + " twice", "each output once");
      s.outputs.push_back(n);
    } while (line.TakeIf(","));
    line.ExpectEnd("',' or the end of the line");
    if (s.outputs.size() != s.names.size())
      FailAt(s.outputs[0].place, Plural(s.outputs.size(), "output"), s.names.size(), ", one for each name on the left");
  }

  std::vector<SourceLine> lines_;
  std::map<std::string, FunctionBlock> blocks_;
  size_t at_ = 0;                        // the current line of lines_
  size_t numbers_ = 0;                   // of the functions of all statements
  std::map<std::string, int> assigned_;  // the line of each value
  CompositionText out_;
};

// The functions of a text that is printed, each once, with a name of its own.
class FunctionBlocks {
 public:
  // Keeps a name that a statement reads from elsewhere.
  void Reserve(const std::string& name) { taken_.emplace(name, 0); }
  // Returns the name of the function's block.
  const std::string& NameOf(const func::Function& f) {
    const auto [it, is_new] = names_.emplace(func::Print(f), "");
    if (!is_new) return it->second;
    std::string base;
    for (char c : func::Name(f).substr(0, kMostNameBytes - 8)) base += InName(c) ? c : '_';
    if (!IsName(base)) base = "f" + base;
    it->second = base;
    while (IsKeyword(it->second) || !taken_.emplace(it->second, 0).second)
      it->second = Str(base, "_", ++taken_[base] + 1);
    order_.push_back(&*it);
    return it->second;
  }
  std::string Text() const {
    std::string out;
    for (const auto* f : order_) out += "function " + f->second + "\n" + f->first + "end function\n";
    return out;
  }

 private:
  std::map<std::string, std::string> names_;  // by text
  std::map<std::string, int> taken_;          // the names, and how many functions more wanted each
  std::vector<const std::pair<const std::string, std::string>*> order_;
};

std::string NamesText(const std::vector<PlacedName>& names) {
  std::string out;
  for (const PlacedName& n : names) out += (out.empty() ? "" : ", ") + n.name;
  return out;
}

std::string TypeText(const ValueType& t) {
  std::string out = t.kind == ValueKind::kBit    ? "bit"
                    : t.kind == ValueKind::kMask ? Str("mask ", t.bits)
                                                 : Str(t.bits, ":", t.scale, t.is_signed ? "" : ":u");
  if (!t.shape.empty()) out += " " + Name(t.shape);
  if (t.kind == ValueKind::kNumber && t != WholeNumber(t.bits, t.scale, t.is_signed, t.shape))
    out += " range " + Decimal(t.low) + ".." + Decimal(t.high);
  return out;
}

std::string GateText(const GateStatement& s, FunctionBlocks& functions) {
  std::string in = NamesText(s.arguments);
  auto add = [&](const std::string& part) { in += (in.empty() ? "" : ", ") + part; };
  if (s.function)
    add("\"" + functions.NameOf(*s.function) + "\"");
  else if (!s.function_name.empty())
    add(s.quoted ? "\"" + s.function_name + "\"" : s.function_name);
  if (s.constants.size() == 1) add(std::to_string(s.constants[0]));
  if (s.constants.size() > 1) {
    std::string list;
    for (int64_t v : s.constants) list += (list.empty() ? "{" : ", ") + std::to_string(v);
    add(list + "}");
  }
  for (const auto& [name, value] : s.set) add(name.name + "=" + value);
  return NamesText(s.names) + " = " + s.gate.name + "(" + in + ")" +
         (s.outputs.empty() ? "" : " outputs " + NamesText(s.outputs)) + "\n";
}

}  // namespace

CompositionText ParseComposition(std::string_view text) { return CompositionParser(text).Read(); }

std::string Print(const CompositionText& text) {
  std::string out;
  FunctionBlocks functions;
  for (const GateStatement& s : text.gates)
    if (!s.function) functions.Reserve(s.function_name);
  for (const InputStatement& s : text.inputs)
    out += s.name.name + " = input " + Name(s.from) + " " + TypeText(s.type) + "\n";
  for (const GateStatement& s : text.gates) out += GateText(s, functions);
  for (const OutputStatement& s : text.outputs) out += "output " + s.name.name + " -> " + Name(s.to) + "\n";
  out += functions.Text();
  if (out.size() > kMostCompositionText)
    Fail(Cause::kInput, "the composition's text has ", out.size(), " bytes with its functions, and at most ",
         kMostCompositionText, " are read; use functions of fewer pieces");
  return out;
}

}  // namespace suf::gates
