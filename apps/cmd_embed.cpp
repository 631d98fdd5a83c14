// Command: embed.
#include <algorithm>

#include "apps/engine.hpp"
#include "apps/results.hpp"
#include "apps/role.hpp"
#include "apps/show.hpp"
#include "apps/texts.hpp"
#include "suf/base/log.hpp"
#include "suf/model/safetensors.hpp"
#include "suf/model/vocabulary.hpp"

namespace suf::apps {

namespace {

// Booked: bytes a channel has counted so far, by phase and direction.
struct Booked {
  uint64_t p0 = 0, p1 = 0, ahead = 0, setup = 0;
  explicit Booked(const net::Channel& ch) {
    using net::Phase;
    p0 = ch.traffic(Phase::kOnline).bytes_received, p1 = ch.traffic(Phase::kOnline).bytes_sent;
    ahead = ch.traffic(Phase::kOffline).bytes_sent, setup = ch.traffic(Phase::kSetup).bytes_received;
  }
};

// PlaceAudits: how many audits come before and after each text. All texts have as many, but for a rest that random ones
// have; a text's own bundle is at a random place among those of its length, so that the dealer cannot know which is
// used.
std::vector<std::array<int, 2>> PlaceAudits(size_t texts, size_t audits) {
  auto below = [](uint64_t n) {
    uint64_t r;
    RandomBytes({reinterpret_cast<uint8_t*>(&r), sizeof r});
    return r % n;
  };
  std::vector<int> count(texts, int(audits / texts));
  for (size_t i = 0, rest = audits % texts; i < texts; ++i)
    if (below(texts - i) < rest) ++count[i], --rest;
  std::vector<std::array<int, 2>> places;
  for (int c : count) {
    int before = int(below(uint64_t(c) + 1));
    places.push_back({before, c - before});
  }
  return places;
}

// Due: the bundles that texts and audits take, one after the other.
class Due {
 public:
  Due(const std::vector<Line>& lines, int audits, bool one_by_one) : one_by_one_(one_by_one) {
    places = PlaceAudits(size_t(std::count_if(lines.begin(), lines.end(), [](auto& l) { return l.error.empty(); })),
                         size_t(audits));
    auto place = places.begin();
    for (const Line& l : lines) {
      if (!l.error.empty()) continue;
      tokens_.insert(tokens_.end(), size_t(1 + (*place)[0] + (*place)[1]), uint32_t(l.n));
      ++place;
    }
  }
  // Take: the next bundle; returns the tokens of the one after it, which is asked for meanwhile; 0: none is.
  uint32_t Take() { return ++taken_ < tokens_.size() && !one_by_one_ ? tokens_[taken_] : 0; }
  std::vector<std::array<int, 2>> places;  // audits before and after each text

 private:
  bool one_by_one_;
  std::vector<uint32_t> tokens_;
  size_t taken_ = 0;
};

// Embedding: the texts of one call over one session, with their audits.
class Embedding {
 public:
  Embedding(const EmbedArgs& a, Engine& engine, const std::vector<Line>& lines, net::Channel& ch,
            proto::DataSession& session, Results& results)
      : engine_(engine),
        lines_(lines.size()),
        ch_(ch),
        session_(session),
        results_(results),
        due_(lines, a.audit, a.one_by_one) {
    for (auto& n : session.notices()) log::Warn(Str("embed: ", n));
    ReadSetup(engine, session.Setup(), inputs_);
    setup_ = Booked(ch).setup;
    KeepPages();
    place_ = due_.places.begin();
    begun_ = Clock::now();
  }

  // Do: one text; its error may come later, from results_.
  void Do(Line* l) {
    if (!l->error.empty()) return results_.Add({.line = l});
    const auto [before, after] = *place_++;
    const int n = int(l->n);
    const auto work = engine_.At(n);  // a fault of the trace is to end the call before an audit
    Audit(before, n);
    Done done = Run(l, work);
    Audit(after, n);
    results_.Add(std::move(done));
  }

  // End: of the session, and what was done, in the log.
  void End() {
    session_.End();
    const double seconds = Since(begun_);
    log::Info(Str("embed: ", sentences_, sentences_ == 1 ? " sentence in " : " sentences in ", Fixed(seconds, 2),
                  " s, ", Fixed(double(sentences_) / seconds, 2), " a second"));
  }

 private:
  using Clock = std::chrono::steady_clock;
  static double Since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

