#include "suf/pfss/dag.hpp"

#include <algorithm>

namespace suf::pfss {

Hash DagDigest(const Trace& t) {
  SUF_CHECK(t.closed());
  std::vector<Hash> of;
  Sha256 ordered;
  for (const Node& n : t.nodes()) {
    Sha256 h;
    h.Add(Name(n.op)).Number(n.know).Number(int(n.ring.kind)).Number(n.ring.bits);
    auto list = [&h](const auto& v) {
      h.Number(uint64_t(v.size()));
      for (auto x : v) h.Number(int64_t(x));
    };
    list(n.shape);
    h.Number(uint64_t(n.args.size()));
    for (int a : n.args) h.Add(of[size_t(a)]);
    if (n.op == Op::kTell) {  // the pad is a node and enters by its hash
      h.Number(n.attrs[0]);
      if (n.attrs[1] >= 0) h.Add(of[size_t(n.attrs[1])]);
    } else {
      list(n.attrs);
    }
    if (n.data) list(*n.data);
    of.push_back(h.Done());
    if (n.op == Op::kRand || n.op == Op::kTell || n.op == Op::kSend) ordered.Add(of.back());
  }
  std::array<Hash, 2> result{};
  for (int p : {0, 1}) {
    if (t.result(p) >= 0) {
      result[size_t(p)] = of[size_t(t.result(p))];
    } else if (!t.results(p).empty()) {
      Sha256 h;
      for (const Trace::Result& r : t.results(p)) h.Add(of[size_t(r.node)]).Number(r.kept);
      result[size_t(p)] = h.Done();
    }
  }
  std::sort(of.begin(), of.end());
  Sha256 all;
  all.Add("suf dag 1").Number(uint64_t(of.size()));
  for (const Hash& h : of) all.Add(h);
  all.Add(ordered.Done()).Add(result[0]).Add(result[1]);
  return all.Done();
}

}  // namespace suf::pfss
