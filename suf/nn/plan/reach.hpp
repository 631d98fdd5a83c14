// Abstract values: everything that the result of a node can reach for any sequence of token ids. A value is a box, a
// ball, and images of balls under weights. Images bound two maps in a row together, such as W_v and W_o of a head. A
// map uses the tightest.
#pragma once
#include "suf/nn/graph/array.hpp"

namespace suf::nn {

// The image of a ball under weights: coordinates [begin, begin + count) are y A plus noise, with |y| <= radius. A is
// columns [column, column + count) of the weight "full" of `node`. Every image has a y of its own.
struct Image {
  int node = 0;
  int64_t begin = 0, count = 0, column = 0;
  double radius = 0;
};

// The noise |e_j| <= each, in blocks of `width` coordinates that a reader bounds one by one.
struct Noise {
  double each = 0;
  int64_t width = 0;
};

// The bounds of one row, in integers at the wire's scale.
struct RowBound {
  int64_t dim = 0;
  double length = 0;  // Euclidean length
  Reals each;         // |x_j|; empty: `length` bounds every coordinate
  std::vector<Image> images;
  std::vector<Noise> noise;
  // For scores: on texts like those of the calibration, every row has an entry of at least this size. 0: unknown.
  double row = 0;

  double most() const;  // the largest |x_j|
  // Returns the bounds with every number times f, then rounded by at most `eps` a coordinate.
  RowBound Scaled(double f, double eps = 0) const;
  // Returns |x_j| for every j, even if only the length is known.
  Reals Box() const;
};

// The properties of an input that its reader knows when a plan is made.
struct Edge {
  int scale = 0;    // binary
  int nominal = 0;  // the scale that the reader's bias and mean term are quantised for
  int ring = 0;     // of the wire; 0 until it is chosen. In a plan: of the wire that Build makes (EdgesOf)
  int64_t dim = 0;  // columns of a row; heads of scores
  bool one_row = false;
  RowBound reach;
  int64_t heads = 0;      // of a wire that lies as (heads, rows, dim / heads); 0: it lies as (rows, dim)
  bool summands = false;  // not opened: public coefficients of the dealer's words
};
using Edges = std::vector<Edge>;

}  // namespace suf::nn
