#include "suf/roles/internal/parts.hpp"

#include <algorithm>

#include "suf/ring/pack.hpp"
#include "suf/run/deal.hpp"
#include "suf/run/party.hpp"

namespace suf::roles {

Masks::Masks(const Engine& engine, View seed, const Hash& weights)
    : engine_(engine),
      prg_(
          [&] {
            Writer info;
            info.Raw(AsView("suf B"));
            info.Raw(engine.hash());
            return Hkdf(weights, seed, info.bytes());
          }(),
          weights, 0) {}

template <class T>
WipedVector<T> Masks::Of(size_t tensor, size_t first, size_t count) const {
  WipedVector<T> words(count);
  prg_.At(uint32_t(tensor))
      .Fill(first * sizeof(T), {reinterpret_cast<uint8_t*>(words.data()), words.size() * sizeof(T)});
  return words;
}

namespace {

// Calls f(T{}) with the word type of a tensor's ring.
template <class F>
void ByWidth(const nn::MaskedWeight& m, F f) {
  if (m.word() == 2)
    f(uint16_t{});
  else if (m.word() == 4)
    f(uint32_t{});
  else
    f(uint64_t{});
}

}  // namespace

void Masks::Fill(run::Inputs& inputs) const {
  for (size_t i = 0; i < engine_.masked().size(); ++i) {
    const nn::MaskedWeight& m = engine_.masked()[i];
    ByWidth(m, [&](auto zero) { inputs.Set("B." + m.name, Of<decltype(zero)>(i, 0, size_t(m.size()))); });
  }
}

Hash WeightsId(View key, const nn::QuantisedWeights& weights, const Hash& plan, View b_seed) {
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

void WriteSetup(const Engine& engine, const nn::QuantisedWeights& weights, const Masks& masks,
                const std::function<void(View)>& out, size_t words_at_once) {
  for (size_t i = 0; i < engine.masked().size(); ++i) {
    const nn::MaskedWeight& m = engine.masked()[i];
    const nn::Tensor& w = weights.at(m.name);
    SUF_CHECK(w.size() == m.size());
    ByWidth(m, [&](auto zero) {
      using T = decltype(zero);
      for (size_t at = 0, all = size_t(m.size()); at < all; at += words_at_once) {
        WipedVector<T> words = masks.Of<T>(i, at, std::min(words_at_once, all - at));
        w.Visit([&](const auto* data) {
          for (size_t k = 0; k < words.size(); ++k) words[k] = T(T(int64_t(data[at + k])) - words[k]);
        });
        Bytes packed(ring::PackedBytes(words.size(), m.bits));
        ring::Pack<T>(words.data(), words.size(), m.bits, packed.data());
        out(packed);
      }
    });
  }
}

Hash SetupHash(const Engine& engine, const nn::QuantisedWeights& weights, const Masks& masks) {
  Sha256 h;
  WriteSetup(engine, weights, masks, [&](View v) { h.Add(v); });
  return h.Done();
}

void ReadSetup(const Engine& engine, View setup, run::Inputs& inputs) {
  size_t at = 0;
  for (auto& m : engine.masked()) {
    SUF_CHECK(at + size_t(m.bytes()) <= setup.size());
    ByWidth(m, [&](auto zero) {
      using T = decltype(zero);
      WipedVector<T> words(size_t(m.size()));
      ring::Unpack<T>(setup.data() + at, words.size(), m.bits, words.data());
      inputs.Set("Wh." + m.name, std::move(words));
    });
    at += size_t(m.bytes());
  }
  SUF_CHECK(at == setup.size());
}

template <class T>
void Generator::FillMasks(std::map<Hash, RowBlocks<T>>& blocks, const RowShape& shape, bool table,
                          const proto::IndexMask& index, run::Inputs& inputs) {
  store::SegmentList named = index.segments;  // by their B, because model owners may share an index plan
  for (store::SealedSegment& s : named) s.id = HashOf({index.seed->view(), s.id});
  RowBlocks<T>* of = nullptr;
  {
    const std::lock_guard l(m_);
    of = &blocks.try_emplace(index.plan, shape, "B.", BlockWords::kMade).first->second;
  }
  std::vector<Hash> ids;
  for (const store::SealedSegment& s : index.segments) ids.push_back(table ? store::TableId(s.id) : s.id);
  of->Fill(
      named,
      [masks = std::make_shared<const IndexMasks>(index.seed->view(), index.plan), ids = std::move(ids),
       width = shape.width](size_t s, int64_t first, int64_t count) {
        return masks->Rows<T>(ids[s], width, first, count);
      },
      inputs);
}

std::shared_ptr<const run::Inputs> Generator::IndexMasksOf(const store::Job& job, const proto::IndexMask& index) {
  const auto of = engine_.IndexAt(store::IndexOf(job));
  const Hash key = HashOf({index.seed->view(), store::ListHashes(index.plan, index.segments).back()});
  if (store::IsFetch(job))
    return fetches_.Get(key, [&](run::Inputs& b) { FillMasks(tables_, TableShape(of->index), true, index, b); });
  return searches_.Get(
      key, [&](run::Inputs& b) { FillMasks(rows_, SearchShape(of->whole, of->index.search), false, index, b); });
}

void Generator::operator()(proto::DealJob job, store::Sink& to_p0, store::Sink& to_p1) {
  const auto mask = masks_.Get(HashOf({job.weights, job.b_seed->view()}),
                               [&](run::Inputs& b) { Masks(engine_, job.b_seed->view(), job.weights).Fill(b); });
  run::Inputs inputs = *mask;
  if (job.job.entry) inputs.Add(*IndexMasksOf(job.job, job.index));
  auto work = engine_.Compile(job.job);
  pfss::BundleSecrets secrets{{}, job.rho};
  for (int p : {0, 1}) secrets.key[p] = std::move(job.key[p]);
  auto randomness = engine_.backend().Expand(std::move(secrets));
  run::Times times;
  run::Deal(*work->schedule, engine_.backend(), *randomness, inputs, to_p0, to_p1, &times, engine_.timed());
  if (dealt) dealt(job.serial, times);
}

proto::Auditor AuditOf(Engine& engine) {
  proto::Auditor a;
  // a generator of its own, so that B does not stay in memory
  a.generate = [&engine](proto::DealJob job, store::Sink& p0, store::Sink& p1) {
    Generator generate(engine);
    generate(std::move(job), p0, p1);
  };
  a.section = [&engine](const store::Job& job, uint64_t byte) { return engine.Section(job, 0, byte); };
  return a;
}

Outcome RunInference(Engine& engine, proto::Inference& inference, run::Inputs& inputs,
                     const std::function<void(int, int, const std::string&)>& progress) {
  const store::BundleHeader& h = inference.header();
  auto work = engine.Compile(h.job);
  pfss::BundleSecrets secrets{{}, h.rho};
  secrets.key[h.party] = std::move(inference.key());
  auto randomness = engine.backend().Expand(std::move(secrets));
  run::ChannelLink link(inference.channel());
  inference.channel().set_phase(net::Phase::kOffline);
  Outcome out;
  run::PartyJob job{.schedule = *work->schedule,
                    .backend = engine.backend(),
                    .party = int(h.party),
                    .randomness = *randomness,
                    .inputs = inputs,
                    .keys = inference.keys(),
                    .link = link,
                    .progress = progress,
                    .online = [&] { inference.EndOffline(); },
                    .times = &out.times,
                    .parts = engine.parts(),
                    .timed = engine.timed()};
  if (h.party == 1) job.through = [&] { inference.EndOnline(); };
  out.words = run::RunParty(job);
  return out;
}

}  // namespace suf::roles
