// The plan: everything public that an inference needs, and no weight. The folded graph once; by variant and length
// class the parameters, rings and certificates of its nodes. Made by Compile (compile.hpp); trace, simulator and
// tools/reference.py read it. (docs/mathematics.md#graph)
#pragma once
#include <string>
#include <vector>

#include "suf/base/bytes.hpp"
#include "suf/nn/graph.hpp"

namespace suf::nn {

inline constexpr int kPlanVersion = 4;
inline constexpr int kMostVariants = 8;

// What the search set a class of operators to, the next best option and how much slower that is.
struct Chosen {
  std::string what, choice, runner_up;
  int64_t microseconds = 0;
};

// One way to compute the graph, made for a network. name: lower-case letters, digits and dashes, at most 24.
// profile: whose prices chose between lowerings (compiler::ParseProfile); empty: nothing was searched.
struct Variant {
  std::string name = "plain", profile = {};
  bool operator==(const Variant&) const = default;
};
// Throws Cause::kInput where it is no name of a variant.
void CheckName(const std::string& variant);

// Of texts of at most max_n tokens, in one variant. ops: the graph's operators with their parameters, by node;
// certificates: likewise, why a wire stays inside its ring.
struct Class {
  Class() = default;
  Class(const Class& c);
  Class(Class&&) = default;
  Class& operator=(Class&&) = default;
  int variant = 0;  // its number in Plan::variants
  int max_n = 0;
  int tiles = 1;  // 2: a text runs in two tiles of rows, in antiphase (build.hpp)
  Ops ops;
  std::vector<std::vector<Certificate>> certificates;
  std::vector<Chosen> choices;
};

struct Plan {
  Graph graph;
  Hash tokenizer{};  // SHA-256 of the vocabulary's file
  int min_tokens = 3, max_tokens = 0;
  std::vector<Variant> variants{Variant{}};
  std::vector<Class> classes;  // by variant, then by increasing max_n
  std::string calibration;     // SHA-256 of the calibration text, hex

  // A variant's class for n tokens; throws Cause::kInput over max_tokens or under min_tokens.
  const Class& For(int n, int variant = 0) const;
  // A variant's first class: a weight has one scale in all classes of a variant.
  const Class& First(int variant) const;
  // Its number; throws Cause::kInput, with the names there are.
  int VariantNamed(const std::string& name) const;
  // The plan with one of its variants, for who looks at that one alone. Its hash is another.
  Plan Only(int variant) const;
  // Of the result: its width and a variant's scale.
  int64_t width() const { return classes.at(0).ops.back()->dim; }
  int scale(int variant = 0) const { return First(variant).ops.back()->scale; }
  // vocabulary: ids are below it.
  int64_t vocabulary() const;
};

// kTiledTokens: the shortest class that may have two tiles. TilesOf: of a text of n tokens of the class.
inline constexpr int kTiledTokens = 32;
int TilesOf(const Class& c, int n);

// A node's inputs, from their operators of one class after Derive; no reach. An edge's ring is that of the wire
// which Build makes.
Edges EdgesOf(const Node& n, const Ops& ops);
// Sets what follows from the graph: widths and rows forward, forms and wrapping backward, then the
// rings that are built. A wire that is read
// in two forms is opened as for a product, which serves all of them.
void Derive(const Graph& g, Ops& ops);

// Canonical JSON text, on one line unless indent >= 0; equal functions are written once, in the text form of
// a function; "hash" is PlanHash.
std::string Serialize(const Plan& plan, int indent = -1);
// The inverse. Throws Cause::kRefused, naming the field, for another version, a field or operator that is
// unknown, missing, of another type or out of range, a hash that does not match, and any plan that Check does not
// accept.
Plan Parse(const std::string& json);
// Internal consistency (widths, tables, forms, no overflow); throws Cause::kRefused with a sentence.
void Check(const Plan& plan);
// SHA-256 of the canonical one-line text without its hash.
Hash PlanHash(const Plan& plan);

}  // namespace suf::nn
