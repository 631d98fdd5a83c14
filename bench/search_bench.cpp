// Times searches of an index and fetches from it alone, on a given embedding. Dealer, P0 and P1 are processes with one
// thread each, and plain TCP connects them.
//
//    search_bench [CASE ..] [runs=5]
//
// CASE: a name of kShapes, or "fetch" (10 documents of 2 kB from 100,000). Without a case: all but the million rows.
// Rows are random; some are equal, and some are deleted. Every word of every run is compared with the specification.
// Prints one JSON line for each case, with the costs of the trace, processor times in ms and peak memory. A processor
// time is that of all threads of a role, after warming up: the median. "cpu_ms_least" is the least sum of all roles.
// Keys are dealt ahead.
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <ctime>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/role.hpp"
#include "apps/show.hpp"
#include "bench/random_rows.hpp"
#include "bench/run_main.hpp"
#include "bench/tcp.hpp"
#include "suf/backends/all.hpp"
#include "suf/nn/ops/fetch.hpp"
#include "suf/nn/ops/search.hpp"
#include "suf/pfss/lint.hpp"
#include "suf/ring/modular.hpp"
#include "suf/ring/pack.hpp"
#include "suf/run/deal.hpp"

namespace suf::bench {
namespace {

using nlohmann::ordered_json;
using nn::Ints;

constexpr int kWarm = 2, kTexts = 3;
constexpr int64_t kColumns = 384, kHits = 10, kFetched = 100000, kTableWords = 1024;

struct NamedShape {
  const char* name;
  int64_t places, buckets, stop;
  Ints groups;
};
const NamedShape kShapes[] = {
    {"1000-exact", 1, 1000, 1, {20}},     {"10000-exact", 1, 10000, 1, {250, 50}},
    {"10000", 10, 1024, 5, {16}},         {"100000", 25, 4096, 1, {128, 20}},
    {"100000-far", 13, 8192, 13, {64}},   {"100000-exact", 1, 100000, 1, {2000, 400, 80}},
    {"1000000", 245, 4096, 1, {128, 20}},
};
constexpr const char* kOnDemand = "1000000";

// Returns a vector's direction in whole numbers at this scale. Rounding does not make it longer than 1.
Ints DirectionOf(const std::vector<double>& v, int scale) {
  double square = 0;
  for (const double x : v) square += x * x;
  const double by = (std::ldexp(1, scale) - std::sqrt(double(kColumns)) / 2) / std::sqrt(square);
  Ints out;
  for (const double x : v) out.push_back(int64_t(std::floor(x * by + 0.5)));
  return out;
}

Ints RowAt(int64_t row, int g) {
  return DirectionOf(LeaningVector(1000 + uint64_t(row - (row % 97 == 1)), 0.4, kColumns), g);
}
Ints TextAt(int text, int f) { return DirectionOf(LeaningVector(uint64_t(10 + text), 0.6, kColumns), f); }
bool IsDeleted(int64_t row, int64_t rows) { return row % 211 == 5 || row >= rows; }

// Returns the mask B of a word.
uint64_t MaskAt(uint64_t block, uint64_t word) { return RandomWords{(block + 1) << 40 ^ word}.Next(); }

// One kind of trace between the three roles, with its inputs and its meaning.
class Task {
 public:
  virtual ~Task() = default;
  virtual std::string name() const = 0;
  virtual void Emit(pfss::Trace& t) const = 0;
  // Sets a role's inputs that are the same in all runs.
  virtual void SetRows(Role role, run::Inputs& inputs) const = 0;
  // Sets P1's inputs of a text.
  virtual void SetText(int text, run::Inputs& inputs) const = 0;
  // Returns the words that P1 must learn of each text.
  virtual std::vector<std::vector<uint64_t>> Specs() const = 0;
  virtual ordered_json Facts() const = 0;
};

class SearchTask final : public Task {
 public:
  explicit SearchTask(const NamedShape& shape, int64_t rows) : name_(shape.name), rows_(rows) {
    op_.columns = kColumns;
    op_.places = shape.places;
    op_.buckets = shape.buckets;
    op_.stop = shape.stop;
    op_.groups = shape.groups;
    op_.k = kHits;
    op_.floor = 1 - (int64_t{1} << (op_.f + op_.g));
    op_.ring = op_.ResultRing();
    op_.Verify("search");
  }
  std::string name() const override { return name_; }
  // P1 gives its embedding, which is then opened to P0 alone, as at the end of a model.
  void Emit(pfss::Trace& t) const override {
    t.scope("embedding");
    const pfss::Own<1> own = t.input<pfss::kP1>("x", {1, kColumns}, 64, 0);
    const auto given = t.give<1>(own, op_.ScoreRing(), "x");
    pfss::Sh kept = -pfss::Sh(given.s);
    kept.a = kept.a + given.hat;
    const pfss::SharedWire<pfss::kP0> x = t.open<pfss::kP0>(kept, "embedding");
    (void)op_.Build({t, 1, true, nn::OperandForm::kOpen, kNode, "hits", 0, 1}, std::vector<nn::AnyWire>{x});
    t.close();
  }
  // As in the roles, P0 has words in memory. The dealer makes its words when they are read, and P1 unpacks them.
  void SetRows(Role role, run::Inputs& inputs) const override {
    for (int64_t b = 0; b < op_.blocks(); ++b) {
      const std::string slot = Str(kNode, ".rows", b);
      const size_t size = SizeOf(b);
      if (role == Role::kModel) {
        inputs.Set("W." + slot, Block<int16_t>(role, b));
      } else if (role == Role::kDealer) {
        inputs.SetMade<uint32_t>("B." + slot, size, [this, role, b] { return Block<uint32_t>(role, b); });
      } else {
        const int bits = op_.ScoreRing();
        const auto packed = std::make_shared<Bytes>(ring::PackedBytes(size, bits));
        ring::Pack<uint32_t>(Block<uint32_t>(role, b).data(), size, bits, packed->data());
        inputs.SetMade<uint32_t>("Wh." + slot, size, [packed, size, bits] {
          WipedVector<uint32_t> words(size);
          ring::Unpack<uint32_t>(packed->data(), size, bits, words.data());
          return words;
        });
      }
    }
    if (role == Role::kModel) inputs.Set(Str("W.", kNode, ".bias"), Bias());
  }
  void SetText(int text, run::Inputs& inputs) const override { inputs.Set("x", TextAt(text, op_.f)); }
  std::vector<std::vector<uint64_t>> Specs() const override {
    std::vector<Ints> x, scores(kTexts, Ints(size_t(op_.rows()), 0));
    for (int text = 0; text < kTexts; ++text) x.push_back(TextAt(text, op_.f));
    for (int64_t row = 0; row < rows_; ++row) {
      const Ints w = RowAt(row, op_.g);
      for (size_t text = 0; text < kTexts; ++text)
        for (size_t j = 0; j < w.size(); ++j) scores[text][size_t(row)] += x[text][j] * w[j];
    }
    const nn::Tensor bias({op_.rows()}, Bias());
    std::vector<std::vector<uint64_t>> out;
    for (size_t text = 0; text < kTexts; ++text) {
      int64_t begin = 0;
      const auto block = [&](const Ints&, const char* slot, int) {
        const int64_t b = std::stoll(slot + 4);  // behind "rows"
        begin = b * op_.block;
        return Ints(scores[text].begin() + begin, scores[text].begin() + begin + op_.rows_of(b));
      };
      NoObserver none;
      const nn::IntCall call{1,    {}, exec::Default(), none, [&](const char*) -> const nn::Tensor& { return bias; },
                             block};
      const nn::IntArray given{{1, kColumns}, x[text]};
      const nn::IntArray* const inputs[] = {&given};
      out.emplace_back();
      for (const int64_t v : op_.Spec(call, inputs).at) out.back().push_back(uint64_t(v) & ring::Mask(op_.ring));
    }
    return out;
  }
  ordered_json Facts() const override {
    return {{"rows", rows_},        {"capacity", op_.rows()}, {"buckets", op_.buckets},
            {"places", op_.places}, {"stop", op_.stop},       {"groups", op_.groups},
            {"k", op_.k},           {"block_rows", op_.block}};
  }

