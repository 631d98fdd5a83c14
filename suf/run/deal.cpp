#include "suf/run/deal.hpp"

#include <map>

namespace suf::run {
namespace {

// DealerIo: sections are made in any order and leave in schedule order, each once it is done.
class DealerIo : public pfss::Io {
 public:
  DealerIo(const pfss::Schedule& s, Inputs& inputs, const Body* to)
      : meter(s.trace()), t_(s.trace()), inputs_(inputs), to_(to) {
    for (int i : s.dealing())
      if (t_.node(i).op == pfss::Op::kTell) order_.push_back(i);
  }
  View In(int) override {
    SUF_CHECK(false);  // the dealer receives nothing
    return {};
  }
  std::span<uint8_t> Out(int node) override {
    Section& s = open_[node];
    s.bytes = size_t(pfss::PackedBytes(t_.node(node)));
    if (auto it = idle_.lower_bound(s.bytes); it != idle_.end() && it->first <= 2 * s.bytes + 4096)
      s.room = std::move(it->second), idle_.erase(it);
    if (s.room.size() < s.bytes) s.room.resize(s.bytes);
    return std::span(s.room).first(s.bytes);
  }
  Data Input(int node, int element_bytes) override {
    const pfss::Node& n = t_.node(node);
    return inputs_.Get(t_.name(n.label), element_bytes, size_t(pfss::Size(n.shape)));
  }
  void Done(int node) override {
    meter.Done(node);
    if (auto it = open_.find(node); it != open_.end()) it->second.done = true;
    for (; next_ < order_.size(); ++next_) {
      auto it = open_.find(order_[next_]);
      if (it == open_.end() || !it->second.done) return;
      auto begin = Meter::Clock::now();
      for (int p : {0, 1})
        if (t_.node(it->first).attrs[0] & int64_t(pfss::Party(p)))
          to_[p](View(it->second.room).first(it->second.bytes));
      meter.Wire(Meter::Since(begin), 0);
      size_t size = it->second.room.size();
      idle_.emplace(size, std::move(it->second.room));
      open_.erase(it);
    }
  }

  void Keys(double part) override { meter.Keys(part); }

  Meter meter;

 private:
  struct Section {
    Bytes room;  // used again by later ones: every byte of a section is written by its backend
    size_t bytes = 0;
    bool done = false;
  };
  const pfss::Trace& t_;
  Inputs& inputs_;
  const Body* to_;
  std::vector<int> order_;
  size_t next_ = 0;
  std::map<int, Section> open_;
  std::multimap<size_t, Bytes> idle_;  // by size
};

}  // namespace

void Deal(const pfss::Schedule& schedule, pfss::Backend& backend, const pfss::Randomness& randomness, Inputs& inputs,
          const Body& to_p0, const Body& to_p1, Times* times) {
  auto begin = Meter::Clock::now();
  std::array<int64_t, 2> written{};
  Body to[2] = {[&](View v) { written[0] += int64_t(v.size()), to_p0(v); },
                [&](View v) { written[1] += int64_t(v.size()), to_p1(v); }};
  DealerIo io(schedule, inputs, to);
  auto executor = backend.Start(schedule, Role::kDealer);
  io.meter.Mark();
  for (const auto& program : pfss::Programs(schedule, Role::kDealer)) executor->Run(program, randomness, io);
  for (int p : {0, 1}) SUF_CHECK(written[p] == schedule.key_bytes(p));
  if (times) io.meter.Report(Meter::Since(begin), times);
}

}  // namespace suf::run
