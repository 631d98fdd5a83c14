#include "apps/show.hpp"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "apps/log.hpp"
#include "apps/screen.hpp"
#include "suf/base/error.hpp"
#include "suf/base/printable.hpp"
#include "suf/model/vocabulary.hpp"

namespace suf::apps {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kOften = std::chrono::milliseconds(50), kRare = std::chrono::milliseconds(10'000),
               kWorthSaying = std::chrono::milliseconds(1'000);

std::string Joined(const std::vector<std::string>& all) {
  std::string out;
  for (const std::string& s : all) out += (out.empty() ? "" : ", ") + s;
  return out;
}

// Returns title, bar, percent and step; a narrow terminal has a short bar, or none.
std::string BarText(const std::string& title, double done, const std::string& what, size_t columns) {
  const double part = std::clamp(done, 0.0, 1.0);
  const size_t bar = columns >= 70 ? 30 : columns >= 36 ? 10 : 0, full = size_t(part * double(bar));
  return Str(title, " ", bar ? Str("[", std::string(full, '='), std::string(bar - full, ' '), "] ") : "",
             int(part * 100), " %  ", Printable(what));
}

}  // namespace

// Logs the progress of a phase every ten seconds, with the elapsed time.
struct Bar::Ticker {
  std::mutex m;
  std::condition_variable_any over;
  std::string line;
  const Clock::time_point since = Clock::now();
  std::jthread thread{[this](std::stop_token stop) {
    std::unique_lock l(m);
    while (!over.wait_for(l, stop, kRare, [] { return false; }) && !stop.stop_requested())
      log::Info(Str(line, ", ", std::chrono::round<std::chrono::seconds>(Clock::now() - since).count(), " s"));
  }};
};

Bar::Bar(std::string title, Log log)
    : title_(std::move(title)), log_(log), terminal_(screen::Columns(STDERR_FILENO) > 0) {}

Bar::~Bar() { Clear(); }

void Bar::Clear() {
  const std::lock_guard lock(m_);
  if (!std::exchange(begun_, false)) return;
  if (terminal_) return screen::Show({});
  ticker_.reset();
  const auto took = Clock::now() - since_;
  if (log_ == Log::kSteps && took >= kWorthSaying)
    log::Info(Str(title_, ": took ", Fixed(std::chrono::duration<double>(took).count(), 1), " s"));
}

void Bar::At(double done, const std::string& what, const std::string& of) {
  const std::lock_guard lock(m_);
  const auto now = Clock::now();
  const bool first = !std::exchange(begun_, true);
  if (first) since_ = now;
  if (terminal_) {
    if (!first && done < 1 && now - last_ < kOften) return;
    last_ = now;
    return screen::Show(BarText(of.empty() ? title_ : of, done, what, screen::Columns(STDERR_FILENO)));
  }
  if (log_ == Log::kSteps && (first || what != what_)) log::Info(Str(title_, ": ", of, of.empty() ? "" : ", ", what));
  what_ = what;
  if (!first && now - last_ < kOften) return;
  last_ = now;
  if (!ticker_) ticker_ = std::make_unique<Ticker>();
  const std::lock_guard line(ticker_->m);
  ticker_->line =
      Str(title_, ": ", of, of.empty() ? "" : ", ", what, ", ", int(std::clamp(done, 0.0, 1.0) * 100), " %");
}

namespace {

// Makes all cells safe for a terminal, because some hold texts of others.
PrintedRows PrintableRows(PrintedRows rows) {
  for (auto& r : rows)
    for (std::string& cell : r) cell = Printable(cell);
  return rows;
}

std::vector<size_t> WidthsOf(const PrintedRows& rows) {
  std::vector<size_t> width;
  for (auto& r : rows)
    for (size_t c = 0; c < r.size(); ++c) {
      if (width.size() <= c) width.push_back(0);
      width[c] = std::max(width[c], screen::Width(r[c]));
    }
  return width;
}

size_t Total(const std::vector<size_t>& widths) {
  size_t total = 0;
  for (size_t w : widths) total += w + 2;
  return total ? total - 2 : 0;
}

// Removes columns of `drop`, from its first on, until the table fits; returns the removed ones.
std::vector<std::string> Narrow(PrintedRows* rows, const std::vector<std::string>& drop, size_t columns) {
  std::vector<std::string> gone;
  for (auto name = drop.begin(); name != drop.end() && columns && Total(WidthsOf(*rows)) > columns; ++name) {
    const auto at = std::find(rows->front().begin(), rows->front().end(), *name);
    if (at == rows->front().end()) continue;
    const auto c = at - rows->front().begin();
    for (auto& r : *rows)
      if (ssize_t(r.size()) > c) r.erase(r.begin() + c);
    gone.push_back(*name);
  }
  return gone;
}

}  // namespace

std::string Table(const PrintedRows& all, const std::vector<std::string>& drop, size_t columns) {
  PrintedRows rows = PrintableRows(all);
  const std::vector<std::string> gone = Narrow(&rows, drop, columns);
  std::vector<size_t> width = WidthsOf(rows);
  if (const size_t total = Total(width); columns && total > columns && width[0] > 8)  // shortens names at last
    width[0] -= std::min(total - columns, width[0] - 8);
  std::string out;
  for (size_t k = 0; k < rows.size(); ++k) {
    std::string line;
    for (size_t c = 0; c < rows[k].size(); ++c) {
      const std::string cell = screen::Clip(rows[k][c], width[c]);
      std::string pad(width[c] - screen::Width(cell), ' ');
      line += (c ? "  " : "") + (c == 0 ? cell + pad : pad + cell);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
    if (k == 0) out += std::string(Total(width), '-') + "\n";
  }
  if (!gone.empty()) out += Str("not shown in ", columns, " columns: ", Joined(gone), "\n");
  return out;
}

std::string Table(const PrintedRows& rows, const std::vector<std::string>& drop) {
  return Table(rows, drop, screen::Columns(STDOUT_FILENO));
}

std::string Listing(const PrintedRows& all, const std::vector<std::string>& drop, size_t columns) {
  constexpr size_t kLeast = 24;  // least width of the last column
  PrintedRows rows = PrintableRows(all);
  const std::vector<std::string> gone = [&] {
    PrintedRows head;  // without the last column, which takes the remaining width
    for (auto& r : rows) head.push_back({r.begin(), r.end() - 1});
    const auto names = Narrow(&head, drop, columns > kLeast ? columns - kLeast - 2 : columns);
    for (size_t i = 0; i < rows.size(); ++i) head[i].push_back(rows[i].back());
    rows = std::move(head);
    return names;
  }();
  const std::vector<size_t> width = WidthsOf(rows);
  size_t before = 0;
  for (size_t c = 0; c + 1 < width.size(); ++c) before += width[c] + 2;
  const size_t room = columns > before + kLeast ? columns - before : kLeast;
  std::string out;
  for (auto& r : rows) {
    std::string line;
    for (size_t c = 0; c + 1 < r.size(); ++c) line += r[c] + std::string(width[c] + 2 - screen::Width(r[c]), ' ');
    std::string text = columns ? screen::Fold(r.back(), room) : r.back();
    for (size_t at = 0; (at = text.find('\n', at)) != text.npos;) {
      const size_t next = text.find_first_not_of(' ', at + 1);
      text.replace(at + 1, next - at - 1, std::string(before, ' '));
      at += before + 1;
    }
    out += line + text + "\n";
  }
  if (!gone.empty()) out += Str("not shown in ", columns, " columns: ", Joined(gone), "\n");
  return out;
}

std::string Listing(const PrintedRows& rows, const std::vector<std::string>& drop) {
  return Listing(rows, drop, screen::Columns(STDOUT_FILENO));
}

std::string Bytes10(int64_t bytes) {
  if (bytes < 1000) return Str(bytes, " B");
  if (bytes < 1000 * 1000) return Fixed(double(bytes) / 1e3, 1) + " kB";
  if (bytes < 1000ll * 1000 * 1000) return Fixed(double(bytes) / 1e6, 2) + " MB";
  return Fixed(double(bytes) / 1e9, 2) + " GB";
}

std::string Count10(int64_t n) {
  if (n < 1000) return Str(n);
  if (n < 1000 * 1000) return Fixed(double(n) / 1e3, 1) + " k";
  if (n < 1000ll * 1000 * 1000) return Fixed(double(n) / 1e6, 2) + " M";
  return Fixed(double(n) / 1e9, 2) + " G";
}

std::string Duration10(double seconds) {
  if (seconds < 1e-3) return Fixed(seconds * 1e6, 1) + " us";
  if (seconds < 1) return Fixed(seconds * 1e3, 2) + " ms";
  return Fixed(seconds, 2) + " s";
}

std::string Fixed(double v, int digits) {
  char b[64];
  std::snprintf(b, sizeof b, "%.*f", digits, v);
  return b;
}

std::string VocabularyOf(const Hash& sha256) {
  const std::string_view name = model::KnownVocabulary(sha256);
  return Str("vocabulary SHA-256 ", Hex(sha256), ": ",
             name.empty() ? "not a known one; ask the model owner for its origin, and compare (docs/operations.md)"
                          : Str("that of ", name));
}

std::string AboutOf(const nn::About& about) {
  static const char* const kResults[] = {"an embedding of norm 1", "an embedding that is not normalised",
                                         "the logits of a classifier", "the logits of the next token"};
  std::string s = about.texts == nn::TextForm::kPair ? "result: the score of a pair of texts"
                                                     : Str("result: ", kResults[int(about.result)]);
  if (about.texts == nn::TextForm::kEither) s += ", for a text or a pair";
  if (!about.similarity.empty()) s += Str("; compared by ", about.similarity);
  s += "\n";
  if (about.labels.size() > 1) s += Str("labels: ", Joined(about.labels), "\n");
  for (const nn::Prompt& p : about.prompts)
    s += Str("prompt ", p.name, p.name == about.default_prompt ? " (the default)" : "", ": ", Quoted(p.text), "\n");
  if (about.longest) s += Str("sentence-transformers cuts texts to ", Plural(about.longest, "token"), "\n");
  return s;
}

std::string FirstOf(const nlohmann::ordered_json& values, int digits) {
  constexpr size_t kShown = 3;
  std::string s;
  for (size_t i = 0; i < std::min(values.size(), kShown); ++i)
    s += (i ? " " : "") + (digits < 0 ? values[i].dump() : Fixed(values[i], digits));
  return values.size() > kShown ? s + " .. " + (digits < 0 ? values.back().dump() : Fixed(values.back(), digits)) : s;
}

double PeakRss(int pid) {
  std::ifstream in(pid ? Str("/proc/", pid, "/status") : std::string("/proc/self/status"));
  for (std::string line; std::getline(in, line);)
    if (line.rfind("VmHWM:", 0) == 0) return std::stod(line.substr(6)) / 1e3 * 1.024;
  return 0;
}

}  // namespace suf::apps
