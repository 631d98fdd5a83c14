// Draws curves: as dots of braille in the terminal, or as lines in SVG. The caller chooses the samples.
#pragma once
#include <string>
#include <vector>

namespace suf::apps {

// A named line: values at equal steps of x over the whole width.
struct Series {
  std::string name;
  std::vector<double> y;
};
// Lines that share a scale, and strips of on and off below them.
struct Plot {
  double low = 0, high = 1;  // range of x
  bool octaves = false;      // equal steps of log x; low > 0
  std::vector<Series> lines;
  std::vector<Series> strips;  // not 0: on
};

// Columns of the terminal form, and the samples of a line that fill them.
inline constexpr int kColumns = 64, kSamples = 2 * kColumns;

// Draws a plot as 14 rows of kColumns characters between labelled axes.
std::string Curve(const Plot& p);
// Draws a plot as SVG of 800 x 480.
std::string CurveSvg(const Plot& p);
// Returns the x in the middle of the plot.
double MiddleOf(const Plot& p);
// Formats a number with at most 6 significant digits.
std::string Short(double v);

}  // namespace suf::apps
