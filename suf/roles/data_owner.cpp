#include "suf/roles/data_owner.hpp"

#include <map>

#include "suf/nn/ops/lookup.hpp"
#include "suf/ring/modular.hpp"
#include "suf/roles/model.hpp"

namespace suf::roles {

model::Ids Tokenize(const model::Tokenizer& tokenizer, const nn::Plan& plan, std::string_view text, bool cut) {
  return Tokenize(tokenizer, plan, TextInput{text}, cut);
}
model::Ids Tokenize(const model::Tokenizer& tokenizer, const nn::Plan& plan, const TextInput& text, bool cut) {
  return Encode(tokenizer, RulesOf(plan), text, size_t(plan.max_tokens), cut);
}

std::vector<int64_t> Embedding::Integers() const {
  std::vector<int64_t> y;
  for (uint64_t w : words) y.push_back(ring::Signed(w, bits));
  return y;
}

std::vector<float> RealsOf(std::span<const int64_t> integers, int scale, int divisor) {
  std::vector<float> reals;
  const double one = double(int64_t{1} << scale) * divisor;
  for (const int64_t v : integers) reals.push_back(float(double(v) / one));
  return reals;
}

std::vector<float> Embedding::Values() const { return RealsOf(Integers(), scale, divisor); }

DataOwner::DataOwner(ModelEngine& engine, store::Home& home, proto::Dealers dealers, Options options)
    : client_(engine, home, std::move(dealers), std::move(options)), plan_(engine.plan()), table_(engine.table()) {
  if (plan_.public_table() && !table_)
    Fail(Cause::kInput,
         "the plan's table of embeddings is public, and this process has none; read the file of the "
         "table that was written beside the plan");
}

void DataOwner::Check(const model::Ids& text) const {
  (void)plan_.For(int(std::min<size_t>(text.size(), INT32_MAX)));
  nn::CheckIds(text, plan_.ids());
}

std::vector<std::vector<size_t>> BatchesOf(const std::vector<size_t>& lengths, size_t most) {
  std::vector<std::vector<size_t>> batches;
  std::map<size_t, size_t> open;  // the batch with room for a length
  for (size_t i = 0; i < lengths.size(); ++i) {
    const auto [at, first] = open.try_emplace(lengths[i], batches.size());
    if (!first && batches[at->second].size() >= most) at->second = batches.size();
    if (at->second == batches.size()) batches.emplace_back();
    batches[at->second].push_back(i);
  }
  return batches;
}

std::vector<size_t> LengthsOf(const std::vector<model::Ids>& texts) {
  std::vector<size_t> lengths;
  for (const model::Ids& text : texts) lengths.push_back(text.size());
  return lengths;
}

std::vector<TextBatch> MoveToBatches(std::vector<model::Ids> texts, const std::vector<std::vector<size_t>>& batches) {
  std::vector<TextBatch> all;
  for (const std::vector<size_t>& batch : batches) {
    all.emplace_back();
    for (const size_t text : batch) all.back().push_back(std::move(texts[text]));
  }
  return all;
}

namespace {

JobRequest RequestOf(TextBatch batch, const nn::Plan& plan, const PublicTable* table) {
  const JobSize size = SizeOf(batch);
  model::Ids all = batch.size() == 1 ? std::move(batch[0]) : nn::BatchIds(batch, nn::kMostTexts);
  const auto input = [](const char* name, model::Ids ids) {
    return NamedArray{name, std::make_shared<const model::Ids>(std::move(ids))};
  };
  if (table) return {size, {input(nn::kRowsInput, table->RowsOf(all))}};
  if (plan.types() == 1) return {size, {input(nn::kTokensInput, std::move(all))}};
  auto [tokens, types] = nn::SplitTypes(all, plan.vocabulary(), plan.types());
  return {size, {input(nn::kTokensInput, std::move(tokens)), input(nn::kTypesInput, std::move(types))}};
}

}  // namespace

std::vector<Embedding> DataOwner::Session::EmbeddingsOf(JobResult ran) const {
  const int scale = owner_.plan_.scale(int(ran.variant));
  const int bits = ran.work->trace.node(ran.work->trace.result(1)).ring.bits;
  const std::vector<uint64_t> words = std::exchange(ran.words, {});
  const size_t each = words.size() / ran.texts;
  std::vector<Embedding> all;
  for (uint32_t i = 0; i < ran.texts; ++i) {
    Embedding& e = all.emplace_back(Embedding{{ran}, scale, i, owner_.plan_.divisor(int(ran.count)), bits});
    e.words.assign(words.begin() + ssize_t(i * each), words.begin() + ssize_t((i + 1) * each));
  }
  return all;
}

size_t DataOwner::Session::Run(std::vector<model::Ids> texts, const std::function<void(size_t, Embedding)>& done) {
  std::vector<TextBatch> batches;
  for (model::Ids& ids : texts) batches.emplace_back().push_back(std::move(ids));
  return RunBatches(std::move(batches), [&](size_t i, std::vector<Embedding> e) { done(i, std::move(e[0])); });
}

size_t DataOwner::Session::RunBatches(std::vector<TextBatch> batches,
                                      const std::function<void(size_t, std::vector<Embedding>)>& done,
                                      std::optional<Client::AuditPlaces> places) {
  std::vector<JobRequest> jobs;
  for (size_t i = 0; i < batches.size(); ++i) try {  // before anything is announced
      for (const model::Ids& text : batches[i]) owner_.Check(text);
      jobs.push_back(RequestOf(std::move(batches[i]), owner_.plan_, owner_.table_));
    } catch (const Error& e) {
      throw Error(e.cause(), Str("text ", i + 1, " of ", batches.size(), ": ", e.what()));
    }
  return session_.Run(
      std::move(jobs), [&](size_t i, JobResult ran) { done(i, EmbeddingsOf(std::move(ran))); }, std::move(places));
}

std::variant<std::vector<Embedding>, std::exception_ptr> DataOwner::Session::RunOne(size_t number, TextBatch batch,
                                                                                    const JobSize& next) {
  for (const model::Ids& text : batch) owner_.Check(text);
  auto ran = session_.RunOne(number, RequestOf(std::move(batch), owner_.plan_, owner_.table_), next);
  if (auto* result = std::get_if<JobResult>(&ran)) return EmbeddingsOf(std::move(*result));
  return std::get<std::exception_ptr>(ran);
}

}  // namespace suf::roles
