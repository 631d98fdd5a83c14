#include "apps/show.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <utility>

#include "apps/log.hpp"
#include "suf/base/error.hpp"
#include "suf/base/printable.hpp"
#include "suf/model/vocabulary.hpp"

namespace suf::apps {

Bar::Bar(std::string title) : title_(std::move(title)), terminal_(isatty(2)) {}

Bar::~Bar() { Clear(); }

void Bar::Clear() {
  if (std::exchange(shown_, false)) std::cerr << "\r\033[K" << std::flush;
}

void Stages::At(double done, const std::string& what) {
  if (bar_.terminal())
    bar_.At(done, what);
  else if (std::exchange(last_, what) != what)
    log::Info(Str(command_, ": ", what));
}

void Bar::At(double done, const std::string& what) {
  auto now = std::chrono::steady_clock::now();
  if (!terminal_ || (shown_ && done < 1 && now - last_ < std::chrono::milliseconds(50))) return;
  last_ = now, shown_ = true;
  int full = int(std::clamp(done, 0.0, 1.0) * 30);
  std::cerr << "\r\033[K" << title_ << " [" << std::string(size_t(full), '=') << std::string(size_t(30 - full), ' ')
            << "] " << int(done * 100) << " %  " << Printable(what) << std::flush;
}

namespace {

// Columns of UTF-8 text, one per code point.
size_t Width(const std::string& s) {
  return size_t(std::count_if(s.begin(), s.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

std::string Table(std::vector<std::vector<std::string>> rows) {
  for (auto& r : rows)
    for (std::string& cell : r) cell = Printable(cell);
  std::vector<size_t> width;
  for (auto& r : rows)
    for (size_t c = 0; c < r.size(); ++c) {
      if (width.size() <= c) width.push_back(0);
      width[c] = std::max(width[c], Width(r[c]));
    }
  std::string out;
  for (size_t k = 0; k < rows.size(); ++k) {
    std::string line;
    for (size_t c = 0; c < rows[k].size(); ++c) {
      std::string pad(width[c] - Width(rows[k][c]), ' ');
      line += (c ? "  " : "") + (c == 0 ? rows[k][c] + pad : pad + rows[k][c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
    if (k == 0) {
      size_t total = 0;
      for (size_t w : width) total += w + 2;
      out += std::string(total - 2, '-') + "\n";
    }
  }
  return out;
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

std::string Fixed(double v, int digits) {
  char b[64];
  std::snprintf(b, sizeof b, "%.*f", digits, v);
  return b;
}

std::string VocabularyOf(const Hash& sha256) {
  const std::string_view name = model::KnownVocabulary(sha256);
  return Str("vocabulary SHA-256 ", Hex(sha256), ": ",
             name.empty() ? "not a known one; ask the model owner where it comes from, and compare (docs/operations.md)"
                          : Str("that of ", name));
}

double PeakRss(int pid) {
  std::ifstream in(pid ? Str("/proc/", pid, "/status") : std::string("/proc/self/status"));
  for (std::string line; std::getline(in, line);)
    if (line.rfind("VmHWM:", 0) == 0) return std::stod(line.substr(6)) / 1e3 * 1.024;
  return 0;
}

}  // namespace suf::apps
