// Index maps: where the elements of a view lie. A view (reshape, permute, between, broadcast, stack, concat, wait)
// moves no word: element x of it is some element of another tensor. An Affine takes x apart by axes and adds strides; a
// Map is one of them, or a choice between several along one axis. Not here: triangles (pack, unpack), whose rows have
// different lengths.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "suf/pfss/trace.hpp"

namespace suf::grouping {

struct Axis {
  int64_t extent, stride;
  bool operator==(const Axis&) const = default;
};

// x, in row-major order over the axes -> offset + the sum of index times stride. In normal form, which Over
// makes: no axis of one element, none that goes on where the next one ends.
struct Affine {
  std::vector<Axis> axes;
  int64_t offset = 0;
  int64_t operator()(int64_t x) const;
  bool operator==(const Affine&) const = default;
};
Affine Over(std::vector<Axis> axes, int64_t offset = 0);
// Of a tensor of this shape as it lies.
Affine Over(const pfss::Shape& shape);
// x -> f(g(x)); nothing where that is not affine by axes. `size`: of what f maps, so that g stays below it.
std::optional<Affine> After(const Affine& f, const Affine& g, int64_t size);

// Indices up to `end` along the axis of choice, as elements of `node`.
struct Piece {
  int node;
  int64_t end;
  Affine at;
  bool operator==(const Piece&) const = default;
};

// Of `count` elements. c = x / inner mod len is x's index along the axis of choice, where len is the last piece's
// end. In the first piece with c < end, which begins where the one before ends and is w wide, x is number
// (x / (inner len) w + c - begin) inner + x mod inner. One piece: number x.
struct Map {
  int64_t count = 0, inner = 1;
  std::vector<Piece> pieces;
  bool operator==(const Map&) const = default;
};

// `many` elements at, at + stride, .. of node.
struct Run {
  int node;
  int64_t at, stride, many;
};
// Of the elements from x on, as far as one stride serves.
Run RunAt(const Map& m, int64_t x);

// A tensor of `count` elements as it lies; IsWhole: whether m is that, from element `offset` on, of one node.
Map Whole(int node, int64_t count);
bool IsWhole(const Map& m, int64_t offset = 0);
// Node, of shape `from`, broadcast to shape `to`.
Map Spread(int node, const pfss::Shape& from, const pfss::Shape& to);
// Node, of shape `from`, with its axis `axis` in front.
Map Swing(int node, const pfss::Shape& from, size_t axis);
// Operations that ViewOf knows.
bool IsView(pfss::Op op);
// Node i, which is a view, as elements of its operands.
Map ViewOf(const pfss::Trace& t, int i);
// m with each element of a node that `views` has a map of as an element of what that map leads to; nothing
// where that is no Map, and the view must lie in memory. views: null for nodes that do.
std::optional<Map> Through(const Map& m, const std::function<const Map*(int node)>& views);

// As "%3", "%3(2*0 4*1 +8)", or pieces as "{2: %3, 5: %4}/inner".
std::string Print(const Map& m);

}  // namespace suf::grouping
