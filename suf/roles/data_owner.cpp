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

namespace {

// Checks the texts before anything is announced.
void CheckTexts(const std::vector<model::Ids>& texts, const nn::Plan& plan) {
  for (size_t i = 0; i < texts.size(); ++i) try {
      (void)plan.For(int(std::min<size_t>(texts[i].size(), INT32_MAX)));
      nn::CheckIds(texts[i], plan.vocabulary());
    } catch (const Error& e) {
      throw Error(e.cause(), Str("text ", i + 1, " of ", texts.size(), ": ", e.what()));
    }
}

}  // namespace

size_t DataOwner::Session::Run(std::vector<model::Ids> texts, const std::function<void(size_t, Embedding)>& done) {
  CheckTexts(texts, plan_);
  std::vector<JobRequest> jobs;
  for (model::Ids& ids : texts) {
    const auto n = uint32_t(ids.size());
    jobs.push_back({n, {{nn::kTokensInput, std::make_shared<const model::Ids>(std::move(ids))}}});
  }
  return session_.Run(std::move(jobs), [&](size_t i, JobResult ran) {
    const int scale = plan_.scale(int(ran.variant));
    done(i, Embedding{{std::move(ran)}, scale});
  });
}

}  // namespace suf::roles
