// Makes an index of random rows, or appends random rows to it. Only the first document is embedded.
//
//    random_index MODEL PLAN DIR ROWS
//
// Makes the folder DIR of an index for a plan, with the shape that suf index create chooses. If the folder is there,
// appends to it. Row i has the id "di" and the text "document i". All documents can be fetched.
#include <cmath>
#include <filesystem>
#include <iostream>
#include <numeric>

#include "bench/random_rows.hpp"
#include "bench/run_main.hpp"
#include "suf/backends/all.hpp"
#include "suf/nn/plan/index_shape.hpp"
#include "suf/roles/data_owner.hpp"
#include "suf/roles/index_folder.hpp"
#include "suf/roles/model.hpp"

namespace suf::bench {
namespace {

// Makes rows as roles::RowOf does. `whole` is the plan with the index.
roles::IndexRows RandomRows(const nn::Plan& whole, const nn::Search& search, int64_t first, int64_t count) {
  roles::IndexRows rows;
  const double norm = std::ldexp(nn::RowFactor(whole), search.g);
  for (int64_t i = first; i < first + count; ++i) {
    const std::vector<double> v = LeaningVector(uint64_t(i), 0.4, search.columns);
    const double factor = norm / std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
    for (const double x : v) rows.values.push_back(int16_t(std::lround(x * factor)));
    rows.documents.push_back({Str("d", i), Str("document ", i)});
  }
  return rows;
}

nn::IndexPlan ShapedFor(const nn::Plan& plan, int64_t rows) {
  nn::IndexPlan index;
  index.model = nn::PlanHash(plan);
  index.text = index.document = plan.about.default_prompt;
  index.search.floor = 1 - (int64_t{1} << (index.search.f + index.search.g));
  index.table = nn::kMostTableWords;
  return nn::ChooseShape(plan, index, {.rows = nn::CapacityFor(rows), .tokens = 32},
                         compiler::ParseProfile("lan").prices, backends::Make("packed")->capabilities());
}

// Gives the first document its own row, by which roles recognise the model of an index.
void EmbedFirst(const std::string& folder, const nn::Plan& plan, const nn::Plan& whole, roles::IndexRows* rows) {
  const roles::Model model(folder);
  const roles::TextInput text{.first = rows->documents[0].text,
                              .prompt = plan.about.default_prompt.empty()
                                            ? std::string_view()
                                            : plan.about.PromptNamed(plan.about.default_prompt)};
  const model::Ids ids = roles::Tokenize(model.tokenizer(), plan, text);
  const auto& search = dynamic_cast<const nn::Search&>(*whole.classes.at(0).ops.back());
  const std::vector<int16_t> row = roles::RowOf(search, nn::RowFactor(whole), model.Embed({ids.begin(), ids.end()}));
  std::copy(row.begin(), row.end(), rows->values.begin());
}

int Main(int argc, char** argv) {
  const int64_t rows = argc == 5 ? std::atoll(argv[4]) : 0;
  if (rows < 1) Fail(Cause::kInput, "usage: random_index MODEL PLAN DIR ROWS");
  const std::string model = argv[1], dir = argv[3];
  const nn::Plan plan = roles::LoadPlan(argv[2]);
  if (!std::filesystem::exists(dir)) {
    const nn::IndexPlan index = ShapedFor(plan, rows);
    const nn::Plan whole = nn::WithIndex(plan, index);
    roles::IndexRows made = RandomRows(whole, index.search, 0, rows);
    EmbedFirst(model, plan, whole, &made);
    roles::IndexFolder::Create(dir, index, std::move(made));
  } else {
    roles::IndexFolder folder(dir);
    folder.Append(RandomRows(nn::WithIndex(plan, folder.index()), folder.index().search, folder.rows(), rows));
  }
  return 0;
}

}  // namespace
}  // namespace suf::bench

int main(int argc, char** argv) { return suf::bench::RunMain(suf::bench::Main, argc, argv); }
