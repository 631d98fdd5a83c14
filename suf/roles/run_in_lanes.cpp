#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>
#include <thread>

#include "suf/roles/internal/open_lines.hpp"
#include "suf/roles/lanes.hpp"

namespace suf::roles {
namespace {

// The batches of one session, by number.
struct LaneShare {
  SessionPlace place;
  std::vector<size_t> batches = {};
};

// Spreads batches over the sessions of their dealers in turn. Returns those sessions that have batches.
std::vector<LaneShare> SharesOf(const std::vector<std::vector<size_t>>& batches, const std::vector<size_t>& dealer_of,
                                size_t dealers, const Lanes::Options& options) {
  std::vector<LaneShare> shares;
  for (int i = 0; i < options.parallel; ++i) shares.push_back({SessionPlaceOf(size_t(i), dealers, options.servers)});
  std::vector<size_t> next(dealers);
  for (size_t d = 0; d < dealers; ++d) next[d] = d;
  for (size_t i = 0; i < batches.size(); ++i) {
    const size_t dealer = dealer_of[batches[i][0]];
    shares[next[dealer]].batches.push_back(i);
    next[dealer] += dealers;
    if (next[dealer] >= shares.size()) next[dealer] = dealer;
  }
  std::erase_if(shares, [](const LaneShare& s) { return s.batches.empty(); });
  return shares;
}

}  // namespace

size_t RunInLanes(ModelEngine& engine, store::Home& store, proto::Dealers dealers, Lanes::Options options,
                  std::vector<model::Ids> texts, const std::function<void(size_t, Embedding)>& done) {
  CheckLaneOptions(options, dealers.size());
  std::atomic<bool> failed{false};
  options.client.stop = [&, stop = options.client.stop] { return failed || (stop && stop()); };
  std::optional<store::Draws> draws = DrawsFor(store, dealers);
  const size_t count_of_dealers = dealers.size();
  DataOwner owner(engine, store, std::move(dealers), options.client);
  for (const model::Ids& text : texts) owner.Check(text);
  const DrawnTexts drawn = DrawDealers(draws, texts);
  std::vector<size_t> kinds = LengthsOf(texts);  // of texts that can be in one batch
  for (size_t i = 0; i < kinds.size(); ++i) kinds[i] = kinds[i] * count_of_dealers + drawn.dealers[i];
  const std::vector<std::vector<size_t>> batches = BatchesOf(kinds, size_t(options.batch));
  std::vector<TextBatch> moved = MoveToBatches(std::move(texts), batches);
  const Client::AuditPlaces places = owner.PlaceAudits(batches.size());
  OpenLines lines(options);
  std::mutex m;  // guards the members below
  std::exception_ptr error;
  size_t count = 0;
  std::promise<void> first;  // set when the first session is open or failed
  const std::shared_future<void> first_over = first.get_future().share();
  const std::vector<LaneShare> shares = SharesOf(batches, drawn.dealers, count_of_dealers, options);
  const auto run = [&](size_t lane) {
    const LaneShare& share = shares[lane];
    LaneLine line{.place = share.place};
    std::vector<TextBatch> mine;
    Client::AuditPlaces audits;
    for (const size_t i : share.batches) {
      mine.push_back(std::move(moved[i]));
      audits.push_back(places[i]);
    }
    const size_t all = mine.size();
    const auto note = [&] {
      const std::lock_guard l(m);
      if (!error) error = std::current_exception();
    };
    bool waited_for = lane == 0;  // the other lanes wait for the first one
    try {
      if (lane) first_over.wait();
      if (failed) return;
      lines.Open(owner, line);
      if (std::exchange(waited_for, false)) first.set_value();
      const size_t ran = line.session->RunBatches(
          std::move(mine),
          [&](size_t i, std::vector<Embedding> all_of) {
            const std::lock_guard l(m);
            const std::vector<size_t>& of = batches[share.batches[i]];
            count += of.size();
            for (size_t k = 0; k < of.size(); ++k) {
              if (draws) draws->Settle(drawn.tags[of[k]], drawn.dealers[of[k]]);
              done(of[k], std::move(all_of[k]));
            }
          },
          std::move(audits));
      try {
        if (ran == all) line.session->End();
      } catch (...) {  // of a run that failed behind the last frame; the other sessions go on
        note();
      }
    } catch (...) {
      note();
      failed = true;
      if (waited_for) first.set_value();
      if (line.session && line.session->audit_failed()) lines.Stop();
    }
    lines.Drop(line);
  };
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < shares.size(); ++i) threads.emplace_back([&, i] { run(i); });
  }
  if (error) std::rethrow_exception(error);
  return count;
}

}  // namespace suf::roles
