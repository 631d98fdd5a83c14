#include "suf/nn/plan/index_shape.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "suf/nn/read/build.hpp"

namespace suf::nn {

namespace {

constexpr int64_t kLeastCapacity = 256;
constexpr int64_t kMostPairs = 640;  // entries whose ranks are compared at the end

// Levels of groups, with the pairs of numbers that they and the last ranks compare.
struct Grouping {
  Ints counts;
  double pairs = 0;
};

// Adds the ways to reduce n numbers by groups of at most 128, which keep k each.
void AddGroupings(int64_t n, int64_t k, Grouping so_far, std::vector<Grouping>* out) {
  if (n > k && n <= kMostPairs) {
    out->push_back(so_far);
    out->back().pairs += double(n) * double(n) / 2;
  }
  if (so_far.counts.size() == 4) return;
  for (int64_t size = 2 * k; size <= 128 && size < n; ++size) {
    if (n % size != 0) continue;
    Grouping next = so_far;
    next.counts.push_back(n / size);
    next.pairs += double(n) * double(size) / 2;
    AddGroupings(n / size * k, k, std::move(next), out);
  }
}

// Returns the best groupings of n numbers for each number of levels, which decides the flights.
std::vector<Grouping> GroupingsOf(int64_t n, int64_t k) {
  std::vector<Grouping> all, out;
  AddGroupings(n, k, {}, &all);
  std::sort(all.begin(), all.end(), [](const Grouping& a, const Grouping& b) { return a.pairs < b.pairs; });
  std::map<size_t, int> taken;
  for (Grouping& g : all)
    if (taken[g.counts.size()]++ < 2) out.push_back(std::move(g));
  return out;
}

// Returns the shapes that hold the wished rows, in the scales of `base`.
std::vector<Search> ShapesFor(const Search& base, const ShapeWish& wish) {
  std::vector<Search> out;
  const auto add = [&](int64_t places, int64_t buckets, int64_t stop) {
    Search s = base;
    s.places = places;
    s.buckets = buckets;
    s.stop = stop;
    if (RecallOf(s) < wish.recall || s.rows() > kMostIndexRows) return;
    for (Grouping& g : GroupingsOf(buckets, s.k)) {
      s.groups = std::move(g.counts);
      out.push_back(s);
    }
  };
  // Without buckets, rows are a multiple of a group's size and of its number.
  for (const int64_t multiple : {32, 256, 640, 2560, 6400, 32000}) {
    const int64_t rows = (wish.rows + multiple - 1) / multiple * multiple;
    if (rows <= wish.rows * 9 / 8 || multiple == 32) add(1, rows, 1);
  }
  for (int64_t buckets = 64; buckets < wish.rows; buckets *= 2) {
    const int64_t places = (wish.rows + buckets - 1) / buckets;
    for (const int64_t stop : {1, 5, 13})
      if (stop == 1 || stop < places) add(places, buckets, stop);
  }
  return out;
}

}  // namespace

int64_t CapacityFor(int64_t rows) {
  int64_t capacity = kLeastCapacity;
  while (capacity < rows) capacity += capacity / 4;
  return capacity;
}

double RecallOf(const Search& s) { return s.places == 1 ? 1 : 1 - double(s.k - 1) / (2 * double(s.buckets)); }

IndexPlan ChooseShape(const Plan& plan, IndexPlan index, const ShapeWish& wish, const compiler::Prices& prices,
                      const pfss::Capabilities& can, const std::function<void(double)>& progress) {
  Search& base = index.search;
  base.columns = plan.width();
  base.f = std::min(base.f, plan.scale());
  const std::vector<Search> shapes = ShapesFor(base, wish);
  if (shapes.empty())
    Fail(Cause::kInput, "no index of ", wish.rows, " rows gives ", base.k, " hits with a recall of ", wish.recall,
         "; take another number of rows or hits, or a lower recall");
  size_t done = 0, all = shapes.size() + 3 * 8;
  const auto price = [&](const Search& s) {
    IndexPlan one = index;
    one.search = s;
    one.search.ring = one.search.ResultRing();
    const Plan whole = WithIndex(plan, one);
    const compiler::TraceBill bill =
        compiler::CostOf(prices, can, [&](pfss::Trace& t) { Build(t, whole, wish.tokens); });
    if (progress) progress(double(++done) / double(all));
    return bill.why_not.empty() ? bill.seconds : HUGE_VAL;
  };
  std::vector<std::pair<double, Search>> priced;
  for (const Search& s : shapes) priced.emplace_back(price(s), s);
  const auto cheaper = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::stable_sort(priced.begin(), priced.end(), cheaper);
  using compiler::StepSource;
  const size_t best = std::min<size_t>(3, priced.size());
  for (size_t i = 0; i < best; ++i)  // the lowerings of the cheapest ones
    for (const StepSource rounds : {StepSource::kParity, StepSource::kDigits, StepSource::kBlocks})
      for (const StepSource pairs : {StepSource::kParity, StepSource::kDigits, StepSource::kBlocks}) {
        Search s = priced[i].second;
        s.early = s.late = rounds;
        s.pairs = pairs;
        if (rounds != base.early || pairs != base.pairs) priced.emplace_back(price(s), s);
      }
  base = std::min_element(priced.begin(), priced.end(), cheaper)->second;
  base.ring = base.ResultRing();
  return index;
}

}  // namespace suf::nn
