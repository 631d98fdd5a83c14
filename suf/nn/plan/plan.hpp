// The plan: everything public that an inference needs, and no weight. It has the folded graph once. For each variant
// and length class it has the parameters, rings and certificates of the nodes. Compile makes it (compile.hpp); trace,
// simulator and tools/reference.py read it. (docs/mathematics.md#graph)
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "suf/base/bytes.hpp"
#include "suf/nn/graph/graph.hpp"
#include "suf/nn/plan/about.hpp"
#include "suf/pfss/trace.hpp"

namespace suf::nn {

inline constexpr int kPlanVersion = 6;
inline constexpr int kMostVariants = 8;

// A choice of the search for a class of operators, the next best option, and how much slower that is.
struct Chosen {
  std::string what, choice, runner_up;
  int64_t microseconds = 0;
};

// The end of Chosen::what for a scale that compile lowered, so that a fixed ring holds the wire.
inline constexpr const char* kScaleChoice = ", scale that its ring holds";

// One way to compute the graph, made for a network. `name` has at most 24 lower-case letters, digits and dashes. The
// prices of `profile` chose between lowerings (compiler::ParseProfile). If it is empty, nothing was searched. `keys_to`
// is the bundle that receives corrections. It changes no word, frame or flight.
struct Variant {
  std::string name = "plain", profile = {};
  pfss::KeysTo keys_to = pfss::KeysTo::kBalanced;
  bool operator==(const Variant&) const = default;
};
// Returns the name of a choice, `balanced` or `p0`, as plans and commands have it.
const char* NameOf(pfss::KeysTo keys_to);
// Returns the choice with this name. Throws Cause::kInput if there is none.
pfss::KeysTo KeysToNamed(const std::string& name);
// Throws Cause::kInput if `variant` is not a valid name.
void CheckName(const std::string& variant);

// The parameters for texts of at most max_n tokens, in one variant.
struct Class {
  Class() = default;
  Class(const Class& c);
  Class(Class&&) = default;
  Class& operator=(Class&&) = default;
  int variant = 0;  // index into Plan::variants
  int max_n = 0;
  int tiles = 1;        // 2: a text runs in two tiles of rows, in antiphase (build.cpp)
  int batch_tiles = 1;  // 2: a batch of texts runs in two tiles, its halves, in antiphase
  // The graph's operators with their parameters, by node.
  Ops ops;
  // The reasons why each wire stays inside its ring, by node.
  std::vector<std::vector<Certificate>> certificates;
  std::vector<Chosen> choices;
};

// Returns the size of a graph's vocabulary.
int64_t WordsOf(const Graph& g);
// Returns the number of token types among which P1 chooses; 1 if the model has no others.
int64_t TypesOf(const Graph& g);
// Makes the table of embeddings public, or private.
void SetPublicTable(Graph& g, bool known);
// Returns the number by which the values of a result are divided for a text of n tokens. It is n if the result is a
// mean that is not normalised, because the sum is computed.
int DivisorOf(const Graph& g, const About& about, int n);

struct Plan {
  Graph graph;
  Hash tokenizer{};  // SHA-256 of the vocabulary's file
  Hash table{};      // digest of the table of embeddings, if it is public; otherwise zeros
  int min_tokens = 3, max_tokens = 0;
  std::vector<Variant> variants{Variant{}};
  std::vector<Class> classes;  // by variant, then by increasing max_n
  std::string calibration;     // SHA-256 of the calibration text, hex
  About about = {};

  // Returns a variant's class for n tokens. Throws Cause::kInput if n is over max_tokens or under min_tokens.
  const Class& For(int n, int variant = 0) const;
  // Returns a variant's first class. A weight has one scale in all classes of a variant.
  const Class& First(int variant) const;
  // Returns the index of a variant. Throws Cause::kInput, listing the names, if there is none.
  int VariantNamed(const std::string& name) const;
  // Returns the plan with only this variant. Its hash is another.
  Plan Only(int variant) const;
  // Returns the columns of the result.
  int64_t width() const { return classes.at(0).ops.back()->dim; }
  // Returns the scale of the result in a variant.
  int scale(int variant = 0) const { return First(variant).ops.back()->scale; }
  int64_t vocabulary() const { return WordsOf(graph); }
  int64_t types() const { return TypesOf(graph); }
  // Returns the number below which ids are. The id of a token of type t is that of its entry plus t vocabulary().
  int64_t ids() const { return vocabulary() * types(); }
  // Whether the table of embeddings is public.
  bool public_table() const;
  // Returns DivisorOf the plan's result.
  int divisor(int n) const { return DivisorOf(graph, about, n); }
};

// The shortest class that may have two tiles.
inline constexpr int kTiledTokens = 32;
// Returns the number of tiles in which a batch of `texts` texts of n tokens of the class runs.
int TilesOf(const Class& c, int n, int texts = 1);
// Returns the first node that takes one text alone (Operator::TakesTexts), or null.
const GraphNode* TakesOneText(const Graph& g, const Class& c);
// The most texts of a batch.
inline constexpr int kMostTexts = 64;
// Returns the most texts of a batch of this plan. It is 1 if an operator of a program takes one text alone.
int MostTexts(const Plan& plan);

// Returns a node's inputs, from the operators of one class after Derive, without reaches. An edge's ring is that of the
// wire that Build makes.
Edges EdgesOf(const GraphNode& n, const Ops& ops);
// Returns, by node, the rows that readers take of its result. If they take different ones, all are wanted.
std::vector<WantedRows> RowsWanted(const Graph& g, const std::function<const Operator&(const GraphNode&)>& op_of);
// Returns them for the graph's own operators.
std::vector<WantedRows> RowsWanted(const Graph& g);
// Sets the fields that follow from the graph. Widths and rows go forward, wanted rows, forms and wrapping backward.
// Then come the rings that Build makes. A wire that is read in two forms is opened as for a product, which serves all
// of them.
void Derive(const Graph& g, Ops& ops);

// Returns canonical JSON text, on one line unless indent >= 0. Equal functions are written once, in the text form of a
// function. "hash" is PlanHash.
std::string Serialize(const Plan& plan, int indent = -1);
// Returns what a plan stores of an operator, with its functions in full. Operators with equal texts compute the same on
// wires of equal rings and scales.
std::string StoredText(Operator& op);
// Reads the text of a plan. Throws Cause::kRefused, naming the field, for another version or a hash that does not
// match. Refuses likewise a field or operator that is unknown, missing, of another type or out of range. Refuses any
// plan that Check refuses.
Plan Parse(const std::string& json);
// Checks internal consistency (widths, tables, forms, no overflow). Throws Cause::kRefused with an error message.
void Check(const Plan& plan);
// Returns the SHA-256 of the canonical one-line text without its hash.
Hash PlanHash(const Plan& plan);

}  // namespace suf::nn
