// The shift of a softmax that has no maximum: a predictor of each row's log-sum-exp, linear in what the parties have
// opened anyway: the row that its queries are made of, through a private map, and the row's scores with itself and with
// the previous token. Fitted on the calibration texts alone. (docs/mathematics.md#predicted-shift)
#pragma once
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "suf/exec/pool.hpp"
#include "suf/nn/graph.hpp"

namespace suf::nn {

// Gives every softmax of a folded graph whose queries and keys come from one map a second input: a private
// map of that map's row, one number a head, whose weights are leaves "shift.<scope>" and "shift.<scope>.bias". Returns
// their number. RemoveShifts: the graph without them, and without what only they read.
int AddShifts(Graph* g);
Graph RemoveShifts(Graph g);
// Names and shapes of the leaves that AddShifts made.
std::map<std::string, Shape> ShiftLeaves(const Graph& g);

// Of one softmax. Residuals are out of fold: of rows that a fold's coefficients have not seen.
struct ShiftFit {
  std::string where;         // "0/attention/e"
  bool fits = false;         // every head's residuals stay in the room that the exponential's table has
  int own_heads = 0;         // heads that take their row's own scores
  double low = 0, high = 0;  // the least and the largest residual less the head's quantile, in nats
  int worst = 0;             // the head with the widest range
};
struct Shifts {
  Weights weights;  // P0's: the leaves of AddShifts
  std::vector<ShiftFit> fits;
  std::string why_not;  // where the texts are too few for any: how many there are, and what a fit needs
  size_t enough = 0;    // then: how many texts, as long as these on average, a fit needs
  int softmaxes = 0;    // how many could have a shift
};

// What a fit needs: texts and rows. A head takes its own scores where they shrink its range of residuals to less than
// kOwnGain of it. The shift is kQuantile of the residuals above the prediction, so that at most one row in a thousand
// meets the exponential's cap. A softmax with a row that is predicted more than kRoomBelow nats too high, whose sum
// would have few bits, keeps its maximum.
inline constexpr size_t kLeastTexts = 20, kLeastRows = 1000;
// What a maximum costs instead of a shift: flights a softmax.
inline constexpr int kMaximumFlights = 4;
inline constexpr double kRidge = 10, kOwnGain = 0.7, kQuantile = 0.999, kRoomBelow = 9;

// Fits every second input of a softmax of the folded graph by ridge regression, sets `own` of those that
// fit, and removes the others from it: all, where the texts are too few. Deterministic.
Shifts FitShifts(Graph* g, const Weights& weights, std::span<const std::vector<int32_t>> texts, exec::Pool& pool,
                 const std::function<void(double)>& progress = {});

}  // namespace suf::nn
