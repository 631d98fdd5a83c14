// The shift of a softmax that has no maximum: a predictor of each row's log-sum-exp. It is linear in opened values: the
// row of its queries, through a private map, and two scores. These are the row's scores with itself and with the
// previous token, which are opened anyway. It is fitted on the calibration texts alone.
// (docs/mathematics.md#predicted-shift)
#pragma once
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "suf/exec/pool.hpp"
#include "suf/nn/graph/graph.hpp"

namespace suf::nn {

// Gives each softmax of a folded graph a second input if its queries and keys come from one map. The input is a private
// map of that map's row, one number a head. Its weights are the leaves "shift.<scope>" and "shift.<scope>.bias".
// Returns the number of shifts.
int AddShifts(Graph* g);
// Returns the graph without shifts and without the nodes that only they read.
Graph RemoveShifts(Graph g);
// Returns the names and shapes of the leaves that AddShifts made.
std::map<std::string, Shape> ShiftLeaves(const Graph& g);

// The fit of one softmax. Residuals are out of fold: they are of rows that a fold's coefficients have not seen.
struct ShiftFit {
  std::string where;         // "0/attention/e"
  bool fits = false;         // every head's residuals stay within the capacity of the exponential's table
  int own_heads = 0;         // heads that use their row's own scores
  double low = 0, high = 0;  // the least and the largest residual less the head's quantile, in nats
  int worst = 0;             // the head with the widest range
};
// The fits of all softmaxes of a graph.
struct Shifts {
  Checkpoint weights;  // of P0: the leaves of AddShifts
  std::vector<ShiftFit> fits;
  // Set if the texts are too few for any fit: how many there are, and how many a fit needs.
  std::string why_not;
  size_t enough = 0;  // then: how many texts, as long as these on average, a fit needs
  int softmaxes = 0;  // softmaxes that could have a shift
};

// The fewest texts and rows of a fit.
inline constexpr size_t kLeastTexts = 20, kLeastTokens = 1000;
// The flights that a maximum costs instead of a shift, for each softmax.
inline constexpr int kMaximumFlights = 4;
// kRidge is the weight of the ridge. A head uses its own scores if they shrink its range of residuals below kOwnGain of
// it. The shift is kQuantile of the residuals above the prediction. So at most one row in a thousand meets the
// exponential's cap. If a row is predicted more than kMarginBelow nats too high, its sum would have few bits. Such a
// softmax keeps its maximum.
inline constexpr double kRidge = 10, kOwnGain = 0.7, kQuantile = 0.999, kMarginBelow = 9;

// Fits every second input of a softmax of the folded graph by ridge regression. Sets `own` of those that fit and
// removes the others from the graph. Removes all if the texts are too few. Deterministic.
Shifts FitShifts(Graph* g, const Checkpoint& weights, std::span<const std::vector<int32_t>> texts, exec::Pool& pool,
                 const std::function<void(double)>& progress = {});

}  // namespace suf::nn
