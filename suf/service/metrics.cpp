#include "suf/service/metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/text_serializer.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <mutex>
#include <optional>
#include <sstream>

#include "suf/base/printable.hpp"

namespace suf::service {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricType;

// The labels of the enumerators, by number.
constexpr std::array<const char*, 3> kFateLabels = {"dealt", "used", "burnt"};

// Upper bounds of the buckets of all histograms, in seconds: 5 ms to 100 s.
const std::vector<double> kSecondsBuckets = {0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100};

// A family of series. Every role uses the same help text, because a reader of several files refuses another one.
struct MetricKind {
  MetricType type;
  const char* name;
  const char* help;
};
constexpr MetricKind kBuildInfo{MetricType::Gauge, "suf_build_info", "Always 1; the label has the version of suf."};
constexpr MetricKind kStartTime{MetricType::Gauge, "suf_start_time_seconds",
                                "Start of the process, in seconds since 1970."};
constexpr MetricKind kResidentMemory{MetricType::Gauge, "suf_resident_memory_bytes", "Resident memory of the process."};
constexpr MetricKind kInferences{MetricType::Counter, "suf_inferences_total",
                                 "Inferences that ended, by their outcome. A batch counts once, and so does a fetch."};
constexpr MetricKind kTexts{MetricType::Counter, "suf_texts_total",
                            "Texts of done and broken inferences. A batch counts each of its texts."};
constexpr MetricKind kTokens{MetricType::Counter, "suf_tokens_total", "Tokens of done and broken inferences."};
constexpr MetricKind kSearches{MetricType::Counter, "suf_searches_total",
                               "Texts of done and broken searches, which suf_texts_total counts too."};
constexpr MetricKind kDurations{MetricType::Histogram, "suf_inference_seconds",
                                "Duration of done inferences, from the claim to the goodbye."};
constexpr MetricKind kDeals{MetricType::Histogram, "suf_deal_seconds", "Work of the dealer on a bundle pair."};
constexpr MetricKind kTurnWaits{MetricType::Histogram, "suf_turn_wait_seconds",
                                "Wait for a turn, of done and broken inferences or of dealt bundle pairs."};
constexpr MetricKind kWaiting{MetricType::Gauge, "suf_inferences_waiting",
                              "Inferences, or bundle pairs at the dealer, that wait for their turn now."};
constexpr MetricKind kRunning{MetricType::Gauge, "suf_inferences_running",
                              "Inferences that run now, or bundle pairs that are dealt now."};
constexpr MetricKind kBundles{MetricType::Counter, "suf_bundles_total",
                              "Bundles that were dealt (at a party: received), used or burnt."};
constexpr MetricKind kRefusals{MetricType::Counter, "suf_refusals_total",
                               "Refusals that this process sent or received, by the refusing role and its reason."};
constexpr MetricKind kSentBytes{MetricType::Counter, "suf_sent_bytes_total", "Bytes of sent frames, without TLS."};
constexpr MetricKind kReceivedBytes{MetricType::Counter, "suf_received_bytes_total",
                                    "Bytes of received frames, without TLS."};
constexpr MetricKind kRoundTrip{MetricType::Gauge, "suf_peer_round_trip_seconds",
                                "Round trip to the other party that was measured last."};

// The counts of one label of owners.
struct OwnerSeries {
  explicit OwnerSeries(std::string label_) : label(std::move(label_)) {}
  bool used() const {
    return std::any_of(inferences.begin(), inferences.end(), [](const auto& c) { return c.Value() > 0; });
  }
  const std::string label;
  std::array<prometheus::Counter, size_t(kOutcomeCount)> inferences;
  prometheus::Counter texts, tokens, searches;
};
// In the order of their labels. A list does not change; another one replaces it.
using SeriesList = std::vector<std::shared_ptr<OwnerSeries>>;

// Returns the place of the first label that is not before this one.
SeriesList::const_iterator PlaceOf(const SeriesList& list, std::string_view label) {
  return std::lower_bound(list.begin(), list.end(), label,
                          [](const auto& o, std::string_view l) { return o->label < l; });
}
// Returns the series of a label; null if there is none.
std::shared_ptr<OwnerSeries> SeriesOf(const SeriesList& list, std::string_view label) {
  const auto at = PlaceOf(list, label);
  return at == list.end() || (*at)->label != label ? nullptr : *at;
}

// Returns the bytes of resident memory; nothing if the system does not say.
std::optional<double> ResidentBytes() {
  std::ifstream in("/proc/self/statm");
  double all = 0, resident = 0;  // pages
  if (!(in >> all >> resident)) return std::nullopt;
  return resident * double(sysconf(_SC_PAGESIZE));
}

ClientMetric GaugeSample(double value) {
  ClientMetric m;
  m.gauge.value = value;
  return m;
}

// Writes families in pieces of a few series. The library's registry keeps the labels of every series, and holds a lock
// while it collects them.
class FamilyWriter {
 public:
  using Labels = std::vector<ClientMetric::Label>;
  FamilyWriter(const std::string& process, Role role, const std::function<void(std::string_view)>& to)
      : common_{{"process", Printable(process)}, {"role", Name(role)}}, to_(to) {}
  // Begins a family, and ends the one before.
  void Begin(const MetricKind& kind) {
    End();
    family_[0].name = kind.name;
    family_[0].help = kind.help;
    family_[0].type = kind.type;
  }
  void Add(ClientMetric metric, const Labels& labels = {}) {
    metric.label.reserve(common_.size() + labels.size());
    metric.label = common_;
    metric.label.insert(metric.label.end(), labels.begin(), labels.end());
    family_[0].metric.push_back(std::move(metric));
    if (family_[0].metric.size() == kPiece) Flush();
  }
  // Writes a family of one series.
  void AddOne(const MetricKind& kind, ClientMetric metric, const Labels& labels = {}) {
    Begin(kind);
    Add(std::move(metric), labels);
  }
  void End() {
    if (!family_[0].metric.empty() || !family_[0].help.empty()) Flush();
  }

