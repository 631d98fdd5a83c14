#include "suf/proto/catalogue.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

#include "suf/proto/bundle_plan.hpp"
#include "suf/proto/internal/permitted.hpp"

namespace suf::proto {
namespace {

// The sizes of plan, tokenizer and index plans.
constexpr size_t kCatalogueBytes = (2 + store::kMostIndexes) * sizeof(uint64_t);

// Hangs up a channel that is still used when the time is over. A peer that sends or reads slowly never makes a wait of
// the channel end.
class TimeLimit {
 public:
  TimeLimit(net::Channel& ch, net::Millis time)
      : time_(time), thread_([this, &ch](const std::stop_token& stop) {
          std::mutex m;
          std::unique_lock l(m);
          std::condition_variable_any().wait_for(l, stop, time_, [] { return false; });
          if (stop.stop_requested()) return;
          passed_ = true;
          ch.HangUp();
        }) {}
  // Runs f. Throws Cause::kPeer for its errors after the time is over.
  template <class F>
  auto Run(const net::Channel& ch, F&& f) {
    try {
      return f();
    } catch (const Error&) {
      if (!passed_) throw;
      Fail(Cause::kPeer, "the public files did not pass between ", ch.peer_title(), " and us within ",
           time_.count() / 1000.0, " s; try again, or send them by another way");
    }
  }

 private:
  const net::Millis time_;
  std::atomic<bool> passed_{false};
  std::jthread thread_;
};

}  // namespace

PublicFiles Pull(net::Channel& p0, net::Millis time) {
  return net::Guarded(p0, [&] {
    TimeLimit limit(p0, time);
    return limit.Run(p0, [&] {
      Writer request;
      request.Put(store::kWireVersion);
      p0.Send(net::kPull, request.bytes());
      const Bytes catalogue = p0.RecvExact(net::kCatalogue, kCatalogueBytes);
      Reader r(catalogue, "a catalogue");
      const auto plan = r.Get<uint64_t>(), tokenizer = r.Get<uint64_t>();
      std::vector<uint64_t> indexes;
      uint64_t left = kMostPulled;
      bool fits = plan > 0;
      const auto take = [&](uint64_t bytes) {
        fits = fits && bytes <= left;
        if (fits) left -= bytes;
      };
      take(plan), take(tokenizer);
      while (r.left()) take(indexes.emplace_back(r.Get<uint64_t>()));
      if (!fits)
        net::EndSession(p0, net::Refusal::kProtocol, Cause::kPeer, p0.peer_title(), " offers a plan of ", plan,
                        " bytes and a tokenizer of ", tokenizer, "; with index plans, all together may have 1 to ",
                        kMostPulled, "; have its operator send them by another way");
      const auto receive = [&](uint64_t bytes) {
        if (!bytes) return std::string();
        const Bytes file = p0.RecvExact(net::kFile, bytes);
        return std::string(file.begin(), file.end());
      };
      PublicFiles files{.plan = receive(plan), .tokenizer = receive(tokenizer)};
      for (const uint64_t bytes : indexes)
        if (bytes) files.indexes.push_back(receive(bytes));
      p0.Send(net::kEnd, {});
      return files;
    });
  });
}

void ServePull(net::Channel& p1, View request, const PublicFiles* files, OwnerPolicy* policy, net::Millis time) {
  net::Guarded(p1, [&] {
    TimeLimit limit(p1, time);
    limit.Run(p1, [&] {
      Reader r(request, "a request for public files");
      CheckWireVersion(p1, r.Get<uint32_t>());
      r.ExpectEnd();
      std::shared_ptr<void> seat;
      if (policy)
        seat = Permitted(p1, *policy, {}, [&] {
          policy->Check(p1.peer().key);
          return policy->Admit(p1.peer().key);
        });
      if (!files)
        net::EndSession(p1, net::Refusal::kNoFiles, Cause::kRefused, p1.peer_title(),
                        " requests the plan and the tokenizer, and this service offers no files; send them by another "
                        "way");
      SUF_CHECK(!files->plan.empty() && files->bytes() <= kMostPulled && files->indexes.size() <= store::kMostIndexes);
      Writer catalogue;
      catalogue.Put(uint64_t{files->plan.size()});
      catalogue.Put(uint64_t{files->tokenizer.size()});
      for (size_t i = 0; i < store::kMostIndexes; ++i)
        catalogue.Put(uint64_t{i < files->indexes.size() ? files->indexes[i].size() : 0});
      p1.Send(net::kCatalogue, catalogue.bytes());
      for (const std::string* file : {&files->plan, &files->tokenizer})
        if (!file->empty()) p1.Send(net::kFile, AsView(*file));
      for (const std::string& index : files->indexes) p1.Send(net::kFile, AsView(index));
      (void)p1.RecvExact(net::kEnd, 0);
    });
  });
}

}  // namespace suf::proto
