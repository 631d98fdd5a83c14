// Command: embed.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/engine.hpp"
#include "apps/role.hpp"
#include "apps/show.hpp"
#include "apps/texts.hpp"
#include "apps/times.hpp"
#include "suf/base/log.hpp"
#include "suf/model/safetensors.hpp"
#include "suf/model/vocabulary.hpp"
#include "suf/ring/words.hpp"

namespace suf::apps {

using nlohmann::ordered_json;

namespace {

// Row: what `embed` says of one text, without the floats' rounding.
ordered_json Row(const Line& l, const Engine& engine, const Work& work, uint64_t serial,
                 const std::vector<int64_t>& y) {
  ordered_json row{{"schema", "suf.embed/1"}, {"i", l.i}};
  row["id"] = l.id.empty() ? ordered_json(nullptr) : ordered_json(l.id);
  row["n"] = l.ids.size(), row["serial"] = serial, row["plan"] = Hex(engine.hash()),
  row["trace"] = Hex(work.trace.digest());
  row["y"] = y, row["f"] = engine.plan().scales.result;
  std::vector<float> e;
  for (int64_t v : y) e.push_back(float(double(v) / double(int64_t{1} << engine.plan().scales.result)));
  row["embedding"] = e;
  const pfss::Schedule& s = *work.schedule;
  row["rounds"] = s.rounds(), row["frames"] = {s.frame_count(0, true), s.frame_count(1, true)};
  return row;
}

// Booked: bytes a channel has counted so far, by phase and direction.
struct Booked {
  uint64_t p0 = 0, p1 = 0, ahead = 0, setup = 0;
  explicit Booked(const proto::Channel& ch) {
    using proto::Phase;
    p0 = ch.traffic(Phase::kOnline).bytes_received, p1 = ch.traffic(Phase::kOnline).bytes_sent;
    ahead = ch.traffic(Phase::kOffline).bytes_sent, setup = ch.traffic(Phase::kSetup).bytes_received;
  }
};

// Say: one text's line for people, or JSON.
void Say(const EmbedArgs& a, const Line& l, const ordered_json& row) {
  if (a.json) {
    std::cout << row.dump() << std::endl;
    return;
  }
  if (!l.error.empty()) {
    std::cout << "line " << l.i + 1 << ": " << l.error << "\n";
    return;
  }
  const auto& e = row["embedding"];
  std::cout << "line " << l.i + 1 << ": " << l.ids.size() << " tokens, serial " << row["serial"] << ", "
            << Fixed(row["ms"]["online"].get<double>(), 0) << " ms online, embedding [" << Fixed(e[0], 4) << " "
            << Fixed(e[1], 4) << " " << Fixed(e[2], 4) << " .. " << Fixed(e.back(), 4) << "]\n";
}

void WriteEmbeddings(const std::string& path, const std::vector<ordered_json>& rows, int64_t d) {
  std::vector<float> all;
  std::vector<int64_t> index;
  for (auto& r : rows) {
    index.push_back(r["i"].get<int64_t>());
    for (auto& v : r["embedding"]) all.push_back(v.get<float>());
  }
  std::vector<model::NewTensor> tensors{{"embedding", {int64_t(rows.size()), d}, std::span<const float>(all)},
                                        {"line", {int64_t(rows.size())}, std::span<const int64_t>(index)}};
  model::WriteSafetensors(path, tensors, model::Readers::kOwner);
}

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
      tokens_.insert(tokens_.end(), size_t(1 + (*place)[0] + (*place)[1]), uint32_t(l.ids.size()));
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
  Embedding(const EmbedArgs& a, Engine& engine, const std::vector<Line>& lines, proto::Channel& ch,
            proto::DataSession& session)
      : a_(a), engine_(engine), lines_(lines.size()), ch_(ch), session_(session), due_(lines, a.audit, a.one_by_one) {
    ReadSetup(engine, session.Setup(), inputs_);
    setup_ = Booked(ch).setup;
    KeepPages();
    place_ = due_.places.begin();
    begun_ = Clock::now();
  }

  // Do: one text; a result of zero becomes its error.
  void Do(Line* l) {
    if (l->error.empty()) {
      const auto [before, after] = *place_++;
      const int n = int(l->ids.size());
      const auto work = engine_.At(n);  // a fault of the trace is to end the call before an audit
      Audit(before, n);
      Run(l, *work);
      Audit(after, n);
    }
    if (l->error.empty()) {
      Say(a_, *l, rows_.back());
    } else {
      Say(a_, *l, {{"i", l->i}, {"error", l->error}});
    }
  }

