// The public part of P0's index. It names the model's plan and prompts, and has the shape of the search.
// (docs/mathematics.md#index-search)
#pragma once
#include "suf/nn/ops/fetch.hpp"
#include "suf/nn/ops/search.hpp"
#include "suf/nn/plan/plan.hpp"

namespace suf::nn {

inline constexpr int kIndexPlanVersion = 1;
// The words of 16 bits of a table's row, at most: 2 kB.
inline constexpr int64_t kMostTableWords = 1024;

struct IndexPlan {
  Hash id{};                   // random, so that indexes of equal shape differ
  Hash model{};                // hash of the model's plan
  std::string text, document;  // names of the plan's prompts for a text and for a document; empty: none
  Search search;               // its rows are the capacity
  int64_t table = 0;           // words of 16 bits of a row that can be fetched; 0: nothing can

  int64_t capacity() const { return search.rows(); }
  // Returns the fetch of as many rows as a search has hits. The index must have a table.
  Fetch fetch() const { return {.rows = capacity(), .words = table, .k = search.k, .block = search.block}; }
};

// Returns canonical JSON text. "hash" is IndexPlanHash.
std::string Serialize(const IndexPlan& index, int indent = -1);
// Reads the text of an index plan. Throws Cause::kRefused, naming the field, as Parse of a plan does.
IndexPlan ParseIndexPlan(const std::string& json);
// Returns the SHA-256 of the canonical one-line text without its hash.
Hash IndexPlanHash(const IndexPlan& index);

// Returns a model's plan with the index behind it. The last norm gives the embedding at the scale of the search and
// keeps it as shares. The search is the last node, so every reading of a plan takes it. Throws Cause::kRefused if the
// index is of another plan, or has a prompt that the plan lacks. Throws it also if the plan's result is no embedding of
// norm 1. So it does if that has another width, or fewer bits than the search.
Plan WithIndex(Plan plan, const IndexPlan& index);

// Returns the factor by which P0 scales rows of norm 1 before it rounds them. `plan` has an index. Then every score
// stays below 2^(f + g) in absolute value, for the hard bound of an embedding.
double RowFactor(const Plan& plan);

// Returns the score of a row that has the direction of the text. Divided by it, scores are cosines.
double ScoreOfOne(const Plan& plan);

}  // namespace suf::nn