 private:
  static constexpr const char* kNode = "search";
  struct NoObserver : nn::RangeObserver {
    void See(const char*, std::span<const int64_t>) override {}
    void Leave(const char*, int64_t, int64_t) override {}
  };
  size_t SizeOf(int64_t b) const { return size_t(kColumns * op_.rows_of(b)); }
  // Returns a block of P0's rows, of B or of P1's W - B.
  template <class T>
  WipedVector<T> Block(Role role, int64_t b) const {
    const int64_t count = op_.rows_of(b);
    const auto cut = T(ring::Mask(op_.ScoreRing()));
    WipedVector<T> block(SizeOf(b));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = b * op_.block + i;
      const Ints w = role == Role::kDealer || row >= rows_ ? Ints(kColumns, 0) : RowAt(row, op_.g);
      for (int64_t j = 0; j < kColumns; ++j) {
        const auto at = size_t(j * count + i);
        const uint64_t mask = role == Role::kModel ? 0 : MaskAt(uint64_t(b), at);
        block[at] = T(T(role == Role::kDealer ? mask : uint64_t(w[size_t(j)]) - mask) & cut);
      }
    }
    return block;
  }
  Ints Bias() const {
    Ints bias;
    for (int64_t row = 0; row < op_.rows(); ++row)
      bias.push_back(IsDeleted(row, rows_) ? -(int64_t{1} << (op_.f + op_.g + 1)) : 0);
    return bias;
  }

