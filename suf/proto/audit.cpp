#include "suf/proto/audit.hpp"

#include <algorithm>

#include "suf/proto/internal/bond.hpp"

namespace suf::proto {
namespace {

// Bytes of kOpened: K_1 and the hash of P1's bundle.
constexpr size_t kOpenedBytes = 64;

// A comparison of a body that is dealt again with the stored one, chunk by chunk.
class BodyComparison {
 public:
  BodyComparison(store::KeySource& body, Difference* d) : body_(body), d_(d) {}
  void operator()(View data) {
    const View mine = body_.Data(chunk_++);
    if (!Equal(mine, data) && !std::exchange(d_->own, true))
      d_->at = at_ + uint64_t(std::mismatch(mine.begin(), mine.end(), data.begin()).first - mine.begin());
    at_ += data.size();
  }

 private:
  store::KeySource& body_;
  Difference* d_;
  size_t chunk_ = 0;
  uint64_t at_ = 0;
};

// Burns every bundle in the lanes of this pair or on its way there; returns a sentence that says so.
std::string BurnRest(store::Lane& lane, const NextBundleHooks& next) {
  next.drop();
  try {
    return Str("the ", lane.home().BurnPair(lane.owner()), " bundles left in this store are burnt");
  } catch (const Error& e) {
    return Str("the bundles left in this store are to be burnt, but ", e.what(), " and start a new store");
  }
}

}  // namespace

store::Bundle TakeBundle(net::Channel& ch, store::Lane& lane, uint64_t serial, store::RecordKind kind, const Task& task,
                         uint64_t window) {
  try {
    const store::SharedLayout& body = task.body[PartyOf(ch.self().role)];
    if (kind != store::RecordKind::kAudited) return lane.Claim(serial, body, std::max(window, task.window));
    store::Bundle bundle = lane.Audit(serial, body);
    if (!body->chunks().empty()) (void)bundle.keys->Data(body->chunks().size() - 1);  // waits for the last chunk
    return bundle;
  } catch (const Error& e) {
    ch.Refuse(e.cause() == Cause::kRefused ? net::Refusal::kBundle : net::Refusal::kGaveUp);
    throw;
  }
}

Difference Redeal(const store::Bundle& own, DealJob job, store::SharedLayout other_body, const Hash& other_hash,
                  const Generate& generate) {
  const store::BundleHeader& h0 = own.header;
  store::BundleHeader h1 = h0;
  h1.party = 1;
  h1.body_bytes = other_body->bytes();
  Difference d;
  BodyComparison compare(*own.keys, &d);
  Sha256 theirs;
  theirs.Add(store::Encode(h1));
  store::Sink to_p0(store::ChunkKey(h0), own.keys->SharedBody(),
                    [&](View chunk) { compare(chunk.subspan(net::ChunkTags::kBytes)); });
  store::Sink to_p1(store::ChunkKey(h1), other_body,
                    [&](View chunk) { theirs.Add(chunk.subspan(net::ChunkTags::kBytes)); });
  generate(std::move(job), to_p0, to_p1);
  to_p0.Finish();
  to_p1.Finish();
  d.other = !Equal(theirs.Done(), other_hash);
  return d;
}

void OpenBundle(net::Channel& p0, store::Lane& lane, uint64_t serial, const Task& task, const Hash& setup,
                const NextBundleHooks& next) {
  Bond bond(p0, lane.Header(serial), setup);
  store::Bundle bundle =
      TakeBundle(p0, lane, serial, store::RecordKind::kAudited, task);  // durable: K_1 is sent only for a spent serial
  bond.Send(net::kAudit);
  bond.Recv(net::kAck);
  Bytes opened(bundle.key.view().begin(), bundle.key.view().end());
  Append(&opened, bundle.hash());
  p0.Send(net::kOpened, opened);
  bond.Send(net::kGo);
  next.announce();
  bool good = p0.RecvExact(net::kVerdict, 1)[0] == 1;
  bond.Recv(net::kOnlineEnd);
  std::string burnt = good ? "" : BurnRest(lane, next);
  bond.Send(net::kBye);
  if (!good)
    Fail(Cause::kRefused, "the model owner's audit of bundle ", serial, " finds that it was dealt wrongly; ", burnt,
         "; take no more from this dealer before its operator has explained it");
}

void AuditBundle(net::Channel& p1, store::Lane& lane, Bond& bond, const Task& task, AuditMasks masks,
                 const Auditor& auditor, const NextBundleHooks& next) {
  uint64_t serial = bond.header().serial;
  store::Bundle own = TakeBundle(p1, lane, serial, store::RecordKind::kAudited, task);
  bond.Send(net::kAck);
  Bytes opened = p1.RecvExact(net::kOpened, kOpenedBytes);
  Secret key(View(opened).first(32));
  Hash hash = Reader(View(opened).subspan(32), "an opened bundle").GetHash();
  bond.Recv(net::kGo);
  next.announce();
  const store::BundleHeader& h = own.header;
  DealJob job{h.job, h.serial, h.rho, h.weights, {std::move(own.key), std::move(key)}, masks.b_seed, masks.index};
  Difference d = Redeal(own, std::move(job), task.body[1], hash, auditor.generate);
  std::string fault;
  if (d.any())  // before P1 receives the verdict
    fault =
        Str("the audit of bundle ", serial, " failed: ", d.own ? "ours" : "", d.own && d.other ? " and " : "",
            d.other ? "the data owner's" : "", d.own != d.other ? " is" : " are", " not what the keys give",
            d.own ? Str(", ours first in ", auditor.section(own.header.job, d.at)) : std::string(), "; ",
            BurnRest(lane, next), "; find out whether the dealer dealt wrongly or the data owner opened another key");
  try {
    uint8_t verdict = !d.any();
    p1.Send(net::kVerdict, View(&verdict, 1));
    bond.Send(net::kOnlineEnd);
    bond.Recv(net::kBye);
  } catch (const Error&) {
    if (!d.any()) throw;  // the finding matters more than the end of the session
  }
  if (d.any()) throw Error(Cause::kRefused, fault);
  if (auditor.passed) auditor.passed(own.header.job, serial);
}

}  // namespace suf::proto
