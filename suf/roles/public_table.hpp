// The table of embeddings of a plan whose model owner publishes it (`suf compile --public-table`). P1 looks up the rows
// of its tokens itself, so no one-hot rows are sent.
#pragma once
#include <filesystem>

#include "suf/model/tokenizer.hpp"
#include "suf/nn/plan/plan.hpp"
#include "suf/nn/read/weights.hpp"

namespace suf::roles {

class PublicTable {
 public:
  // Takes the table from the weights of a plan that has a public one. Throws Cause::kRefused if the variants of the
  // plan have tables of different scales.
  PublicTable(const nn::Plan& plan, const nn::QuantisedWeights& weights);
  // Reads the file that Write made. Throws Cause::kInput if it cannot be read, Cause::kRefused if it has another table
  // than the plan.
  PublicTable(const std::filesystem::path& file, const nn::Plan& plan);
  // Writes the table as 32-bit floats, public. Throws Cause::kResource.
  void Write(const std::filesystem::path& file) const;
  // Returns the digest that the plan has (nn::Plan::table).
  Hash digest() const;
  // Returns the rows of the tokens, as nn::kRowsInput has them, with the rows of their types added. It reads the table
  // at places that depend on the ids. (n, d)
  WipedVector<int32_t> RowsOf(const model::Ids& ids) const;

 private:
  explicit PublicTable(const nn::Plan& plan);  // without the numbers
  nn::Shape shape_;                            // (words and types, d)
  int64_t types_ = 0;
  int scale_ = 0;
  std::vector<int16_t> words_;
};

// Returns the file for a plan's table: plan.table.safetensors for plan.json.
std::filesystem::path TableFile(const std::filesystem::path& plan);

}  // namespace suf::roles