  // End: what was done, in the log and in --out.
  void End() {
    session_.End();
    const double seconds = Since(begun_);
    log::Info(Str("embed: ", sentences_, sentences_ == 1 ? " sentence in " : " sentences in ", Fixed(seconds, 2),
                  " s, ", Fixed(double(sentences_) / seconds, 2), " a second"));
    if (!a_.out.empty()) WriteEmbeddings(a_.out, rows_, engine_.plan().dims.d);
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

  void Run(Line* l, const Work& work) {
    inputs_.Set("tokens", std::vector<int32_t>(l->ids.begin(), l->ids.end()));
    const Booked before(ch_);
    Outcome out;
    double fetch = 0, dealt = 0, wall = 0;
    uint64_t serial = 0;
    const auto start = Clock::now();
    Bar bar(Str("text ", l->i + 1, " of ", lines_));
    bar.At(0, "keys from the dealer");
    session_.Infer(
        uint32_t(l->ids.size()),
        [&](proto::Inference& inference) {
          fetch = inference.fetch_ms(), dealt = inference.dealt_ms();
          serial = inference.header().serial;
          out = RunInference(engine_, inference, inputs_, [&](int step, int steps, const std::string& scope) {
            bar.At(double(step) / steps, scope);
          });
          wall = Since(start) * 1e3;
        },
        due_.Take());
    ++sentences_;
    inputs_.Drop("tokens");
    std::vector<int64_t> y;
    const int bits = work.trace.node(work.trace.result(1)).ring.bits;
    for (uint64_t w : out.words) y.push_back(ring::Signed(w, bits));
    if (std::all_of(y.begin(), y.end(), [](int64_t v) { return v == 0; })) {  // only P1 ever sees this
      l->error =
          "the sum of this text's token vectors is zero, so it has no direction and no embedding; change the text";
      return;
    }
    ordered_json row = Row(*l, engine_, work, serial, y);
    const Booked after(ch_);
    row["bytes"] = {{"p0", after.p0 - before.p0},
                    {"p1", after.p1 - before.p1},
                    {"p1_offline", after.ahead - before.ahead},
                    {"setup", std::exchange(setup_, 0)}};
    row["key_bytes"] = {work.schedule->key_bytes(0), work.schedule->key_bytes(1)};
    // ahead: claim, and the frame before the inference
    const double online = out.times.total * 1e3;
    row["ms"] = {{"deal", dealt},
                 {"transport", std::max(0.0, fetch - dealt)},
                 {"ahead", std::max(0.0, wall - fetch - online)},
                 {"online", online}};
    row["rss_mb"] = {PeakRss()};
    row["at_s"] = Since(begun_);
    row["times"]["p1"] = TimesJson(out.times);
    rows_.push_back(std::move(row));
  }

  const EmbedArgs& a_;
  Engine& engine_;
  const size_t lines_;
  proto::Channel& ch_;
  proto::DataSession& session_;
  Due due_;
  std::vector<std::array<int, 2>>::const_iterator place_;
  proto::Inputs inputs_;
  uint64_t setup_;  // bytes, told with the first text
  Clock::time_point begun_;
  size_t sentences_ = 0;
  std::vector<ordered_json> rows_;  // of the texts that have an embedding
};

// Texts: the call's texts as ids.
std::vector<Line> Texts(const EmbedArgs& a, const nn::Plan& plan) {
  auto lines = ReadTexts(a.source);
  const std::string vocabulary = ReadFile(a.vocab, "the vocabulary ", "it is vocab.txt of the model");
  if (HashOf({AsView(vocabulary)}) != plan.tokenizer)
    Fail(Exit::kRefused, a.vocab, " is not the vocabulary that the plan was made for; ask the model owner for it");
  // it decides how many tokens a text has, which the model owner sees
  const bool known = !model::KnownVocabulary(plan.tokenizer).empty();
  (known ? log::Info : log::Warn)("embed: " + VocabularyOf(plan.tokenizer));
  TokenizeAll(model::Tokenizer::Load(a.vocab), plan.max_tokens, a.truncate, &lines);
  return lines;
}

}  // namespace

int RunEmbed(const EmbedArgs& a) {
  Harden();
  auto own = Own("embed", a.certs, proto::Role::kData, a.pins);
  Engine engine(LoadPlan(a.plan));
  auto lines = Texts(a, engine.plan());  // before anybody hears of them
  if (std::none_of(lines.begin(), lines.end(), [](auto& l) { return l.error.empty(); })) {
    for (auto& l : lines) Say(a, l, {{"i", l.i}, {"error", l.error}});
    return Finish(lines);
  }
  if (!a.out.empty()) model::ProbeSafetensors(a.out);
  proto::Store store(a.store);
  for (auto& n : store.notices()) log::Warn(Str("embed: ", n));
  std::unique_ptr<proto::Recorder> recorder;
  if (!a.record.empty()) recorder = std::make_unique<proto::Recorder>(a.record);
  proto::Plan plan = engine.ForProto();
  const auto timeout = Timeout(a.timeout);
  auto ch = proto::Dial(own, proto::Address::Parse(a.connect), proto::Role::kModel, timeout);
  ch->set_recorder(recorder.get());
  proto::DataSession session(*ch, plan, store, CallDealer(own, a.dealer, timeout));
  Embedding embedding(a, engine, lines, *ch, session);
  for (Line& l : lines) embedding.Do(&l);
  embedding.End();
  return Finish(lines);
}

}  // namespace suf::apps
