#include "suf/roles/engine.hpp"

#include <algorithm>
#include <cmath>

#include "suf/nn/plan/knob_search.hpp"
#include "suf/roles/estimate.hpp"
#include "suf/roles/files.hpp"
#include "suf/roles/internal/index_inputs.hpp"
#include "suf/run/deal.hpp"

namespace suf::roles {

nn::Plan LoadPlan(const std::string& path) {
  return nn::Parse(ReadText(path, "the plan ", "compile one, or check the path"));
}

namespace {

constexpr uint64_t kBillBytes = uint64_t{16} << 20;  // 7 KB each

// Returns the bytes of nodes that a schedule lists by role, party and step.
uint64_t ScheduleBytes(const pfss::Schedule& s) {
  uint64_t all = sizeof s + s.trace().nodes().size() * (sizeof(std::array<int, 2>) + sizeof(int));
  all += HeapBytes(s.frames()) + HeapBytes(s.dealing());
  for (const Role role : {Role::kModel, Role::kData, Role::kDealer}) all += HeapBytes(s.live(role));
  for (const pfss::Frame& f : s.frames()) all += HeapBytes(f.parts);
  for (const int p : {0, 1}) {
    all += HeapBytes(s.key(p)) + HeapBytes(s.steps(p));
    for (const pfss::Step& step : s.steps(p)) all += HeapBytes(step.nodes);
  }
  return all;
}

}  // namespace

uint64_t MemoryOf(const CompiledJob& work) {
  constexpr uint64_t kListed = 256, kIndexed = 48;  // bytes of a node in the trace's list, and in its index of equals
  const pfss::Trace& t = work.trace;
  uint64_t all = sizeof work + HeapBytes(t.wires()) + ScheduleBytes(*work.schedule);
  for (const pfss::Node& n : t.nodes()) {
    all += kListed + kIndexed + HeapBytes(n.shape) + HeapBytes(n.args) + HeapBytes(n.attrs);
    if (n.data) all += HeapBytes(*n.data);
  }
  for (const auto& body : work.task.body) all += HeapBytes(body->sections()) + HeapBytes(body->chunks());
  return all;
}

Engine::Engine(ProtocolSpec spec, pfss::Backend& backend)
    : spec_(std::move(spec)), backend_(backend), traces_(kTraceBytes), bills_(kBillBytes) {
  KeepTraces(kTraceBytes);
}

void Engine::KeepTraces(uint64_t bytes) {
  constexpr uint64_t kPlans = 5;  // a backend's plan takes about a quarter of its trace
  backend_.KeepPlans(bytes / kPlans);
  traces_.SetLimit(bytes - bytes / kPlans);
}

std::shared_ptr<const CompiledJob> Engine::Compile(int n, int variant) {
  return Compile(store::JobOf(uint32_t(n), uint32_t(variant)));
}

std::shared_ptr<const CompiledJob> Engine::Compile(const store::Job& job) {
  return traces_.Get(job, [&] {
    auto work = MakeJob(job);
    const uint64_t bytes = MemoryOf(*work);
    return TraceCache::SizedValue(std::move(work), bytes);
  });
}

std::shared_ptr<const CompiledJob> Engine::MakeJob(const store::Job& job) const {
  std::shared_ptr<CompiledJob> work(new CompiledJob);
  spec_.emit(work->trace, job);
  work->schedule = std::make_unique<pfss::Schedule>(work->trace);
  // nothing leaves before the trace is proven to send only padded words and the results that the plan names
  pfss::LintReport lint = pfss::Lint(*work->schedule);
  const pfss::Ending& due = spec_.ending;
  if (!lint.faults.empty() || pfss::EndingOf(work->trace) != due || lint.results != due.learned[0] + due.learned[1])
    Fail(Cause::kRefused, "the trace of this plan does not pass the lint (",
         lint.faults.empty() ? "it reveals or keeps other results than the plan names" : lint.faults[0],
         "); make a new plan");
  if (due.learned[0]) work->steering = pfss::Steering(work->trace, 0);
  work->task.trace = work->trace.digest();
  work->task.window = run::WindowOf(*work->schedule);
  for (int p : {0, 1})
    work->task.body[p] = std::make_shared<const store::BodyLayout>(run::LayoutOf(*work->schedule, p));
  return work;
}

void RefuseSteering(const CompiledJob& work) {
  if (!work.steering.empty())
    Fail(Cause::kRefused, "by the plan's lowering a P0 that alters its messages learns more of our values than the ",
         "result (", work.steering, "); ask for a plan by another lowering");
}

std::string Engine::Section(const store::Job& job, int p, uint64_t byte) {
  auto work = Compile(job);
  const auto& key = work->schedule->key(p);
  auto after = std::upper_bound(key.begin(), key.end(), byte,
                                [](uint64_t b, const pfss::FrameField& part) { return b < uint64_t(part.at); });
  SUF_CHECK(after != key.begin());
  const pfss::Node& node = work->trace.node(std::prev(after)->node);
  return Str("key section ", after - key.begin(), " of ", key.size(), ", of ", work->trace.name(node.scope));
}

uint64_t Engine::Price(const store::Job& job, const proto::JobTerms& terms) {
  const auto bill = bills_.Get(job, [&] {
    auto made = std::make_shared<const compiler::Bill>(compiler::BillOf(*Compile(job)->schedule));
    return std::pair(made, sizeof *made + HeapBytes(made->steps));
  });
  compiler::Prices p = compiler::Profiles()[0].prices;
  // over loopback the measured rate is that of two idle ends; the profile's price is the time of both
  const double loopback = p.wire;
  p.flight = double(terms.link.trip_us) / 2e6;
  p.wire = std::max(8 / double(terms.link.rate), terms.together ? loopback : 0);
  p.duplex = true;
  p.together = terms.together;
  p = nn::WithSteps(p);
  double seconds = std::max(compiler::Seconds(*bill, p) / terms.lanes, compiler::BusySeconds(*bill, p));
  if (terms.dealer_rates[0] && terms.dealer_rates[1]) {
    p.wire = std::max(8 / double(terms.dealer_rates[0]), terms.together ? loopback : 0);
    p.thin = std::max(8 / double(terms.dealer_rates[1]), terms.together ? loopback : 0);
    const double delivery = compiler::DeliverySeconds(*bill, p);
    seconds = terms.together ? seconds + delivery : std::max(seconds, delivery);
  }
  return uint64_t(std::llround(1e6 * seconds));
}

int Engine::VariantNamed(const std::string& name) const {
  std::string names;
  for (size_t v = 0; v < variants().size(); ++v) {
    if (name.empty() || variants()[v].name == name) return int(v);
    names += (v ? ", " : "") + variants()[v].name;
  }
  Fail(Cause::kInput, "the plan has no variant '", name, "'; it has ", names);
}

uint32_t Engine::Allowed(const std::string& names) const {
  if (names.empty() || names == "auto") return uint32_t((uint64_t{1} << variants().size()) - 1);
  uint32_t bits = 0;
  for (size_t begin = 0; begin <= names.size();) {
    const size_t end = std::min(names.find(',', begin), names.size());
    const std::string name = names.substr(begin, end - begin);
    if (name.empty()) Fail(Cause::kInput, "'", names, "' names an empty variant; give names with commas between");
    bits |= uint32_t{1} << VariantNamed(name);
    begin = end + 1;
  }
  return bits;
}

std::shared_ptr<const EngineIndex> Engine::IndexAt(uint32_t) const { return nullptr; }
void Engine::Adopt(const std::vector<Hash>&) {}

int Engine::InputBytes(const std::string& name) const {
  if (name.starts_with("W.")) return -2;
  const std::string masked = name.substr(name.find('.') + 1);
  const auto it = std::find_if(spec_.masked.begin(), spec_.masked.end(), [&](auto& m) { return m.name == masked; });
  if (it != spec_.masked.end()) return it->word();
  const int word = spec_.index_word ? spec_.index_word(masked) : 0;
  return word ? word : 8;
}

int Engine::MostThatFits(const store::Job& job, const std::function<bool(const store::Job&)>& fits) const {
  const bool texts = job.texts > 1;
  int most = 0;
  for (int low = 0, high = int(texts ? job.texts : job.tokens); high - low > 1;) {
    const int n = (low + high) / 2;
    store::Job smaller = job;
    (texts ? smaller.texts : smaller.tokens) = uint32_t(n);
    bool ok = true;
    try {
      ok = fits(smaller);
      if (ok) most = n;
    } catch (const Error& e) {
      if (e.cause() != Cause::kInput) throw;  // fewer than the plan covers
    }
    (ok ? low : high) = n;
  }
  return most;
}

std::shared_ptr<pfss::Reservation> Engine::Reserve(const store::Job& job, Role role) {
  auto got =
      backend_.Reserve(*Compile(job)->schedule, role, [this](const std::string& name) { return InputBytes(name); });
  if (auto* reserved = std::get_if<0>(&got)) return std::move(*reserved);
  const auto* lack = std::get_if<pfss::Backend::Lack>(&got);
  const auto values = [&](const store::Job& j) { return backend_.ValueBytes(*Compile(j)->schedule, role); };
  const int64_t beside = lack->needed - values(job);
  const int most = MostThatFits(job, [&](const store::Job& j) { return values(j) + beside <= lack->free; });
  const std::string of = job.texts > 1 ? Str("texts of ", job.tokens, " ", unit().name) : unit().name;
  Fail(Cause::kResource, "the backend ", backend_.name(), " needs ", lack->needed, " bytes of memory for ",
       job.texts > 1 ? job.texts : job.tokens, " ", of, ", and ", lack->free, " are free; ",
       most ? Str("bring at most ", most, " ", of) : Str("no number of ", of, " fits, so free some"),
       ", or take the backend packed");
}

proto::BundlePlan Engine::ForProto(Role role) {
  proto::BundlePlan p;
  p.version = nn::kPlanVersion;  // one version for plans of all kinds: their traces change together
  p.prg = backend_.prg();
  p.max_tokens = spec_.most;
  p.most_texts = spec_.most_texts;
  p.unit = spec_.unit;
  p.hash = spec_.hash;
  for (auto& m : spec_.masked) p.setup_bytes += uint64_t(m.bytes());
  p.variants.clear();
  for (const nn::Variant& v : variants()) p.variants.push_back(v.name);
  p.indexes = spec_.indexes;
  p.entry = spec_.entry;
  p.part_bytes = spec_.part_bytes;
  p.capacity = spec_.capacity;
  p.price = [this](const store::Job& job, const proto::JobTerms& terms) { return Price(job, terms); };
  p.needs = [this, role](const store::Job& job, uint64_t window) {
    const MemoryNeeds n = NeedsOf(*this, job, role, window);
    const int64_t next = role == Role::kDealer ? 0 : n.keys;  // a party receives the next job's keys during a run
    return uint64_t(n.keys + next + n.frames + n.values);
  };
  p.reserve = [this, role](const store::Job& job) { return Reserve(job, role); };
  p.task = [this](const store::Job& job) { return Compile(job)->task; };
  return p;
}

EngineIndex::EngineIndex(const nn::Plan& plan, nn::IndexPlan index_)
    : index(std::move(index_)), hash(nn::IndexPlanHash(index)), whole(nn::WithIndex(plan, index)) {
  constexpr int kMostBits = 8 * sizeof(RowWord);
  if (const int bits = index.search.ScoreRing(); bits > kMostBits)
    Fail(Cause::kRefused, "the scores of the index have ", bits, " bits, the limit is ", kMostBits,
         "; create the index again");
  // data owners have the same W - B with an index and without
  const auto alone = nn::MaskedWeights(plan), with = nn::MaskedWeights(whole);
  for (size_t i = 0; i < alone.size(); ++i)
    if (alone[i].name != with.at(i).name || alone[i].bits != with[i].bits)
      throw Bug("the plan has other weights with an index");
}

class EngineIndexes {
 public:
  EngineIndexes(const nn::Plan& plan, std::vector<nn::IndexPlan> indexes) {
    if (indexes.size() > store::kMostIndexes)
      Fail(Cause::kInput, "there are ", indexes.size(), " indexes; at most ", store::kMostIndexes, " are possible");
    for (nn::IndexPlan& i : indexes) {
      all_.push_back(std::make_shared<const EngineIndex>(plan, std::move(i)));
      const Hash& hash = all_.back()->hash;
      if (std::find(served_.begin(), served_.end(), hash) != served_.end())
        Fail(Cause::kInput, "the index ", Hex(View(hash).first(4)), ".. is there twice; name it once");
      served_.push_back(hash);
    }
  }
  const std::vector<std::shared_ptr<const EngineIndex>>& all() const { return all_; }
  std::vector<Hash> hashes() const {
    std::vector<Hash> h;
    for (const auto& i : all_) h.push_back(i->hash);
    return h;
  }
  void Adopt(const std::vector<Hash>& served) {
    const std::lock_guard l(m_);
    if (std::exchange(adopted_, true) && served_ != served)
      Fail(Cause::kPeer, "the model owner serves other indexes than before; start again");
    served_ = served;
  }
  uint32_t NumberOf(const EngineIndex& index) const {
    const std::lock_guard l(m_);
    const auto at = std::find(served_.begin(), served_.end(), index.hash);
    SUF_CHECK(at != served_.end());
    return uint32_t(at - served_.begin()) + 1;
  }
  std::shared_ptr<const EngineIndex> At(uint32_t number) const {
    const std::lock_guard l(m_);
    return number >= 1 && number <= served_.size() ? Named(served_[number - 1]) : nullptr;
  }
  std::shared_ptr<const EngineIndex> Named(const Hash& hash) const {
    for (const auto& i : all_)
      if (i->hash == hash) return i;
    return nullptr;
  }

