// Index maps: the places of a view's elements. A view (reshape, permute, between, broadcast, stack, concat, wait) moves
// no word. Each of its elements is an element of another tensor. An AffineMap splits an index by axes and adds up
// strides. An IndexMap is one AffineMap, or a choice between several along one axis. Triangles (pack, unpack) have no
// maps, because their rows differ in length.
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

// Maps x, in row-major order over the axes, to offset plus the sum of index times stride. In normal form no axis has
// one element and no axis continues the next one.
struct AffineMap {
  std::vector<Axis> axes;
  int64_t offset = 0;
  int64_t operator()(int64_t x) const;
  bool operator==(const AffineMap&) const = default;
};
// Returns the affine map of these axes in normal form.
AffineMap MakeAffine(std::vector<Axis> axes, int64_t offset = 0);
// Returns the affine map of a contiguous tensor of this shape.
AffineMap MakeAffine(const pfss::Shape& shape);
// Returns x -> f(g(x)), or nothing if that is not affine by axes. The indices of f are below `size`, so g stays below
// it.
std::optional<AffineMap> Compose(const AffineMap& f, const AffineMap& g, int64_t size);

// The indices up to `end` along the axis of choice, as elements of `node`.
struct AxisPart {
  int node;
  int64_t end;
  AffineMap at;
  bool operator==(const AxisPart&) const = default;
};

// A map of `count` elements. Index x has c = `x / inner mod len` along the axis of choice; len is the last piece's end.
// It belongs to the first piece with c < end. This piece begins at the end of the one before and is w wide. In it x is
// number `(x / (inner len) w + c - begin) inner + x mod inner`. If there is one piece, x is number x.
struct IndexMap {
  int64_t count = 0, inner = 1;
  std::vector<AxisPart> pieces;
  bool operator==(const IndexMap&) const = default;
};

// `many` elements of a node, at `at`, at + stride, ..
struct ElementRun {
  int node;
  int64_t at, stride, many;
};
// Returns the run of elements from x on that one stride covers.
ElementRun RunAt(const IndexMap& m, int64_t x);

// Returns the map of a contiguous tensor of `count` elements.
IndexMap ContiguousMap(int node, int64_t count);
// Returns whether m is contiguous in one node, from element `offset` on.
bool IsContiguous(const IndexMap& m, int64_t offset = 0);
// Returns node, of shape `from`, broadcast to shape `to`.
IndexMap BroadcastMap(int node, const pfss::Shape& from, const pfss::Shape& to);
// Returns node, of shape `from`, with its axis `axis` moved to the front.
IndexMap FrontAxisMap(int node, const pfss::Shape& from, size_t axis);
// Returns whether ViewOf supports an operation.
bool IsView(pfss::Op op);
// Returns node i, which is a view, as elements of its operands.
IndexMap ViewOf(const pfss::Trace& t, int i);
// Replaces each element of a node that `views` has a map for by the element to which that map leads. Returns nothing if
// the result is no IndexMap; the view must then be in memory. `views` returns null for other nodes.
std::optional<IndexMap> ResolveViews(const IndexMap& m, const std::function<const IndexMap*(int node)>& views);

// Prints a map as "%3", "%3(2*0 4*1 +8)", or pieces as "{2: %3, 5: %4}/inner".
std::string Print(const IndexMap& m);

}  // namespace suf::grouping
