#include "suf/roles/data_owner.hpp"

#include <algorithm>
#include <map>

#include "suf/nn/ops/lookup.hpp"
#include "suf/ring/modular.hpp"
#include "suf/roles/index_folder.hpp"
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

namespace {

// Returns options with which sessions receive the tables that fetches need.
ClientOptions WithTables(ClientOptions options) {
  options.keys.tables = options.fetch;
  return options;
}

}  // namespace

DataOwner::DataOwner(ModelEngine& engine, store::Home& home, proto::Dealers dealers, Options options)
    : client_(engine, home, std::move(dealers), WithTables(options)),
      engine_(engine),
      plan_(engine.plan()),
      table_(engine.table()),
      search_(options.search),
      fetch_(options.fetch),
      documents_(options.documents) {
  if (fetch_ && (!search_ || !search_->index.table))
    Fail(Cause::kInput, "the index has no documents that can be fetched; search without them");
  if (fetch_ && (search_->index.table == kKeyTableWords) != (documents_ != nullptr))
    Fail(Cause::kInput, documents_ ? "the index has documents that come with a fetch; name no file of documents"
                                   : "the index has keys of documents, which open its file documents.sealed; name "
                                     "that file");
  // a claim burns all bundles that were dealt before, so stored ones of searches and fetches would burn each other
  if (fetch_ && options.keys.ahead > 1)
    Fail(Cause::kInput, "a fetch takes fresh keys, and so does its search; keep no keys ahead");
  if (search_ && options.audits) Fail(Cause::kInput, "searches have no audits; leave them out");
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

JobSize DataOwner::Session::SizeOf(uint32_t tokens, uint32_t texts) const {
  return {tokens, texts, owner_.search_ ? store::SearchEntry(owner_.engine_.NumberOf(*owner_.search_)) : 0};
}

std::vector<nn::SearchHit> DataOwner::Session::HitsOf(const Embedding& e, std::exception_ptr* error) const {
  const nn::Search& search = owner_.search_->index.search;
  std::vector<nn::SearchHit> hits;
  try {
    hits = search.Decode(e.Integers());
    if (int64_t(hits.size()) > search.k)
      Fail(Cause::kPeer, "a search gives ", hits.size(), " hits, and at most ", search.k,
           " are possible; report it to the operator of the model owner");
  } catch (...) {
    *error = std::current_exception();
    hits.clear();
  }
  return hits;
}

// P0 sees k masked one-hots, whatever the hits are. The places without a hit have row 0.
JobRequest DataOwner::Session::FetchOf(const std::vector<nn::SearchHit>& hits) const {
  const auto k = size_t(owner_.search_->index.search.k);
  std::vector<int64_t> rows(k);
  for (size_t i = 0; i < std::min(hits.size(), k); ++i) rows[i] = hits[i].row;
  JobRequest request{{uint32_t(k), 1, store::FetchEntry(owner_.engine_.NumberOf(*owner_.search_))}, {}};
  request.inputs.push_back(
      {nn::Fetch::kRowsInput, std::make_shared<const WipedVector<int64_t>>(rows.begin(), rows.end())});
  return request;
}

size_t DataOwner::Session::Run(std::vector<model::Ids> texts, const std::function<void(size_t, Embedding)>& done) {
  std::vector<TextBatch> batches;
  for (model::Ids& ids : texts) batches.emplace_back().push_back(std::move(ids));
  return RunBatches(std::move(batches), [&](size_t i, std::vector<Embedding> e) { done(i, std::move(e[0])); });
}

size_t DataOwner::Session::RunBatches(std::vector<TextBatch> batches,
                                      const std::function<void(size_t, std::vector<Embedding>)>& done,
                                      std::optional<Client::AuditPlaces> places) {
  SUF_CHECK(!owner_.search_);  // RunOne searches
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
  JobRequest request = RequestOf(std::move(batch), owner_.plan_, owner_.table_);
  request.entry = SizeOf(request.count, request.texts).entry;
  auto ran = session_.RunOne(number, std::move(request), owner_.fetch_ ? FetchOf({}) : next);
  if (!owner_.search_) {
    if (auto* result = std::get_if<JobResult>(&ran)) return EmbeddingsOf(std::move(*result));
    return std::get<std::exception_ptr>(ran);
  }
  // From here on P0 sees the same whatever the result is, an error included.
  std::exception_ptr error;
  Embedding found;
  if (auto* result = std::get_if<JobResult>(&ran)) {
    found = std::move(EmbeddingsOf(std::move(*result))[0]);
    found.hits = HitsOf(found, &error);
  } else {
    error = std::get<std::exception_ptr>(ran);
    found.hits.emplace();
  }
  if (owner_.fetch_) {
    searched_ = true;  // until the fetch is done
    const std::exception_ptr late = Fetch(number, next, &found);
    searched_ = false;
    if (!error) error = late;
  }
  if (error) return error;
  std::vector<Embedding> one;
  one.push_back(std::move(found));
  return one;
}

std::exception_ptr DataOwner::Session::Fetch(size_t number, const JobSize& next, Embedding* found) {
  auto ran = session_.RunOne(number, FetchOf(*found->hits), next);
  auto* const fetched = std::get_if<JobResult>(&ran);
  if (!fetched) return std::get<std::exception_ptr>(ran);
  found->bytes.p0 += fetched->bytes.p0;
  found->bytes.p1 += fetched->bytes.p1;
  found->bytes.p1_offline += fetched->bytes.p1_offline;
  found->times.total += fetched->times.total;
  found->at_s = fetched->at_s;
  found->fetch_receipt = fetched->receipt;
  const auto words = size_t(owner_.search_->index.table);
  try {
    for (size_t i = 0; i < found->hits->size(); ++i) {
      const auto from = fetched->words.begin() + ssize_t(i * words);
      const std::vector<uint16_t> row(from, from + ssize_t(words));
      found->documents.push_back(
          owner_.documents_
              ? owner_.documents_->Open((*found->hits)[i].row,
                                        View(reinterpret_cast<const uint8_t*>(row.data()), 2 * row.size()))
              : DocumentOf(row));
    }
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

}  // namespace suf::roles
