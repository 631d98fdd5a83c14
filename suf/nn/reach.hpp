// Abstract values: what the result of a node can reach for every sequence of token ids. A box, a ball, and images of
// balls under weights, so that two maps in a row (W_v and W_o of a head) are bounded together. A map reads the
// tightest.
#pragma once
#include "suf/nn/array.hpp"

namespace suf::nn {

// Coordinates [begin, begin + count) are y A and noise, with |y| <= radius; A is columns [column, column +
// count) of the weight "full" of a node. Every image has a y of its own.
struct Image {
  int node = 0;
  int64_t begin = 0, count = 0, column = 0;
  double radius = 0;
};

// |e_j| <= each, in blocks of `width` coordinates that a reader bounds one by one.
struct Noise {
  double each = 0;
  int64_t width = 0;
};

// Of one row, in integers at the wire's scale.
struct Reach {
  int64_t dim = 0;
  double length = 0;  // Euclidean
  Reals each;         // |x_j|; empty: `length` bounds every coordinate
  std::vector<Image> images;
  std::vector<Noise> noise;
  double row = 0;  // of scores: on texts like the calibration's a row has an entry of at least so much; 0: not known

  double most() const;  // of any coordinate
  // Every number times f, then rounded by at most `eps` a coordinate.
  Reach Scaled(double f, double eps = 0) const;
  // |x_j| for every j, also where only the length is known.
  Reals Box() const;
};

// What a reader knows of an input when a plan is made.
struct Edge {
  int scale = 0;    // binary
  int nominal = 0;  // the scale that the reader's bias and mean term are quantised for
  int ring = 0;     // of the wire; 0 while it is not chosen. In a plan: of the wire that Build makes (EdgesOf)
  int64_t dim = 0;  // columns of a row; heads of scores
  bool one_row = false;
  Reach reach;
  int64_t heads = 0;      // a wire that lies as (heads, rows, dim / heads); 0: as (rows, dim)
  bool summands = false;  // not opened: public coefficients of the dealer's words
};
using Edges = std::vector<Edge>;

}  // namespace suf::nn