 private:
  static constexpr size_t kPiece = 512;  // series
  void Flush() {
    const bool first = !family_[0].help.empty();
    std::ostringstream out;
    prometheus::TextSerializer().Serialize(out, family_);
    std::string_view text = out.view();
    if (!first) text.remove_prefix(text.find('\n') + 1);  // the line of the type, which the first piece has
    to_(text);
    family_[0].metric.clear();
    family_[0].help.clear();
  }
  const Labels common_;
  const std::function<void(std::string_view)>& to_;
  std::vector<prometheus::MetricFamily> family_{1};
};

}  // namespace

struct Metrics::State {
  State(Role role_, const std::string& version_) : role(role_), version(Printable(version_)) {}
  const Role role;
  const std::string version;
  const double start = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();

  std::mutex reload;     // held by SetOwners alone
  mutable std::mutex m;  // guards `owners`, for the copy of a pointer
  std::shared_ptr<const SeriesList> owners = std::make_shared<const SeriesList>();
  const std::shared_ptr<OwnerSeries> unlisted = std::make_shared<OwnerSeries>(kUnlisted);

  prometheus::Histogram durations{kSecondsBuckets}, deals{kSecondsBuckets}, turn_waits{kSecondsBuckets};
  std::array<prometheus::Gauge, 2> state;  // by InferenceState
  prometheus::Gauge round_trip{-1};
  std::array<prometheus::Counter, kFateLabels.size()> bundles;
  std::array<std::array<prometheus::Counter, net::kRefusals>, kRoles> refusals;  // by role and reason
  prometheus::Counter sent, received;

  std::shared_ptr<const SeriesList> Owners() const {
    const std::lock_guard l(m);
    return owners;
  }
  void WriteOwners(FamilyWriter& out) const;
  void WriteRefusals(FamilyWriter& out) const;
};

Metrics::Metrics(Role role, const std::string& version) : s_(std::make_unique<State>(role, version)) {}
Metrics::~Metrics() = default;

void Metrics::SetOwners(const std::vector<std::string>& names) {
  SUF_CHECK(s_->role == Role::kModel);
  const std::lock_guard reload(s_->reload);
  const auto old = s_->Owners();
  std::vector<std::string> labels;
  labels.reserve(names.size());
  for (const std::string& name : names) labels.push_back(Printable(name));
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  auto list = std::make_shared<SeriesList>();
  list->reserve(labels.size());
  for (std::string& label : labels) {
    if (label == kUnlisted) continue;
    auto series = SeriesOf(*old, label);
    list->push_back(series ? std::move(series) : std::make_shared<OwnerSeries>(std::move(label)));
  }
  const std::lock_guard l(s_->m);
  s_->owners = std::move(list);
}

void Metrics::Ended(std::string_view owner, const InferenceEnd& end) {
  SUF_CHECK(s_->role != Role::kDealer);
  auto series = SeriesOf(*s_->Owners(), Printable(owner));
  if (!series) series = s_->unlisted;
  series->inferences[size_t(end.outcome)].Increment();
  if (end.outcome == JobOutcome::kRefused) return;
  series->texts.Increment(double(end.texts));
  series->tokens.Increment(double(end.tokens));
  series->searches.Increment(double(end.searches));
  s_->turn_waits.Observe(std::max(0.0, end.waited_s));
  if (end.outcome == JobOutcome::kDone) s_->durations.Observe(std::max(0.0, end.duration_s));
  CountBytes(end.bytes_sent, end.bytes_received);
}

