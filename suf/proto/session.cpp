#include "suf/proto/session.hpp"

#include "suf/net/refusal.hpp"
#include "suf/proto/internal/bond.hpp"

namespace suf::proto {

void Inference::EndOffline() {
  SUF_CHECK(!std::exchange(offline_ended_, true));
  ch_.set_phase(net::Phase::kControl);
  bool p1 = ch_.self().role == Role::kData;
  if (p1) bond_.Send(net::kOfflineEnd);
  bond_.Recv(net::kOfflineEnd);
  if (!p1) bond_.Send(net::kOfflineEnd);
  ch_.set_phase(net::Phase::kOnline);
}

void Inference::EndOnline() {
  SUF_CHECK(offline_ended_ && ch_.self().role == Role::kData && !online_ended_);
  bundle_.keys->AwaitAll();  // notices altered keys, even unread ones
  ch_.set_phase(net::Phase::kControl);
  if (receipt_) receipt_->Close();
  const Bytes theirs = bond_.Recv(net::kOnlineEnd, receipt_ ? kSignedTimeBytes : 0);
  if (receipt_) receipt_->Take(theirs);
  bond_.Send(net::kBye, receipt_ ? receipt_->Sign() : Bytes());
  online_ended_ = true;
}

}  // namespace suf::proto
