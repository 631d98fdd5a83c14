#include "apps/screen.hpp"

#include <locale.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cwchar>
#include <iostream>
#include <mutex>
#include <streambuf>
#include <utility>

namespace suf::apps::screen {

namespace {

constexpr size_t kUsual = 80;  // columns of a terminal that does not report its width

// The one line of progress. Never destroyed, because signals may come late.
struct Line {
  std::mutex m;
  std::string text;    // to be shown; empty: none
  bool shown = false;  // whether it is on the screen
};
Line& TheLine() {
  static Line* const line = new Line;
  return *line;
}

void Put(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(STDERR_FILENO, bytes.data(), bytes.size());
    if (n <= 0) return;
    bytes.remove_prefix(size_t(n));
  }
}

void Erase(Line& line) {
  if (std::exchange(line.shown, false)) Put("\r\033[K");
}

void Draw(Line& line) {
  const size_t columns = Columns(STDERR_FILENO);
  if (columns < 2 || line.text.empty()) return Erase(line);
  // the last column stays free: some terminals wrap there
  Put("\r\033[K" + Clip(line.text, columns - 1));
  line.shown = true;
}

// Returns the code point that begins at s[at], and advances `at` behind it.
wchar_t Next(std::string_view s, size_t* at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char first = byte((*at)++);
  if (first < 0x80) return wchar_t(first);
  const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
  auto code = wchar_t(first & (0x3F >> more));
  for (int i = 0; i < more && *at < s.size() && (byte(*at) & 0xC0) == 0x80; ++i)
    code = wchar_t(code << 6 | (byte((*at)++) & 0x3F));
  return code;
}

// Returns the columns of the code point that begins at s[at], and advances `at` behind it.
size_t Step(std::string_view s, size_t* at) {
  if (static_cast<unsigned char>(s[*at]) < 0x80) {
    ++*at;
    return 1;
  }
  static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  const wchar_t code = Next(s, at);
  if (!utf8) return 1;
  const locale_t before = uselocale(utf8);
  const int columns = wcwidth(code);
  uselocale(before);
  return columns < 0 ? 1 : size_t(columns);
}

// Returns the number of bytes of the text that fit.
size_t Fitting(std::string_view text, size_t columns) {
  size_t at = 0;
  for (size_t used = 0; at < text.size();) {
    size_t next = at;
    used += Step(text, &next);
    if (used > columns) break;
    at = next;
  }
  return at;
}

// Returns the indent of the pieces after the first.
size_t IndentOf(const std::string& line, size_t columns) {
  const size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const size_t gap = line.find("  ", begin);
  const size_t second = gap == line.npos ? line.npos : line.find_first_not_of(' ', gap);
  if (second != line.npos && Width(line.substr(0, second)) <= columns / 2) return Width(line.substr(0, second));
  return std::min(begin + 2, columns / 2);
}

}  // namespace

size_t Columns(int fd) {
  if (!isatty(fd)) return 0;
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : kUsual;
}

size_t Width(std::string_view text) {
  size_t columns = 0;
  for (size_t at = 0; at < text.size();) columns += Step(text, &at);
  return columns;
}

std::string Clip(const std::string& text, size_t columns) {
  if (Width(text) <= columns) return text;
  return columns <= 2 ? text.substr(0, Fitting(text, columns)) : text.substr(0, Fitting(text, columns - 2)) + "..";
}

std::string Fold(const std::string& line, size_t columns) {
  if (!columns || Width(line) <= columns || line.starts_with('{') || line.starts_with('[')) return line;
  const std::string indent(IndentOf(line, columns), ' ');
  std::string out, rest = line;
  for (bool first = true;; first = false) {
    const size_t room = first ? columns : columns - indent.size();
    if (!first) out += "\n" + indent;
    if (Width(rest) <= room) return out + rest;
    const size_t fits = std::max<size_t>(Fitting(rest, room), 1);
    size_t cut = rest.rfind(' ', fits);
    if (cut == rest.npos || rest.find_first_not_of(' ') >= cut) cut = fits;  // one long word
    out += rest.substr(0, cut);
    out.erase(out.find_last_not_of(' ') + 1);
    rest.erase(0, std::min(rest.find_first_not_of(' ', cut), rest.size()));
  }
}

// Collects the text of a stream, and writes whole lines.
class ScreenStreams::Folding : public std::streambuf {
 public:
  Folding(std::ostream& stream, int fd) : stream_(stream), fd_(fd), under_(stream.rdbuf(this)) {}
  ~Folding() override {
    sync();
    stream_.rdbuf(under_);
  }

 protected:
  int overflow(int c) override {
    if (c == traits_type::eof()) return traits_type::not_eof(c);
    const char one = char(c);
    return xsputn(&one, 1) == 1 ? c : traits_type::eof();
  }
  std::streamsize xsputn(const char* s, std::streamsize n) override {
    const std::lock_guard lock(TheLine().m);
    for (std::streamsize i = 0; i < n; ++i) {
      if (s[i] != '\n') {
        line_ += s[i];
      } else if (!Emit(Fold(std::exchange(line_, {}), std::exchange(begun_, false) ? 0 : Columns(fd_)) + "\n")) {
        return i;
      }
    }
    return n;
  }
  int sync() override {
    const std::lock_guard lock(TheLine().m);
    if (!line_.empty()) begun_ = true;  // the line continues
    return Emit(std::exchange(line_, {})) ? 0 : -1;
  }

 private:
  bool Emit(const std::string& text) {
    if (text.empty()) return under_->pubsync() == 0;
    Line& line = TheLine();
    Erase(line);
    const bool good = under_->sputn(text.data(), std::streamsize(text.size())) == std::streamsize(text.size()) &&
                      under_->pubsync() == 0;
    if (text.back() == '\n') Draw(line);
    return good;
  }
  std::ostream& stream_;
  const int fd_;
  std::streambuf* const under_;
  std::string line_;
  bool begun_ = false;
};

ScreenStreams::ScreenStreams() {
  if (isatty(STDOUT_FILENO)) out_ = std::make_unique<Folding>(std::cout, STDOUT_FILENO);
  if (isatty(STDERR_FILENO)) err_ = std::make_unique<Folding>(std::cerr, STDERR_FILENO);
}

ScreenStreams::~ScreenStreams() { Show({}); }

void Show(const std::string& text) {
  if (!isatty(STDERR_FILENO)) return;
  Line& line = TheLine();
  const std::lock_guard lock(line.m);
  line.text = text;
  Draw(line);
}

void Leave() noexcept {
  Line& line = TheLine();
  const std::unique_lock lock(line.m, std::try_to_lock);
  if (lock) {
    line.text.clear();
    Erase(line);
  }
}

}  // namespace suf::apps::screen