void Metrics::SetRoundTrip(double seconds) {
  SUF_CHECK(s_->role != Role::kDealer);
  s_->round_trip.Set(std::max(0.0, seconds));
}

void Metrics::Dealt(double waited_s, double duration_s) {
  SUF_CHECK(s_->role == Role::kDealer);
  CountBundles(BundleFate::kDealt);
  s_->turn_waits.Observe(std::max(0.0, waited_s));
  s_->deals.Observe(std::max(0.0, duration_s));
}

StateMark Metrics::Enter(InferenceState state) const { return {*this, state}; }

void Metrics::CountBundles(BundleFate fate, uint64_t count) { s_->bundles[size_t(fate)].Increment(double(count)); }

void Metrics::CountRefusal(net::Refusal reason, Role by) {
  const size_t code = size_t(reason) < net::kRefusals ? size_t(reason) : size_t(net::Refusal::kGaveUp);
  s_->refusals[size_t(by)][code].Increment();
}

void Metrics::CountBytes(uint64_t sent, uint64_t received) {
  s_->sent.Increment(double(sent));
  s_->received.Increment(double(received));
}

StateMark::StateMark(const Metrics& metrics, InferenceState state) : metrics_(&metrics), state_(state) {
  metrics_->s_->state[size_t(state_)].Increment();
}

StateMark::~StateMark() {
  if (metrics_) metrics_->s_->state[size_t(state_)].Decrement();
}

// A listed owner has series once it has an inference. P1 has one series of a kind, without the label of an owner.
void Metrics::State::WriteOwners(FamilyWriter& out) const {
  const auto list = Owners();
  const auto each = [&](const MetricKind& kind, const auto& add) {
    out.Begin(kind);
    for (const auto& o : *list)
      if (o->used()) add(*o, FamilyWriter::Labels{{"owner", o->label}});
    add(*unlisted, role == Role::kModel ? FamilyWriter::Labels{{"owner", unlisted->label}} : FamilyWriter::Labels{});
  };
  each(kInferences, [&](const OwnerSeries& o, FamilyWriter::Labels labels) {
    labels.push_back({"outcome", ""});
    for (size_t i = 0; i < size_t(kOutcomeCount); ++i) {
      labels.back().value = Name(JobOutcome(i));
      out.Add(o.inferences[i].Collect(), labels);
    }
  });
  each(kTexts, [&](const OwnerSeries& o, const FamilyWriter::Labels& labels) { out.Add(o.texts.Collect(), labels); });
  each(kTokens, [&](const OwnerSeries& o, const FamilyWriter::Labels& labels) { out.Add(o.tokens.Collect(), labels); });
  each(kSearches,
       [&](const OwnerSeries& o, const FamilyWriter::Labels& labels) { out.Add(o.searches.Collect(), labels); });
}

// The own reasons are there from the start, those of a peer from its first refusal on.
void Metrics::State::WriteRefusals(FamilyWriter& out) const {
  out.Begin(kRefusals);
  for (int by = 0; by < kRoles; ++by)
    for (size_t i = 0; i < net::kRefusals; ++i)
      if (const auto& count = refusals[size_t(by)][i]; Role(by) == role || count.Value() > 0)
        out.Add(count.Collect(), {{"by", Name(Role(by))}, {"reason", net::Name(net::Refusal(i))}});
}

void Metrics::Write(const std::string& process, const std::function<void(std::string_view)>& to) const {
  const State& s = *s_;
  FamilyWriter out(process, s.role, to);
  out.AddOne(kBuildInfo, GaugeSample(1), {{"version", s.version}});
  out.AddOne(kStartTime, GaugeSample(s.start));
  out.Begin(kResidentMemory);
  if (const auto bytes = ResidentBytes()) out.Add(GaugeSample(*bytes));
  if (s.role == Role::kDealer) {
    out.AddOne(kDeals, s.deals.Collect());
  } else {
    s.WriteOwners(out);
    out.AddOne(kDurations, s.durations.Collect());
    out.Begin(kRoundTrip);
    if (s.round_trip.Value() >= 0) out.Add(s.round_trip.Collect());
  }
  out.AddOne(kTurnWaits, s.turn_waits.Collect());
  out.AddOne(kWaiting, s.state[size_t(InferenceState::kWaiting)].Collect());
  out.AddOne(kRunning, s.state[size_t(InferenceState::kRunning)].Collect());
  out.Begin(kBundles);
  for (size_t i = 0; i < kFateLabels.size(); ++i) out.Add(s.bundles[i].Collect(), {{"fate", kFateLabels[i]}});
  s.WriteRefusals(out);
  out.AddOne(kSentBytes, s.sent.Collect());
  out.AddOne(kReceivedBytes, s.received.Collect());
  out.End();
}

}  // namespace suf::service
