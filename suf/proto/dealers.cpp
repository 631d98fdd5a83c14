#include "suf/proto/dealers.hpp"

#include <set>

#include "suf/net/refusal.hpp"

namespace suf::proto {

std::unique_ptr<net::Channel> DealerContact::Dial(std::stop_token stop) const {
  auto ch = dial(std::move(stop));
  if (key != Hash{} && ch->peer().key != key)
    net::EndSession(*ch, net::Refusal::kPin, Cause::kRefused,
                    "the dealer shows another key than the one that this session names; let both parties use the same "
                    "dealers");
  return ch;
}

Dealers::Dealers(std::vector<DealerContact> list) : all_(std::move(list)) {
  std::set<Hash> keys;
  for (const DealerContact& d : all_) SUF_CHECK(d.listed && d.key != Hash{} && keys.insert(d.key).second);
  SUF_CHECK(all_.size() >= 2 && all_.size() <= kMost);
}

std::optional<DealerContact> Dealers::For(const Hash& key) const {
  for (const DealerContact& d : all_)
    if (d.key == key) return d;
  if (all_[0].listed || (all_[0].key != Hash{} && key != Hash{})) return std::nullopt;
  // the only dealer, whose key or name is unknown
  return DealerContact(all_[0].dial, key == Hash{} ? all_[0].key : key, false);
}

}  // namespace suf::proto