  const std::string name_;
  const int64_t rows_;
  nn::Search op_;
};

class FetchTask final : public Task {
 public:
  std::string name() const override { return "fetch"; }
  void Emit(pfss::Trace& t) const override { op_.Build(t); }
  void SetRows(Role role, run::Inputs& inputs) const override {
    for (int64_t b = 0; b < op_.blocks(); ++b) {
      WipedVector<uint16_t> block;
      for (int64_t row = b * op_.block; row < b * op_.block + op_.rows_of(b); ++row) {
        const std::vector<uint16_t> words = TableAt(row);
        for (size_t j = 0; j < words.size(); ++j) {
          const auto mask = uint16_t(MaskAt(uint64_t(row), j));
          block.push_back(role == Role::kModel ? words[j] : role == Role::kDealer ? mask : uint16_t(words[j] - mask));
        }
      }
      inputs.Set((role == Role::kModel    ? "W."
                  : role == Role::kDealer ? "B."
                                          : "Wh.") +
                     nn::Fetch::NameOf(b),
                 std::move(block));
    }
  }
  void SetText(int text, run::Inputs& inputs) const override { inputs.Set(nn::Fetch::kRowsInput, HitsOf(text)); }
  std::vector<std::vector<uint64_t>> Specs() const override {
    std::vector<std::vector<uint64_t>> out(kTexts);
    for (int text = 0; text < kTexts; ++text)
      for (const int64_t row : HitsOf(text))
        for (const uint16_t word : TableAt(row)) out[size_t(text)].push_back(word);
    return out;
  }
  ordered_json Facts() const override { return {{"rows", op_.rows}, {"words", op_.words}, {"k", op_.k}}; }

 private:
  static std::vector<uint16_t> TableAt(int64_t row) {
    std::vector<uint16_t> words;
    for (int64_t j = 0; j < kTableWords; ++j) words.push_back(uint16_t(MaskAt(uint64_t(row) << 20, uint64_t(j)) >> 7));
    return words;
  }
  static Ints HitsOf(int text) {
    Ints rows;
    for (uint64_t i = 0; i < kHits; ++i) rows.push_back(int64_t(MaskAt(uint64_t(text), i) % kFetched));
    return rows;
  }
  const nn::Fetch op_{kFetched, kTableWords, kHits};
};

// ---- roles

double ProcessorMs() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return double(t.tv_sec) * 1e3 + double(t.tv_nsec) / 1e6;
}

// A run, as a role receives it. A party gets only its own key.
struct Order {
  Hash rho{}, key[2]{};
  int32_t text = 0;
};
// Its costs at a role.
struct Spent {
  double processor_ms = 0, online_ms = 0, memory_mb = 0;
};

template <class T>
void PutPlain(int socket, const T& value) {
  Put(socket, {reinterpret_cast<const uint8_t*>(&value), sizeof value});
}
template <class T>
T GetPlain(int socket) {
  T value;
  Get(socket, {reinterpret_cast<uint8_t*>(&value), sizeof value});
  return value;
}

std::unique_ptr<pfss::Randomness> RandomnessOf(pfss::Backend& backend, const Order& o, Role role) {
  pfss::BundleSecrets secrets{{}, o.rho};
  for (size_t p : {0, 1})
    if (role == Role::kDealer || size_t(role) == p) secrets.key[p].emplace(View(o.key[p]));
  return backend.Expand(std::move(secrets));
}

// A role's process. It serves runs until its control socket ends.
class RoleProcess {
 public:
  RoleProcess(const Task& task, Role role, int control)
      : task_(task), role_(role), control_(control), pool_(1), backend_(backends::Find("packed", true).make(pool_)) {
    task.Emit(trace_);
    schedule_.emplace(trace_);
    task.SetRows(role, inputs_);
    apps::KeepPages();
  }
  // `keys`: sockets to P0 and P1 at the dealer, the one to the dealer at a party. `peer`: the socket between parties.
  [[noreturn]] void Serve(const std::vector<int>& keys, int peer) {
    std::optional<TcpLink> link;
    if (role_ != Role::kDealer) link.emplace(std::vector{peer});
    PutPlain(control_, char{1});
    for (;;) {
      const auto order = GetPlain<Order>(control_);
      if (role_ == Role::kDealer)
        DealKeys(order, keys);
      else
        RunParty(order, keys[0], *link);
    }
  }

