#include "apps/engine.hpp"

#include <malloc.h>

#include "apps/show.hpp"
#include "apps/texts.hpp"
#include "suf/exec/pool.hpp"
#include "suf/model/bert.hpp"
#include "suf/nn/bounds.hpp"
#include "suf/pfss/lint.hpp"
#include "suf/ring/pack.hpp"
#include "suf/run/deal.hpp"

namespace suf::apps {

Engine::Engine(nn::Plan plan, Emit emit)
    : plan_(std::move(plan)),
      emit_(std::move(emit)),
      hash_(nn::PlanHash(plan_)),
      masked_(nn::MaskedWeights(plan_)),
      backend_(backends::MakePacked(exec::Default())) {}

std::shared_ptr<const Work> Engine::At(int n) {
  std::lock_guard l(m_);
  if (auto it = works_.find(n); it != works_.end()) return it->second;
  (void)plan_.For(n);
  std::shared_ptr<Work> work(new Work);
  emit_(work->trace, plan_, n);
  work->schedule = std::make_unique<pfss::Schedule>(work->trace);
  // nothing leaves before the trace is proven to send only padded words and the result
  pfss::LintReport lint = pfss::Lint(*work->schedule);
  if (!lint.faults.empty() || lint.results != 1 || work->trace.result(1) < 0)
    Fail(Cause::kRefused, "the trace of this plan does not pass the lint (",
         lint.faults.empty() ? "it reveals more than the result" : lint.faults[0], "); make a new plan");
  if (works_.size() >= 8) works_.erase(works_.begin());
  works_[n] = work;
  return work;
}

std::string Engine::Section(int n, int p, uint64_t byte) {
  auto work = At(n);
  const auto& key = work->schedule->key(p);
  auto after = std::upper_bound(key.begin(), key.end(), byte,
                                [](uint64_t b, const pfss::Part& part) { return b < uint64_t(part.at); });
  SUF_CHECK(after != key.begin());
  const pfss::Node& node = work->trace.node(std::prev(after)->node);
  return Str("key section ", after - key.begin(), " of ", key.size(), ", of ", work->trace.name(node.scope));
}

proto::BundlePlan Engine::ForProto() {
  proto::BundlePlan p;
  p.version = nn::kPlanVersion;
  p.prg = backend_->prg();
  p.max_tokens = uint32_t(plan_.max_tokens);
  p.hash = hash_;
  for (auto& m : masked_) p.setup_bytes += uint64_t(m.bytes());
  p.task = [this](uint32_t n) {
    auto work = At(int(n));
    return proto::Task{work->trace.digest(),
                       {uint64_t(work->schedule->key_bytes(0)), uint64_t(work->schedule->key_bytes(1))}};
  };
  return p;
}

void KeepPages() {
  malloc_trim(0);
  mallopt(M_MMAP_MAX, 0);  // bodies of bundles are larger than any threshold that glibc takes
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

nn::Plan LoadPlan(const std::string& path) {
  return nn::Parse(ReadFile(path, "the plan ", "make one with suf compile"));
}

nn::Quantised LoadWeights(const std::string& folder, const nn::Plan& plan, const Progress& progress,
                          nn::Weights* floats) {
  progress(0, Str("reading the model in ", folder));
  nn::Weights real = model::LoadBert(folder);
  if (real.dims != plan.dims)
    Fail(Cause::kRefused, "the plan is for another shape of model than ", folder, "; compile a plan for it");
  progress(0.1, "quantising the weights");
  nn::Quantised weights = nn::Quantise(real, plan.scales, plan.max_tokens);
  auto check = [&](double done) { progress(0.2 + 0.8 * done, "checking the certificates for these weights"); };
  check(0);
  nn::CheckWeights(plan, weights, exec::Default(), check);
  if (floats) *floats = std::move(real);
  return weights;
}

Masks::Masks(const Engine& engine, View seed, const Hash& weights)
    : engine_(engine),
      prg_(
          [&] {
            Writer info;
            info.Raw(AsView("suf B")), info.Raw(engine.hash());
            return Hkdf(weights, seed, info.bytes());
          }(),
          weights, 0) {}

template <class T>
Wiped<T> Masks::Of(size_t tensor) const {
  Wiped<T> words(size_t(engine_.masked()[tensor].size()));
  prg_.At(uint32_t(tensor)).Fill(0, {reinterpret_cast<uint8_t*>(words.data()), words.size() * sizeof(T)});
  return words;
}

namespace {

// ByWidth: f(T{}) for the word type of a tensor's ring.
template <class F>
void ByWidth(int bits, F f) {
  if (bits <= 16)
    f(uint16_t{});
  else if (bits <= 32)
    f(uint32_t{});
  else
    f(uint64_t{});
}

}  // namespace

void Masks::Fill(run::Inputs& inputs) const {
  for (size_t i = 0; i < engine_.masked().size(); ++i)
    ByWidth(engine_.masked()[i].bits,
            [&](auto zero) { inputs.Set("B." + engine_.masked()[i].name, Of<decltype(zero)>(i)); });
}

Hash WeightsId(View key, const nn::Quantised& weights, const Hash& plan, View b_seed) {
  Sha256 h;
  for (auto& [name, tensor] : weights) {
    h.Number(uint64_t(name.size())).Add(name);
    // by value, not by storage
    for (int64_t r = 0; r < tensor.rows(); ++r) {
      std::vector<int64_t> row = tensor.Row(r);
      h.Number(uint64_t(row.size())).Add(View(reinterpret_cast<const uint8_t*>(row.data()), row.size() * 8));
    }
  }
  return Hmac(key, {h.Done(), plan, HashOf({b_seed})});
}

namespace {

void SetTensor(run::Inputs& inputs, const std::string& name, const nn::Tensor& t) {
  t.Visit([&](const auto* data) {
    using T = std::remove_const_t<std::remove_pointer_t<decltype(data)>>;
    inputs.Set(name, Wiped<T>(data, data + t.size()));
  });
}

}  // namespace

void ModelInputs(const nn::Quantised& weights, run::Inputs& inputs) {
  for (auto& [name, tensor] : weights)
    if (name != "pos" && name != "bp") SetTensor(inputs, "W." + name, tensor);
}

void LengthInputs(const nn::Quantised& weights, const nn::Plan& plan, int n, run::Inputs& inputs) {
  Wiped<int64_t> rows, bias;
  for (int64_t r = 0; r < n; ++r) {
    auto row = weights.at("pos").Row(r);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  for (int64_t j = 0; j < plan.dims.d; ++j) bias.push_back(weights.at("bp")[j] * n);
  inputs.Set("W.pos", std::move(rows));
  inputs.Set("W.bp", std::move(bias));
}

void WriteSetup(const Engine& engine, const nn::Quantised& weights, const Masks& masks,
                const std::function<void(View)>& out) {
  for (size_t i = 0; i < engine.masked().size(); ++i) {
    const nn::MaskedWeight& m = engine.masked()[i];
    const nn::Tensor& w = weights.at(m.name);
    SUF_CHECK(w.size() == m.size());
    ByWidth(m.bits, [&](auto zero) {
      using T = decltype(zero);
      Wiped<T> words = masks.Of<T>(i);
      w.Visit([&](const auto* data) {
        for (size_t k = 0; k < words.size(); ++k) words[k] = T(T(int64_t(data[k])) - words[k]);
      });
      Bytes packed(size_t(m.bytes()));
      ring::Pack<T>(words.data(), words.size(), m.bits, packed.data());
      out(packed);
    });
  }
}

Hash SetupHash(const Engine& engine, const nn::Quantised& weights, const Masks& masks) {
  Sha256 h;
  WriteSetup(engine, weights, masks, [&](View v) { h.Add(v); });
  return h.Done();
}

void ReadSetup(const Engine& engine, View setup, run::Inputs& inputs) {
  size_t at = 0;
  for (auto& m : engine.masked()) {
    SUF_CHECK(at + size_t(m.bytes()) <= setup.size());
    ByWidth(m.bits, [&](auto zero) {
      using T = decltype(zero);
      Wiped<T> words(size_t(m.size()));
      ring::Unpack<T>(setup.data() + at, words.size(), m.bits, words.data());
      inputs.Set("Wh." + m.name, std::move(words));
    });
    at += size_t(m.bytes());
  }
  SUF_CHECK(at == setup.size());
}

void Generator::operator()(proto::DealJob job, store::Sink& to_p0, store::Sink& to_p1) {
  std::lock_guard l(m_);
  if (Hash of = HashOf({job.weights, job.b_seed->view()}); b_of_ != of) {
    Masks(engine_, job.b_seed->view(), job.weights).Fill(inputs_);
    b_of_ = of;
  }
  auto work = engine_.At(int(job.n));
  pfss::Material material{{}, job.rho};
  for (int p : {0, 1}) material.key[p] = std::move(job.key[p]);
  auto randomness = engine_.backend().Expand(std::move(material));
  run::Times times;
  run::Deal(
      *work->schedule, engine_.backend(), *randomness, inputs_, [&](View v) { to_p0.Write(v); },
      [&](View v) { to_p1.Write(v); }, &times);
  if (dealt) dealt(job, times);
}

proto::Auditor AuditOf(Engine& engine) {
  proto::Auditor a;
  // a generator of its own, so that B does not stay in memory
  a.generate = [&engine](proto::DealJob job, store::Sink& p0, store::Sink& p1) {
    Generator generate(engine);
    generate(std::move(job), p0, p1);
  };
  a.section = [&engine](uint32_t n, uint64_t byte) { return engine.Section(int(n), 0, byte); };
  return a;
}

Outcome RunInference(Engine& engine, proto::Inference& inference, run::Inputs& inputs,
                     const std::function<void(int, int, const std::string&)>& progress) {
  const store::BundleHeader& h = inference.header();
  auto work = engine.At(int(h.n));
  pfss::Material material{{}, h.rho};
  material.key[h.party] = std::move(inference.key());
  auto randomness = engine.backend().Expand(std::move(material));
  run::ChannelLink link(inference.channel());
  inference.channel().set_phase(net::Phase::kOffline);
  Outcome out;
  run::PartyJob job{*work->schedule,
                    engine.backend(),
                    int(h.party),
                    *randomness,
                    inputs,
                    inference.body(),
                    link,
                    progress,
                    [&] { inference.OfflineEnd(); },
                    {},
                    &out.times};
  if (h.party == 1) job.received = [&] { inference.RevealArrived(); };
  out.words = run::RunParty(job);
  return out;
}

}  // namespace suf::apps
