#include "suf/roles/internal/open_lines.hpp"

#include <utility>

#include "suf/base/plural.hpp"

namespace suf::roles {
namespace {

View BytesOf(const model::Ids& ids) {
  return {reinterpret_cast<const uint8_t*>(ids.data()), ids.size() * sizeof(ids[0])};
}

}  // namespace

void CheckLaneOptions(const Lanes::Options& o, size_t dealers) {
  if (o.parallel < 1 || o.parallel > Lanes::kMost)
    Fail(Cause::kInput, o.parallel, " sessions side by side are not possible; the limits are 1 and ", Lanes::kMost);
  if (size_t(o.parallel) < dealers)
    Fail(Cause::kInput, Plural(o.parallel, "session is", "sessions are"), " allowed and ", dealers,
         " dealers are listed; allow a session for each dealer");
  if (o.batch < 1 || o.batch > nn::kMostTexts)
    Fail(Cause::kInput, "batches of ", o.batch, " texts are not possible; the limits are 1 and ", nn::kMostTexts);
  SUF_CHECK(o.dial && o.servers);
}

SessionPlace SessionPlaceOf(size_t i, size_t dealers, uint8_t servers) {
  return {i % dealers, uint8_t(i / dealers % servers), servers};
}

std::optional<store::Draws> DrawsFor(store::Home& home, const proto::Dealers& dealers) {
  if (dealers.size() == 1) return std::nullopt;
  std::vector<Hash> keys;
  for (size_t i = 0; i < dealers.size(); ++i) keys.push_back(dealers[i].key);
  return std::optional<store::Draws>(std::in_place, home, std::move(keys));
}

DrawnTexts DrawDealers(std::optional<store::Draws>& draws, const std::vector<model::Ids>& texts) {
  if (!draws) return {std::vector<size_t>(texts.size()), std::vector<Hash>(texts.size())};
  DrawnTexts drawn;
  for (const model::Ids& text : texts) drawn.tags.push_back(draws->TagOf(BytesOf(text)));
  drawn.dealers = draws->Draw(drawn.tags);
  return drawn;
}

void OpenLines::Open(DataOwner& owner, LaneLine& line) {
  std::exception_ptr failed;
  for (const size_t server : OrderFor(line.place)) try {
      line.server = server;
      OpenAt(owner, line);
      return;
    } catch (const Error& e) {
      Drop(line);
      if (e.cause() != Cause::kPeer || options_.servers == 1 || stopped()) throw;
      Avoid(server, e);
      if (!failed) failed = std::current_exception();
    }
  std::rethrow_exception(failed);
}

void OpenLines::Avoid(size_t server, const Error& why) {
  {
    const std::lock_guard l(m_);
    down_[server] = Clock::now() + kDown;
  }
  const std::lock_guard l(report_);
  if (options_.moves) options_.moves(server, why);
}

void OpenLines::Drop(LaneLine& line) noexcept {
  line.session.reset();
  {
    const std::lock_guard l(m_);
    channels_.erase(line.channel.get());
  }
  line.channel.reset();
}

void OpenLines::Stop() {
  (void)stop_.request_stop();
  const std::lock_guard l(m_);
  for (net::Channel* ch : channels_) ch->HangUp();
}

void OpenLines::OpenAt(DataOwner& owner, LaneLine& line) {
  line.channel = options_.dial(stop_.get_token(), line.server);
  std::optional<proto::Network> known;
  {
    const std::lock_guard l(m_);
    channels_.insert(line.channel.get());
    if (stop_.stop_requested()) line.channel->HangUp();
    known = link_;
  }
  line.session.emplace(owner, *line.channel, uint32_t(options_.parallel), known, line.place);
  {
    const std::lock_guard l(m_);
    if (!link_) link_ = line.session->link();
    down_[line.server] = {};
  }
  opened_ = true;
  const std::lock_guard l(report_);
  if (options_.opened) options_.opened(*line.session);
}

// Returns the processes in the order of attempts: that of the place first, and those that were not reached last.
std::vector<size_t> OpenLines::OrderFor(const SessionPlace& place) const {
  std::vector<size_t> order, last;
  const std::lock_guard l(m_);
  for (size_t i = 0; i < options_.servers; ++i) {
    const size_t server = (place.server + i) % options_.servers;
    (down_[server] <= Clock::now() ? order : last).push_back(server);
  }
  order.insert(order.end(), last.begin(), last.end());
  return order;
}

}  // namespace suf::roles
