// Parts of all text forms: a writer of words and numbers, and a reader of one line, word by word.
#pragma once
#include <charconv>
#include <string>
#include <string_view>

#include "suf/func/suf.hpp"
#include "suf/ring/modular.hpp"

namespace suf::func::internal {

// A string that grows by words and numbers.
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

inline bool Blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// The words of one line, read in turn.
class LineReader {
 public:
  LineReader(std::string_view text, int number) : at_(text.data()), end_(at_ + text.size()), number_(number) {}
  // Throws Cause::kInput: the line lacks `wanted`.
  template <class... T>
  [[noreturn]] void FailLacking(const T&... wanted) const {
    Fail(Cause::kInput, "line ", number_, " of a function's text lacks ", wanted...);
  }
  // Throws Cause::kInput if there are more than `most` of `what`.
  void CheckCount(size_t count, size_t most, const char* what) const {
    if (count > most)
      Fail(Cause::kInput, "line ", number_, " of a function's text holds more than ", most, " ", what,
           "; split the function");
  }
  // Returns whether a word follows. A word that begins with # begins a comment up to the end of the line.
  bool HasWord() {
    while (at_ != end_ && Blank(*at_)) ++at_;
    if (at_ != end_ && *at_ == '#') at_ = end_;
    return at_ != end_;
  }
  std::string_view Word(const char* wanted) {
    if (!HasWord()) FailLacking(wanted);
    const char* begin = at_;
    while (at_ != end_ && !Blank(*at_)) ++at_;
    return {begin, size_t(at_ - begin)};
  }
  void Keyword(std::string_view word) {
    if (Word("a word") != word) FailLacking("the word '", word, "'");
  }
  // Reads the next word if it is the character c; returns whether it is.
  bool TakeSign(char c) {
    if (!HasWord() || *at_ != c || (at_ + 1 != end_ && !Blank(at_[1]))) return false;
    ++at_;
    return true;
  }
  U128 Unsigned(const char* wanted) {
    std::string_view w = Word(wanted);
    U128 v = 0;
    if (w.size() > 20) FailLacking(wanted);
    for (char c : w) {
      if (c < '0' || c > '9') FailLacking(wanted);
      v = v * 10 + U128(c - '0');
    }
    return v;
  }
  // Returns the number of the line in the text.
  int Number() const { return number_; }
  int Small(const char* wanted, int most) {
    U128 v = Unsigned(wanted);
    if (v > U128(most)) FailLacking(wanted, ", at most ", most);
    return int(v);
  }
  uint64_t Coefficient(int ring, const char* wanted = "a coefficient") {
    if (!HasWord()) FailLacking(wanted);
    const bool minus = *at_ == '-';
    uint64_t v = 0;
    auto [end, code] = std::from_chars(at_ + minus, end_, v);
    if (code == std::errc::result_out_of_range) FailLacking(wanted, " of at most 64 bits");
    if (code != std::errc{} || (end != end_ && !Blank(*end))) FailLacking(wanted);
    at_ = end;
    return (minus ? 0 - v : v) & ring::Mask(ring);
  }
  template <size_t N>
  int OneOf(const char* const (&names)[N], const char* wanted) {
    std::string_view w = Word(wanted);
    for (size_t i = 0; i < N; ++i)
      if (w == names[i]) return int(i);
    FailLacking(wanted);
  }

 private:
  const char *at_, *end_;
  int number_;
};

// Calls item(line) for every line of `text` that has a word. Returns the number of lines.
template <class F>
int ReadLines(std::string_view text, F&& item) {
  int number = 0;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    LineReader line(text.substr(0, end), ++number);
    if (line.HasWord()) {
      item(line);
      if (line.HasWord()) line.FailLacking("an end: words are left over");
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return number;
}

}  // namespace suf::func::internal