 private:
  void DealKeys(const Order& order, const std::vector<int>& sockets) {
    const double begin = ProcessorMs();
    const auto randomness = RandomnessOf(*backend_, order, role_);
    const std::array<Bytes, 2> bodies = run::DealBodies(*schedule_, *backend_, *randomness, inputs_);
    const double spent = ProcessorMs() - begin;
    for (size_t p : {0, 1}) Put(sockets[p], bodies[p]);
    PutPlain(control_, Spent{spent, 0, apps::PeakRss(0)});
  }
  void RunParty(const Order& order, int dealer, TcpLink& link) {
    const int p = int(role_);
    if (p) task_.SetText(order.text, inputs_);
    store::KeySource keys(std::make_shared<const store::BodyLayout>(run::LayoutOf(*schedule_, p)),
                          store::KeySource::kWhole);
    keys.Feed([dealer](store::KeySource& k) {
      for (auto buffer = k.NextBuffer(); !buffer.empty(); buffer = k.NextBuffer()) {
        Get(dealer, buffer.subspan(net::ChunkTags::kBytes));
        k.MarkFilled();
      }
    });
    keys.AwaitAll();
    PutPlain(control_, char{1});
    (void)GetPlain<char>(control_);  // both have their keys
    const double begin = ProcessorMs();
    const auto randomness = RandomnessOf(*backend_, order, role_);
    run::Times times;
    const std::vector<uint64_t> words = run::RunParty({.schedule = *schedule_,
                                                       .backend = *backend_,
                                                       .party = p,
                                                       .randomness = *randomness,
                                                       .inputs = inputs_,
                                                       .keys = keys,
                                                       .link = link,
                                                       .times = &times,
                                                       .parts = true});
    PutPlain(control_, Spent{ProcessorMs() - begin, times.total * 1e3, apps::PeakRss(0)});
    PutPlain(control_, uint64_t(words.size()));
    Put(control_, {reinterpret_cast<const uint8_t*>(words.data()), words.size() * sizeof(uint64_t)});
  }

  const Task& task_;
  const Role role_;
  const int control_;
  exec::Pool pool_;
  const std::unique_ptr<pfss::Backend> backend_;
  pfss::Trace trace_;
  std::optional<pfss::Schedule> schedule_;
  run::Inputs inputs_;
};

constexpr const char* kRoleNames[] = {"p0", "p1", "dealer"};

// The processes of the three roles, with their control sockets.
class RoleProcesses {
 public:
  explicit RoleProcesses(const Task& task) {
    const auto between = Connected(1), to_p0 = Connected(1), to_p1 = Connected(1);
    std::vector<int> all;
    for (const auto* pair : {&between, &to_p0, &to_p1}) all.insert(all.end(), {(*pair)[0][0], (*pair)[1][0]});
    for (const Role role : {Role::kModel, Role::kData, Role::kDealer}) {
      int control[2];
      if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control))
        Fail(Cause::kResource, "cannot make a pair of sockets");
      const auto p = size_t(role);
      pid_[p] = fork();
      if (pid_[p] < 0) Fail(Cause::kResource, "cannot make a process; free memory or processes");
      if (!pid_[p]) {
        const std::vector<int> keys =
            role == Role::kDealer ? std::vector{to_p0[0][0], to_p1[0][0]} : std::vector{(p ? to_p1 : to_p0)[1][0]};
        const int peer = role == Role::kDealer ? -1 : between[p][0];
        close(control[0]);
        for (const int s : control_) close(s);
        for (const int s : all)
          if (s != peer && !std::count(keys.begin(), keys.end(), s)) close(s);
        Child(task, role, control[1], keys, peer);
      }
      close(control[1]);
      control_.push_back(control[0]);
    }
    for (const int s : all) close(s);
  }
  ~RoleProcesses() {
    for (const pid_t p : pid_) {
      kill(p, SIGKILL);
      waitpid(p, nullptr, 0);
    }
    for (const int s : control_) close(s);
  }
  RoleProcesses(const RoleProcesses&) = delete;
  RoleProcesses& operator=(const RoleProcesses&) = delete;
  int control(Role role) const { return control_[size_t(role)]; }

 private:
  [[noreturn]] static void Child(const Task& task, Role role, int control, const std::vector<int>& keys, int peer) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
      RoleProcess(task, role, control).Serve(keys, peer);
    } catch (const std::exception& e) {
      std::cerr << "suf: " << kRoleNames[size_t(role)] << ": " << e.what() << "\n";
    }
    _exit(1);
  }
  std::array<pid_t, 3> pid_{};
  std::vector<int> control_;
};

