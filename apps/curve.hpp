// A curve for people: dots of braille in the terminal, a line as SVG. Not here: what is drawn.
#pragma once
#include <string>
#include <vector>

namespace suf::apps {

// Values at equal steps of x, over the whole width; the name stands beside it.
struct Series {
  std::string name;
  std::vector<double> y;
};
// Lines of one scale, and strips below them of what is on or off.
struct Plot {
  double low = 0, high = 1;  // of x
  bool octaves = false;      // equal steps of log x; low > 0
  std::vector<Series> lines;
  std::vector<Series> strips;  // not 0: on
};

// kColumns, kSamples: of the terminal form; samples of a line that fill it.
inline constexpr int kColumns = 64, kSamples = 2 * kColumns;

// 14 rows of kColumns characters between labelled axes.
std::string Curve(const Plot& p);
// The same as a drawing of 800 x 480.
std::string CurveSvg(const Plot& p);
// The x in the middle.
double MiddleOf(const Plot& p);
// A number in few characters, at most 6 digits.
std::string Short(double v);

}  // namespace suf::apps
