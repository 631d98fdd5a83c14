#include "suf/roles/data_owner.hpp"

#include "suf/nn/ops/lookup.hpp"
#include "suf/ring/modular.hpp"
#include "suf/roles/model.hpp"

namespace suf::roles {

model::Ids Tokenize(const model::Tokenizer& tokenizer, const nn::Plan& plan, std::string_view text, bool cut) {
  model::Ids ids = tokenizer.Encode(text);
  const size_t n = model::CheckLength(ids.size(), size_t(plan.max_tokens), cut);
  return model::Shorten(std::move(ids), n);
}

std::vector<int64_t> Embedding::Integers() const {
  const int bits = work->trace.node(work->trace.result(1)).ring.bits;
  std::vector<int64_t> y;
  for (uint64_t w : words) y.push_back(ring::Signed(w, bits));
  return y;
}

std::vector<float> Embedding::Values() const {
  std::vector<float> e;
  for (int64_t v : Integers()) e.push_back(float(double(v) / double(int64_t{1} << scale)));
  return e;
}

DataOwner::DataOwner(ModelEngine& engine, store::Home& home, proto::DialDealer dealer, Options options)
    : client_(engine, home, std::move(dealer), std::move(options)), plan_(engine.plan()) {}

void DataOwner::Check(const model::Ids& text) const {
  (void)plan_.For(int(std::min<size_t>(text.size(), INT32_MAX)));
  nn::CheckIds(text, plan_.vocabulary());
}

namespace {

JobRequest RequestOf(model::Ids ids) {
  const auto n = uint32_t(ids.size());
  return {n, {{nn::kTokensInput, std::make_shared<const model::Ids>(std::move(ids))}}};
}

}  // namespace

Embedding DataOwner::Session::EmbeddingOf(JobResult ran) const {
  const int scale = owner_.plan_.scale(int(ran.variant));
  return {{std::move(ran)}, scale};
}

size_t DataOwner::Session::Run(std::vector<model::Ids> texts, const std::function<void(size_t, Embedding)>& done,
                               std::optional<Client::AuditPlaces> places) {
  for (size_t i = 0; i < texts.size(); ++i) try {  // before anything is announced
      owner_.Check(texts[i]);
    } catch (const Error& e) {
      throw Error(e.cause(), Str("text ", i + 1, " of ", texts.size(), ": ", e.what()));
    }
  std::vector<JobRequest> jobs;
  for (model::Ids& ids : texts) jobs.push_back(RequestOf(std::move(ids)));
  return session_.Run(
      std::move(jobs), [&](size_t i, JobResult ran) { done(i, EmbeddingOf(std::move(ran))); }, std::move(places));
}

std::variant<Embedding, std::exception_ptr> DataOwner::Session::RunOne(size_t number, model::Ids text, uint32_t next) {
  owner_.Check(text);
  auto ran = session_.RunOne(number, RequestOf(std::move(text)), next);
  if (auto* result = std::get_if<JobResult>(&ran)) return EmbeddingOf(std::move(*result));
  return std::get<std::exception_ptr>(ran);
}

}  // namespace suf::roles
