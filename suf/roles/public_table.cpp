#include "suf/roles/public_table.hpp"

#include <cmath>

#include "suf/base/digest.hpp"
#include "suf/model/safetensors.hpp"
#include "suf/nn/ops/lookup.hpp"

namespace suf::roles {
namespace {

constexpr const char* kTable = "table";
constexpr const char* kBeside = "take the file written beside this plan";

// Returns the lookup in a variant's first class, and its node.
std::pair<const nn::GraphNode*, const nn::Lookup*> LookupIn(const nn::Plan& plan, int variant) {
  for (auto& n : plan.graph.nodes())
    if (const auto* l = dynamic_cast<const nn::Lookup*>(plan.First(variant).ops[size_t(n->index)].get()))
      return {n.get(), l};
  throw Bug("the plan has no lookup");
}

}  // namespace

PublicTable::PublicTable(const nn::Plan& plan) {
  const nn::Lookup& lookup = *LookupIn(plan, 0).second;
  shape_ = lookup.table.shape();
  types_ = lookup.types;
  scale_ = lookup.scale;
  words_.reserve(size_t(nn::Size(shape_)));
}

PublicTable::PublicTable(const nn::Plan& plan, const nn::QuantisedWeights& weights) : PublicTable(plan) {
  for (size_t v = 1; v < plan.variants.size(); ++v)
    if (LookupIn(plan, int(v)).second->scale != scale_)
      Fail(Cause::kRefused, "the variants ", plan.variants[0].name, " and ", plan.variants[v].name,
           " have tables of other scales, and data owners get one; compile one variant");
  const auto [node, lookup] = LookupIn(plan, 0);
  const nn::Tensor& t = weights.at(nn::SlotName(plan, plan.First(0), *node, lookup->TableSlot()));
  for (int64_t i = 0; i < t.size(); ++i) words_.push_back(int16_t(t[i]));
}

PublicTable::PublicTable(const std::filesystem::path& file, const nn::Plan& plan) : PublicTable(plan) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error))
    Fail(Cause::kInput, "there is no file ", file.string(),
         ", and the plan's table of embeddings is public; ask the model owner for it");
  model::Safetensors tensors(file);
  const auto table = tensors.tensors().find(kTable);
  if (table == tensors.tensors().end())
    Fail(Cause::kInput, file.string(), " has no tensor \"", kTable, "\", so it is no public table; ", kBeside);
  if (table->second.shape != shape_)
    Fail(Cause::kRefused, file.string(), " has a table of shape ", model::Spelled(table->second.shape), ", not ",
         model::Spelled(shape_), "; ", kBeside);
  bool fits = true;
  for (const float x : tensors.Floats(kTable, shape_)) {
    const double v = std::ldexp(double(x), scale_);
    fits = fits && v >= INT16_MIN && v <= INT16_MAX && v == std::floor(v);
    words_.push_back(fits ? int16_t(v) : int16_t(0));
  }
  if (!fits || digest() != plan.table)
    Fail(Cause::kRefused, file.string(), " has another table than the plan; ", kBeside);
}

void PublicTable::Write(const std::filesystem::path& file) const {
  std::vector<float> floats;
  floats.reserve(words_.size());
  for (const int16_t w : words_) floats.push_back(float(std::ldexp(double(w), -scale_)));
  const model::NewTensor table{kTable, shape_, std::span<const float>(floats)};
  model::WriteSafetensors(file, {&table, 1});
}

Hash PublicTable::digest() const {
  return HashOf({AsView(Str("suf table ", shape_[0], " ", shape_[1], " ", scale_)),
                 View(reinterpret_cast<const uint8_t*>(words_.data()), words_.size() * sizeof(int16_t))});
}

WipedVector<int32_t> PublicTable::RowsOf(const model::Ids& ids) const {
  const int64_t d = shape_[1], words = shape_[0] - types_;
  const auto [entries, kinds] = nn::SplitTypes(ids, words, types_);
  WipedVector<int32_t> rows(ids.size() * size_t(d));
  for (size_t i = 0; i < ids.size(); ++i)
    for (int64_t j = 0; j < d; ++j)
      rows[i * size_t(d) + size_t(j)] =
          words_[size_t(entries[i] * d + j)] + (types_ ? words_[size_t((words + kinds[i]) * d + j)] : 0);
  return rows;
}

}  // namespace suf::roles
