// Helpers for tests of lanes: a random model, its texts, and three roles in one process.
#pragma once
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <fstream>
#include <map>
#include <tuple>

#include "suf/base/scratch_test.hpp"
#include "suf/cpu/packed.hpp"
#include "suf/model/tiny_test.hpp"
#include "suf/nn/read/simulate.hpp"
#include "suf/roles/lanes.hpp"
#include "suf/roles/links_test.hpp"
#include "suf/roles/model_owner.hpp"

namespace suf::roles {

// A plan and its weights, made once.
struct LaneModel {
  const model::LoadedModel loaded =
      model::SmallModel(1, {.d = 8, .heads = 2, .ff = 8, .vocab = 6, .layers = 1, .positions = 8});
  const nn::Plan plan = model::SmallPlan(loaded, 8);
  const nn::QuantisedWeights weights = nn::Quantise(loaded.weights, plan);
};
inline const LaneModel& TheLaneModel() {
  static const LaneModel made;
  return made;
}

// Returns text number n, of n + 2 tokens.
inline model::Ids TextOf(int n) {
  model::Ids ids;
  for (int i = 0; i < n + 2; ++i) ids.push_back(model::Ids::value_type((i + n) % 6));
  return ids;
}

// The results of texts, in the order of their delivery.
class LaneResults {
 public:
  // Returns the callback of text number n.
  Lanes::OnResult Of(int n) {
    return [this, n](LaneResult result) {
      if (auto* e = std::get_if<Embedding>(&result)) {
        const model::Ids text = TextOf(n);
        const std::vector<int32_t> ids(text.begin(), text.end());
        EXPECT_EQ(e->Integers(), nn::PlanSimulator(TheLaneModel().plan, TheLaneModel().weights).Run(ids).y);
        ends.push_back(n);
        return;
      }
      try {
        std::rethrow_exception(result.index() == 1 ? std::get<1>(result) : std::get<LateError>(result).error);
      } catch (const Error& e) {
        errors.push_back(e.what());
      }
      ends.push_back(-n);
    };
  }
  std::vector<int> ends;  // numbers of texts; negative: with an error
  std::vector<std::string> errors;
};

// A session as P0 sees it.
struct SeenSession {
  std::vector<std::tuple<bool, uint16_t, uint32_t>> frames;  // whether P0 sent it, kind, bytes
  std::string end = "none";                                  // the error; empty: it ended well
  bool operator==(const SeenSession&) const = default;
};

inline constexpr net::Identity kSecondDealer{Role::kDealer, {15}};

// Three roles in one process. P0 serves each connection in a thread of its own.
struct LaneWorld {
  // With `listed`, both parties list two dealers.
  explicit LaneWorld(Server::Options o = {}, bool listed = false) {
    for (int i : {0, 1}) {
      Dealer::Options deals{.service = {.turns = {.at_once = 8}}};
      deals.service.dealt = [this, i](const proto::DealtPair&) { ++dealt[i]; };
      (i ? second : dealer).emplace(engine[0], dir / (i ? "second" : "dealer"), std::move(deals));
    }
    o.turns.at_once = at_once;
    o.setup = [this, told = std::move(o.setup)](const PeerName&, uint64_t sent, uint64_t all) {
      set_up += sent == all;
    };
    o.over = [this](const PeerName& peer, const Error* error) {
      const std::lock_guard l(m);
      ends[peer.session] = error ? error->what() : "";
      changed.notify_all();
    };
    o.ran = [this](const PeerName&, const store::Job& job, uint64_t, const run::Times&) {
      const std::lock_guard l(m);
      ran.push_back(job);
    };
    server.emplace(engine[1], nn::QuantisedWeights(TheLaneModel().weights), home[0],
                   listed ? List(Role::kModel) : links.Dial(Role::kModel), std::move(o));
  }
  ~LaneWorld() {
    for (std::thread& t : serving) t.join();
  }
  Lanes::Options Options(int parallel) {
    Lanes::Options o;
    o.parallel = parallel;
    o.dial = [this](std::stop_token, size_t) {
      auto [near, far] = net::InProcessPair(kId[int(Role::kData)], kId[int(Role::kModel)]);
      const std::lock_guard l(m);
      ++dialled;
      auto record = std::make_unique<net::Recorder>(Record(dialled));
      far->set_recorder(record.get());
      serving.emplace_back([this, ch = std::move(far), kept = std::move(record)]() mutable {
        try {
          server->Serve(*ch);
        } catch (const Error&) {
        }
        ch.reset();
      });
      return std::move(near);
    };
    return o;
  }
  Lanes Begin(Lanes::Options o) { return Begin(std::move(o), links.Dial(Role::kData)); }
  Lanes Begin(Lanes::Options o, proto::Dealers dealers) {
    return {engine[2], home[1], std::move(dealers), std::move(o)};
  }
  // Returns the list of both dealers for a party. The second one can be cut off.
  proto::Dealers List(Role role) {
    const proto::DialDealer other = [this, dial = second_links.Dial(role)](std::stop_token stop) {
      if (cut_off) Fail(Cause::kPeer, "the second dealer cannot be reached");
      return dial(std::move(stop));
    };
    return proto::Dealers(std::vector<proto::DealerContact>{{links.Dial(role), kId[int(Role::kDealer)].key, true},
                                                            {other, kSecondDealer.key, true}});
  }
  // Submits text number n.
  uint64_t Submit(Lanes& lanes, int n, int priority = 0) { return lanes.Submit(TextOf(n), priority, results.Of(n)); }
  // Runs the texts of these numbers with RunInLanes.
  size_t Run(Lanes::Options o, const std::vector<int>& numbers) {
    return Run(std::move(o), links.Dial(Role::kData), numbers);
  }
  size_t Run(Lanes::Options o, proto::Dealers dealers, const std::vector<int>& numbers) {
    std::vector<model::Ids> texts;
    for (int n : numbers) texts.push_back(TextOf(n));
    return RunInLanes(engine[2], home[1], std::move(dealers), std::move(o), std::move(texts),
                      [&](size_t text, Embedding e) { results.Of(numbers[text])(std::move(e)); });
  }
  // Returns P1's memory for a text.
  uint64_t MemoryOf(int n, uint64_t window = store::kKeyWindow) {
    return engine[2].ForProto(Role::kData).needs(store::JobOf(uint32_t(TextOf(n).size())), window);
  }
  void AwaitOver(int count) {
    std::unique_lock l(m);
    changed.wait(l, [&] { return int(ends.size()) >= count; });
  }
  // Returns so many sessions, which have ended, in the order in which they began.
  std::vector<SeenSession> Seen(int count) {
    AwaitOver(count);
    std::vector<SeenSession> all;
    for (int i = 1; i <= count; ++i) {
      SeenSession& seen = all.emplace_back();
      seen.end = ends.at(uint64_t(i));
      std::ifstream file(Record(i), std::ios::binary);
      const Bytes record{std::istreambuf_iterator<char>(file), {}};
      Reader r(record, "a record");
      (void)r.Raw(8);
      while (r.left()) {
        const bool sent = r.Get<uint8_t>();
        (void)r.Get<uint8_t>();
        const auto bytes = r.Get<uint32_t>();
        seen.frames.emplace_back(sent, r.Get<uint16_t>(), bytes);
        (void)r.Raw(sizeof(uint16_t) + bytes);
      }
    }
    return all;
  }
  std::string Record(int session) const { return Str(dir / "record", session); }

  int at_once = 8;
  Scratch dir;
  std::unique_ptr<pfss::Backend> backend = cpu::MakePacked(exec::DefaultPools());
  ModelEngine engine[3] = {
      {TheLaneModel().plan, *backend}, {TheLaneModel().plan, *backend}, {TheLaneModel().plan, *backend}};
  store::Home home[2] = {store::Home(dir / "p0"), store::Home(dir / "p1")};
  std::optional<Dealer> dealer;
  Links links{dealer};
  std::optional<Dealer> second;
  Links second_links{second, kSecondDealer};
  std::atomic<bool> cut_off{false};
  std::atomic<int> dealt[2] = {};  // pairs, by dealer
  std::optional<ModelOwner> server;
  std::mutex m;  // guards the members below
  std::condition_variable changed;
  std::vector<std::thread> serving;
  std::vector<store::Job> ran;  // in the order of their ends at P0
  int dialled = 0;
  std::map<uint64_t, std::string> ends;  // of sessions by number: the error; empty: well
  std::atomic<int> set_up{0};
  LaneResults results;
};

}  // namespace suf::roles