 private:
  std::vector<std::shared_ptr<const EngineIndex>> all_;
  mutable std::mutex m_;  // guards the members below
  std::vector<Hash> served_;
  bool adopted_ = false;
};

namespace {

// Emits the trace of any entry.
void EmitEntry(pfss::Trace& t, const nn::Plan& plan, const EngineIndexes& indexes, const Emit& emit,
               const store::Job& job) {
  const auto index = indexes.At(store::IndexOf(job));
  if (store::IsFetch(job)) return index->index.fetch().Build(t);
  const nn::Plan& of = index ? index->whole : plan;
  (void)of.For(int(job.tokens), int(job.variant));
  emit(t, of, job);
}

std::optional<proto::JobLimits> LimitsOfEntry(const nn::Plan& plan, const EngineIndexes& indexes, uint32_t entry) {
  const store::Job job{.entry = entry};
  const auto index = indexes.At(store::IndexOf(job));
  if (!index || (store::IsFetch(job) && !index->index.table)) return std::nullopt;
  if (!store::IsFetch(job)) return proto::JobLimits{1, uint32_t(plan.max_tokens)};
  const auto k = uint32_t(index->index.search.k);
  return proto::JobLimits{k, k, 1, {"the fetch has", "documents", "fetch as many as a search has hits", "fetch"}};
}

uint64_t PartBytes(const EngineIndexes& indexes, const Hash& hash, uint32_t rows, bool table) {
  const auto index = indexes.Named(hash);
  if (!index) return 0;
  const int64_t bits =
      table ? nn::Fetch::kRingBits * index->index.table : index->index.search.ScoreRing() * index->index.search.columns;
  return uint64_t(rows * bits + 7) / 8;
}

}  // namespace

ModelEngine::ModelEngine(std::shared_ptr<const nn::Plan> plan, pfss::Backend& backend, Emit emit,
                         std::vector<nn::IndexPlan> indexes)
    : ModelEngine(plan, backend, std::move(emit), std::make_shared<EngineIndexes>(*plan, std::move(indexes))) {}

ModelEngine::ModelEngine(std::shared_ptr<const nn::Plan> plan, pfss::Backend& backend, Emit emit,
                         std::shared_ptr<EngineIndexes> indexes)
    : Engine({.hash = nn::PlanHash(*plan),
              .most = uint32_t(plan->max_tokens),
              .unit = {},
              .ending = {.learned = {0, 1}},
              .emit = [plan, indexes, emit = std::move(emit)](
                          pfss::Trace& t, const store::Job& job) { EmitEntry(t, *plan, *indexes, emit, job); },
              .masked = nn::MaskedWeights(*plan),
              .variants = plan->variants,
              .most_texts = uint32_t(nn::MostTexts(*plan)),
              .indexes = indexes->hashes(),
              .entry = [plan, indexes](uint32_t entry) { return LimitsOfEntry(*plan, *indexes, entry); },
              .part_bytes = [indexes](const Hash& hash, uint32_t rows,
                                      bool table) { return PartBytes(*indexes, hash, rows, table); },
              .capacity =
                  [indexes](const Hash& hash) {
                    const auto index = indexes->Named(hash);
                    return index ? index->index.capacity() : 0;
                  },
              .index_word =
                  [indexes](const std::string& name) {
                    for (const auto& index : indexes->all())
                      for (const RowShape& shape :
                           {SearchShape(index->whole, index->index.search), TableShape(index->index)})
                        if (std::find(shape.names.begin(), shape.names.end(), name) != shape.names.end())
                          return int(shape.transposed ? sizeof(RowWord) : sizeof(TableWord));
                    return 0;
                  }},
             backend),
      plan_(std::move(plan)),
      indexes_(std::move(indexes)) {}

const std::vector<std::shared_ptr<const EngineIndex>>& ModelEngine::indexes() const { return indexes_->all(); }
void ModelEngine::Adopt(const std::vector<Hash>& served) { indexes_->Adopt(served); }
uint32_t ModelEngine::NumberOf(const EngineIndex& index) const { return indexes_->NumberOf(index); }
std::shared_ptr<const EngineIndex> ModelEngine::IndexAt(uint32_t number) const { return indexes_->At(number); }

}  // namespace suf::roles
