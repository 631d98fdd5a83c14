#include "apps/fn/curve.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <sstream>

#include "apps/draw.hpp"
#include "suf/base/error.hpp"

namespace suf::apps {

namespace {

constexpr int kRows = 14, kDotsX = 2, kDotsY = 4;
// The bit of the dot in column x, row y of a character, in Unicode's braille patterns.
constexpr int kDot[kDotsX][kDotsY] = {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}};

std::string Braille(int bits) {
  const int code = 0x2800 + bits;  // three bytes of UTF-8
  return {char(0xE0 | code >> 12), char(0x80 | (code >> 6 & 0x3F)), char(0x80 | (code & 0x3F))};
}

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;
};
Range RangeOf(const std::vector<Series>& lines) {
  Range r;
  for (const Series& l : lines)
    for (double v : l.y) {
      r.low = std::min(r.low, v);
      r.high = std::max(r.high, v);
    }
  if (!(r.low < r.high)) r = {r.low - 1, r.high + 1};
  return r;
}

std::string Padded(const std::string& s, size_t width) {
  return std::string(width - std::min(width, s.size()), ' ') + s;
}

}  // namespace

std::string Short(double v) {
  char b[32];
  std::snprintf(b, sizeof b, "%.6g", v);
  return b;
}

double MiddleOf(const Plot& p) { return p.octaves ? std::sqrt(p.low * p.high) : (p.low + p.high) / 2; }

std::string Curve(const Plot& p) {
  constexpr int kHeight = kRows * kDotsY;
  const Range r = RangeOf(p.lines);
  std::vector<std::vector<int>> cells(kRows, std::vector<int>(kColumns));
  auto dot = [&](int x, int y) { cells[size_t(y / kDotsY)][size_t(x / kDotsX)] |= kDot[x % kDotsX][y % kDotsY]; };
  auto row = [&](double v) {
    return std::clamp(int(std::lround((r.high - v) / (r.high - r.low) * (kHeight - 1))), 0, kHeight - 1);
  };
  for (const Series& l : p.lines)
    for (int x = 0; x < kSamples; ++x) {
      const auto at = [&](int i) { return l.y[size_t(i) * l.y.size() / kSamples]; };
      const int y = row(at(x)), before = x ? row(at(x - 1)) : y;
      dot(x, y);
      for (int k = std::min(before, y) + 1; k < std::max(before, y); ++k) dot(x, k);
    }
  size_t width = 0;
  for (double v : {r.low, r.high}) width = std::max(width, Short(v).size());
  for (const Series& l : p.strips) width = std::max(width, l.name.size());
  std::string out;
  for (int k = 0; k < kRows && !p.lines.empty(); ++k) {
    // the row of 0 has a label
    const bool zero = r.low < 0 && r.high > 0 && row(0) / kDotsY == k && k > 0 && k < kRows - 1;
    std::string line;
    for (int bits : cells[size_t(k)]) line += Braille(bits);
    const std::string label = k == 0 ? Short(r.high) : k == kRows - 1 ? Short(r.low) : zero ? "0" : "";
    out += Padded(label, width) + (label.empty() ? " │" : " ┤") + line + "\n";
  }
  for (const Series& l : p.strips) {
    out += Padded(l.name, width) + " │";
    for (int x = 0; x < kColumns; ++x) out += l.y[size_t(x) * l.y.size() / kColumns] != 0 ? "█" : "·";
    out += "\n";
  }
  out += Padded("", width) + " └";
  for (int x = 0; x < kColumns; ++x) out += x == 0 || x == kColumns - 1 || x == kColumns / 2 ? "┬" : "─";
  const std::string low = Short(p.low), middle = Short(MiddleOf(p)), high = Short(p.high);
  std::string labels(width + 2, ' ');
  labels += low;
  const size_t centre = width + 2 + kColumns / 2, end = width + 2 + kColumns;
  labels += std::string(std::max<size_t>(labels.size() + 1, centre - middle.size() / 2) - labels.size(), ' ') + middle;
  labels += std::string(std::max<size_t>(labels.size() + 1, end - high.size()) - labels.size(), ' ') + high;
  return out + "\n" + labels + (p.octaves ? "  (octaves of x)\n" : "\n");
}

std::string CurveSvg(const Plot& p) {
  constexpr int kWidth = 800, kHeight = 480, kLeft = 90, kEdge = 30, kStrip = 18;
  static const char* const kColours[] = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf"};
  const Range r = RangeOf(p.lines);
  const int strips = int(p.strips.size()) * kStrip, bottom = kHeight - kEdge - strips;
  auto x = [&](size_t i, size_t n) { return kLeft + double(i) * (kWidth - kLeft - kEdge) / double(n - 1); };
  auto y = [&](double v) { return kEdge + (r.high - v) / (r.high - r.low) * (bottom - kEdge); };
  std::ostringstream s;
  s << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << kWidth << "\" height=\"" << kHeight
    << "\" viewBox=\"0 0 " << kWidth << " " << kHeight << "\" font-family=\"sans-serif\" font-size=\"12\">\n"
    << "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  auto text = [&](double at_x, double at_y, const char* anchor, const std::string& what) {
    s << "<text x=\"" << at_x << "\" y=\"" << at_y << "\" text-anchor=\"" << anchor << "\">" << Escaped(what)
      << "</text>\n";
  };
  auto rule = [&](double y0, const char* style) {
    s << "<path d=\"M" << kLeft << " " << y0 << " H" << kWidth - kEdge << "\" stroke=\"" << style << "\"/>\n";
  };
  rule(bottom, "#444");
  if (r.low < 0 && r.high > 0) {
    rule(y(0), "#ccc");
    text(kLeft - 8, y(0) + 4, "end", "0");
  }
  text(kLeft - 8, kEdge + 4, "end", Short(r.high));
  text(kLeft - 8, bottom, "end", Short(r.low));
  text(kLeft, kHeight - 8, "start", Short(p.low));
  text(kWidth - kEdge, kHeight - 8, "end", Short(p.high));
  text((kLeft + kWidth - kEdge) / 2, kHeight - 8, "middle", Short(MiddleOf(p)));
  for (size_t k = 0; k < p.lines.size(); ++k) {
    const Series& l = p.lines[k];
    const char* const colour = kColours[k % std::size(kColours)];
    s << "<polyline fill=\"none\" stroke=\"" << colour << "\" stroke-width=\"1.5\" points=\"";
    for (size_t i = 0; i < l.y.size(); ++i) s << x(i, l.y.size()) << "," << y(l.y[i]) << " ";
    s << "\"/>\n<text x=\"" << kLeft + 10 + 90 * k << "\" y=\"18\" fill=\"" << colour << "\">" << Escaped(l.name)
      << "</text>\n";
  }
  for (size_t k = 0; k < p.strips.size(); ++k) {
    const Series& l = p.strips[k];
    const int top = bottom + 6 + int(k) * kStrip;
    text(kLeft - 8, top + 10, "end", l.name);
    for (size_t i = 0; i + 1 < l.y.size();) {
      size_t end = i;
      while (end + 1 < l.y.size() && (l.y[end] != 0) == (l.y[i] != 0)) ++end;
      if (l.y[i] != 0)
        s << "<rect x=\"" << x(i, l.y.size()) << "\" y=\"" << top << "\" width=\""
          << x(end, l.y.size()) - x(i, l.y.size()) << "\" height=\"" << kStrip - 6 << "\" fill=\"#555\"/>\n";
      i = end;
    }
  }
  s << "</svg>\n";
  return s.str();
}

}  // namespace suf::apps