  void Audit(int count, int n) {
    for (int i = 0; i < count; ++i) {
      session_.Audit(uint32_t(n), due_.Take());
      log::Info("embed: the model owner audited a bundle and found nothing wrong");
    }
  }

  // Run: nothing in it looks at the result; what happens until the next frame takes as long for any.
  Done Run(Line* l, std::shared_ptr<const Work> work) {
    inputs_.Set("tokens", std::move(l->ids));
    const Booked before(ch_);
    Done done{.line = l, .work = std::move(work)};
    double fetch = 0, wall = 0;
    const auto start = Clock::now();
    Bar bar(Str("text ", l->i + 1, " of ", lines_));
    bar.At(0, "keys from the dealer");
    session_.Infer(
        uint32_t(l->n),
        [&](proto::Inference& inference) {
          fetch = inference.fetch_ms(), done.deal_ms = inference.dealt_ms();
          done.serial = inference.header().serial;
          done.out = RunInference(engine_, inference, inputs_, [&](int step, int steps, const std::string& scope) {
            bar.At(double(step) / steps, scope);
          });
          wall = Since(start) * 1e3;
        },
        due_.Take());
    ++sentences_;
    inputs_.Drop("tokens");
    const Booked after(ch_);
    done.bytes = {after.p0 - before.p0, after.p1 - before.p1, after.ahead - before.ahead, std::exchange(setup_, 0)};
    done.transport_ms = std::max(0.0, fetch - done.deal_ms);
    done.ahead_ms = std::max(0.0, wall - fetch - done.out.times.total * 1e3);
    done.at_s = Since(begun_);
    return done;
  }

  Engine& engine_;
  const size_t lines_;
  net::Channel& ch_;
  proto::DataSession& session_;
  Results& results_;
  Due due_;
  std::vector<std::array<int, 2>>::const_iterator place_;
  run::Inputs inputs_;
  uint64_t setup_;  // bytes, told with the first text
  Clock::time_point begun_;
  size_t sentences_ = 0;
};

// Texts: the call's texts as ids.
std::vector<Line> Texts(const EmbedArgs& a, const nn::Plan& plan) {
  auto lines = ReadTexts(a.source);
  const std::string vocabulary = ReadFile(a.vocab, "the vocabulary ", "it is vocab.txt of the model");
  if (HashOf({AsView(vocabulary)}) != plan.tokenizer)
    Fail(Cause::kRefused, a.vocab, " is not the vocabulary that the plan was made for; ask the model owner for it");
  // it decides how many tokens a text has, which the model owner sees
  const bool known = !model::KnownVocabulary(plan.tokenizer).empty();
  (known ? log::Info : log::Warn)("embed: " + VocabularyOf(plan.tokenizer));
  TokenizeAll(model::Tokenizer::Load(a.vocab), plan.max_tokens, a.truncate, &lines);
  return lines;
}

}  // namespace

int RunEmbed(const EmbedArgs& a) {
  Harden();
  UseVariant("embed", a.variant);
  auto own = Own("embed", a.certs, Role::kData, a.pins);
  Engine engine(LoadPlan(a.plan));
  auto lines = Texts(a, engine.plan());  // before anybody hears of them
  Results results(a, engine);
  if (std::none_of(lines.begin(), lines.end(), [](auto& l) { return l.error.empty(); })) {
    for (auto& l : lines) results.Add({.line = &l});
    results.End();
    return Finish(lines);
  }
  if (!a.out.empty()) model::ProbeSafetensors(a.out);
  store::Store store(a.store);
  for (auto& n : store.notices()) log::Warn(Str("embed: ", n));
  std::unique_ptr<net::Recorder> recorder;
  if (!a.record.empty()) recorder = std::make_unique<net::Recorder>(a.record);
  proto::BundlePlan plan = engine.ForProto();
  const auto timeout = Timeout(a.timeout);
  const auto keys = KeysOf(a.keys, store);
  {  // the model owner sees when the connection ends: not only when all is written
    auto ch = net::Dial(own, net::Address::Parse(a.connect), Role::kModel, timeout);
    ch->set_recorder(recorder.get());
    proto::DataSession session(*ch, plan, store, CallDealer(own, a.dealer, timeout), keys);
    Embedding embedding(a, engine, lines, *ch, session, results);
    for (Line& l : lines) embedding.Do(&l);
    embedding.End();
  }
  results.End();
  return Finish(lines);
}

}  // namespace suf::apps
