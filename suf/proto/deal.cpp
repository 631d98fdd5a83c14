#include "suf/proto/deal.hpp"

namespace suf::proto {
namespace {

class DealerIo : public pfss::Io {
 public:
  DealerIo(const pfss::Schedule& s, Inputs& inputs, const Body* to) : t_(s.trace()), inputs_(inputs), to_(to) {}
  View In(int) override {
    SUF_CHECK(false);  // the dealer receives nothing
    return {};
  }
  std::span<uint8_t> Out(int node) override {
    Flush();
    node_ = node;
    bytes_ = size_t(pfss::PackedBytes(t_.node(node)));
    if (section_.size() < bytes_) section_.resize(bytes_);
    return std::span(section_).first(bytes_);
  }
  Data Input(int node, int element_bytes) override {
    const pfss::Node& n = t_.node(node);
    return inputs_.Get(t_.name(n.label), element_bytes, size_t(pfss::Size(n.shape)));
  }
  void Flush() {
    if (node_ < 0) return;
    for (int p : {0, 1})
      if (t_.node(node_).attrs[0] & int64_t(pfss::Party(p))) to_[p](View(section_).first(bytes_));
    node_ = -1;
  }

 private:
  const pfss::Trace& t_;
  Inputs& inputs_;
  const Body* to_;
  Bytes section_;  // grows only: every byte of a section is written by its backend
  size_t bytes_ = 0;
  int node_ = -1;
};

}  // namespace

void Deal(const pfss::Schedule& schedule, pfss::Backend& backend, const pfss::Randomness& randomness, Inputs& inputs,
          const Body& to_p0, const Body& to_p1) {
  std::array<int64_t, 2> written{};
  Body to[2] = {[&](View v) { written[0] += int64_t(v.size()), to_p0(v); },
                [&](View v) { written[1] += int64_t(v.size()), to_p1(v); }};
  DealerIo io(schedule, inputs, to);
  auto executor = backend.Start(schedule, pfss::Role::kDealer);
  for (const auto& program : pfss::Programs(schedule, pfss::Role::kDealer)) executor->Run(program, randomness, io);
  io.Flush();
  for (int p : {0, 1}) SUF_CHECK(written[p] == schedule.key_bytes(p));
}

}  // namespace suf::proto