double MedianOf(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return std::round((v[(v.size() - 1) / 2] + v[v.size() / 2]) * 500) / 1e3;
}

// Runs a task `runs` times after warming up; returns its JSON line.
ordered_json Measure(const Task& task, int runs) {
  const RoleProcesses roles(task);
  const std::vector<std::vector<uint64_t>> want = task.Specs();
  constexpr Role kAll[] = {Role::kModel, Role::kData, Role::kDealer};
  for (const Role role : kAll) (void)GetPlain<char>(roles.control(role));
  std::array<std::vector<double>, 3> processor;
  std::array<double, 3> memory{};
  std::vector<double> sum, online;
  size_t compared = 0;
  for (int run = -kWarm; run < runs; ++run) {
    const int text = (run + kWarm) % kTexts;
    const Order order{RandomHash(), {RandomHash(), RandomHash()}, text};
    for (const Role role : kAll) {
      Order own = order;
      if (role != Role::kDealer) own.key[1 - size_t(role)] = {};
      PutPlain(roles.control(role), own);
    }
    for (const Role role : {Role::kModel, Role::kData}) (void)GetPlain<char>(roles.control(role));
    for (const Role role : {Role::kModel, Role::kData}) PutPlain(roles.control(role), char{1});
    double all = 0;
    for (const Role role : kAll) {
      const auto spent = GetPlain<Spent>(roles.control(role));
      memory[size_t(role)] = spent.memory_mb;
      all += spent.processor_ms;
      if (run >= 0) processor[size_t(role)].push_back(spent.processor_ms);
      if (run >= 0 && role == Role::kData) online.push_back(spent.online_ms);
      if (role == Role::kDealer) continue;
      std::vector<uint64_t> words(GetPlain<uint64_t>(roles.control(role)));
      Get(roles.control(role), {reinterpret_cast<uint8_t*>(words.data()), words.size() * sizeof(uint64_t)});
      if (words != (role == Role::kData ? want[size_t(text)] : std::vector<uint64_t>{}))
        Fail(Cause::kRefused, "the result of ", task.name(), " differs from the specification");
      compared += words.size();
    }
    if (run >= 0) sum.push_back(all);
  }
  pfss::Trace t;
  task.Emit(t);
  const pfss::Schedule s(t);
  if (const pfss::LintReport lint = pfss::Lint(s); !lint.faults.empty()) Fail(Cause::kRefused, lint.faults[0]);
  ordered_json line{{"bench", "search"}, {"case", task.name()}, {"shape", task.Facts()}, {"runs", runs}};
  line["flights"] = s.flights();
  line["key_bytes"] = {s.key_bytes(0), s.key_bytes(1)};
  line["payload"] = {s.sent(0, true), s.sent(1, true)};
  line["p1_ahead"] = s.sent(1, false);
  line["cpu_ms"] = MedianOf(sum);
  line["cpu_ms_least"] = std::round(*std::min_element(sum.begin(), sum.end()) * 1e3) / 1e3;
  for (const Role role : kAll) {
    line["cpu_ms_of"][kRoleNames[size_t(role)]] = MedianOf(processor[size_t(role)]);
    line["memory_mb"][kRoleNames[size_t(role)]] = std::round(memory[size_t(role)]);
  }
  line["online_ms"] = MedianOf(online);
  line["words_compared"] = compared;
  return line;
}

std::unique_ptr<Task> TaskNamed(const std::string& name) {
  if (name == "fetch") return std::make_unique<FetchTask>();
  for (const NamedShape& s : kShapes)
    if (name == s.name) return std::make_unique<SearchTask>(s, std::stoll(name));
  Fail(Cause::kInput, "usage: search_bench [CASE ..] [runs=N]; got ", name);
}

int Main(int argc, char** argv) {
  std::vector<std::string> names;
  int runs = 5;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind("runs=", 0) == 0)
      runs = std::max(1, std::atoi(word.c_str() + 5));
    else
      names.push_back(word);
  }
  if (names.empty()) {
    for (const NamedShape& s : kShapes)
      if (std::string(s.name) != kOnDemand) names.push_back(s.name);
    names.push_back("fetch");
  }
  for (const std::string& name : names) std::cout << Measure(*TaskNamed(name), runs).dump() << std::endl;
  return 0;
}

}  // namespace
}  // namespace suf::bench

int main(int argc, char** argv) { return suf::bench::RunMain(suf::bench::Main, argc, argv); }
