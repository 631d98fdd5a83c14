// Commands of the three roles: certs, deal, serve, embed.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "apps/engine.hpp"
#include "apps/show.hpp"
#include "apps/texts.hpp"
#include "apps/times.hpp"
#include "suf/base/log.hpp"
#include "suf/model/safetensors.hpp"
#include "suf/proto/certs.hpp"
#include "suf/proto/credentials.hpp"
#include "suf/proto/tls.hpp"
#include "suf/ring/words.hpp"

namespace suf::apps {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

namespace {

// Harden: no core dump, no debugger, and no swap where locking memory cannot make an allocation fail: memory holds
// keys.
void Harden() {
  rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  prctl(PR_SET_DUMPABLE, 0);
  rlimit lock{};
  if (getrlimit(RLIMIT_MEMLOCK, &lock) == 0 && lock.rlim_cur == RLIM_INFINITY)
    (void)mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
}

// Own: the credentials in `certs` itself or its sub-folder of the role, with the pins of the command line.
proto::Credentials Own(const char* command, const std::string& certs, proto::Role role,
                       const std::vector<std::string>& pins) {
  fs::path sub = fs::path(certs) / proto::Name(role);
  proto::Credentials own(fs::exists(sub / "cert.pem") ? sub.string() : certs);
  if (own.identity().role != role)
    Fail(Exit::kRefused, certs, " holds the certificate of another role; ", command, " needs ", proto::Title(role),
         "'s");
  for (auto& text : pins) {
    proto::Identity pin = proto::FromFingerprint(text);
    if (pin.role == role) Fail(Exit::kInput, "--pin ", text, " names our own role; pin the keys of the other two");
    own.Pin(pin);
  }
  log::Info(Str(command, ": our key is ", proto::Fingerprint(own.identity())));
  return own;
}

proto::Millis Timeout(double seconds) {
  if (!(seconds >= 0.1 && seconds <= 86400))
    Fail(Exit::kInput, "--timeout must be between 0.1 and 86400 seconds; got ", seconds);
  return proto::Millis(int64_t(seconds * 1000));
}

proto::DialDealer Dealer(const proto::Credentials& own, const std::string& where, proto::Millis timeout) {
  proto::Address address = proto::Address::Parse(where);
  return [own, address, timeout](std::stop_token stop) {
    return proto::Dial(own, address, proto::Role::kDealer, timeout, std::move(stop));
  };
}

// Stopping: SIGINT and SIGTERM end the listener after the running sessions. They are blocked in every thread (made
// before there is another one) and awaited in one, so that no handler runs in the middle of anything.
class Stopping {
 public:
  Stopping() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGINT), sigaddset(&set_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }
  // Run: the listener, until a signal or Stop.
  void Run(proto::Listener& listener, const char* role, const std::function<void(proto::Channel&)>& session) {
    KeepPages();
    std::atomic<bool> over{false};
    std::thread waiter([&] {
      timespec look{0, 200'000'000};
      while (!over.load())
        if (sigtimedwait(&set_, nullptr, &look) > 0) return listener.Stop();
    });
    log::Info(Str(role, ": listening on port ", listener.port(), ", pid ", getpid()));
    listener.Run(session, [&](const Error& e) { log::Warn(Str(role, ": a session ended: ", e.what())); });
    over = true;
    waiter.join();
  }

 private:
  sigset_t set_;
};

}  // namespace

int RunCerts(const CertsArgs& a) {
  if (!a.show) proto::MakeCerts(a.dir);
  std::vector<fs::path> folders;
  if (fs::exists(fs::path(a.dir) / "cert.pem")) folders = {a.dir};
  for (auto r : {proto::Role::kDealer, proto::Role::kModel, proto::Role::kData})
    if (fs::path sub = fs::path(a.dir) / proto::Name(r); fs::exists(sub / "cert.pem")) folders.push_back(sub);
  if (folders.empty()) Fail(Exit::kInput, "there are no certificates in ", a.dir, "; make some with: suf certs DIR");
  for (auto& f : folders) std::cout << proto::Fingerprint(proto::Credentials(f.string()).identity()) << "\n";
  if (!a.show)
    std::cerr << "certificates for dealer, model and data in " << a.dir
              << "; give each role its own folder and nothing else\n";
  return 0;
}

int RunDeal(const DealArgs& a) {
  Harden();
  Stopping stopping;
  auto own = Own("deal", a.certs, proto::Role::kDealer, a.pins);
  Engine engine(LoadPlan(a.plan));
  if (a.tokens) (void)engine.At(a.tokens);
  fs::path state = a.state.empty() ? fs::path(a.certs) / "state" : fs::path(a.state);
  proto::DealerState serials(state.string());
  Generator generate(engine);
  TimesFile times(a.times);
  generate.dealt = [&](const proto::DealJob& j, const proto::Times& t) { times.Add(j.serial, t); };
  proto::Dealer::Options options;
  options.ahead_tokens = uint32_t(a.tokens), options.ahead_count = uint32_t(std::max(a.count, 1));
  auto timeout = Timeout(a.timeout);
  options.partner_wait = timeout / 3;  // the parties, who wait as long as we do, are to hear of it
  options.dealt = [](uint32_t n, uint64_t serial) { log::Info(Str("deal: serial ", serial, ", ", n, " tokens")); };
  proto::Dealer dealer(engine.ForProto(), serials, options,
                       [&](const proto::DealJob& j, proto::Sink& p0, proto::Sink& p1) { generate(j, p0, p1); });
  proto::Listener listener(own, proto::Address::Parse(a.listen), {proto::Role::kModel, proto::Role::kData}, timeout);
  stopping.Run(listener, "deal", [&](proto::Channel& ch) { dealer.Handle(ch); });
  return 0;
}

int RunServe(const ServeArgs& a) {
  Harden();
  Stopping stopping;
  auto own = Own("serve", a.certs, proto::Role::kModel, a.pins);
  Engine engine(LoadPlan(a.plan));
  nn::Quantised weights = LoadWeights(a.model, engine.plan());
  proto::Store store(a.store);
  for (auto& n : store.notices()) log::Warn(Str("serve: ", n));
  proto::Secret key = store.LongLived("weights.key"), seed = store.LongLived("b.seed");
  Hash id = WeightsId(key.view(), weights, engine.hash());
  Masks masks(engine, seed.view(), id);
  proto::Inputs inputs;
  ModelInputs(weights, inputs);
  TimesFile times(a.times);
  std::unique_ptr<proto::Recorder> recorder;
  if (!a.record.empty()) recorder = std::make_unique<proto::Recorder>(a.record);
  proto::Plan plan = engine.ForProto();
  auto timeout = Timeout(a.timeout);
  auto dial = Dealer(own, a.dealer, timeout);
  proto::ModelHost host{
      plan,
      store,
      id,
      seed,
      [&](proto::Sink& out) { WriteSetup(engine, weights, masks, [&](View v) { out.Write(v); }); },
      dial,
      [&](proto::Inference& inference) {
        LengthInputs(weights, engine.plan(), int(inference.header().n), inputs);
        times.Add(inference.header().serial, RunInference(engine, inference, inputs).times);
        // the same words whatever the result was
        log::Info(Str("serve: serial ", inference.header().serial, ", ", inference.header().n, " tokens"));
      },
      AuditOf(engine)};
  host.auditor.passed = [](uint32_t n, uint64_t serial) {
    log::Info(Str("serve: serial ", serial, ", ", n, " tokens, audited: both bundles are as they should be"));
  };
  proto::Listener listener(own, proto::Address::Parse(a.listen), {proto::Role::kData}, timeout);
  proto::Turnstile turnstile;
  std::string failure;
  Exit code = Exit::kOk;
  stopping.Run(listener, "serve", [&](proto::Channel& ch) {
    ch.set_recorder(recorder.get());
    bool ran = false;
    try {
      turnstile.Pass(ch, [&] {
        ran = true;
        proto::ServeSession(ch, host);
      });
    } catch (const Error& e) {
      if (a.once && ran) code = e.code(), failure = e.what(), listener.Stop();
      throw;
    }
    if (a.once && ran) listener.Stop();
  });
  if (code != Exit::kOk) throw Error(code, failure);
  return 0;
}

namespace {

// Row: what `embed` says of one text, without the floats' rounding.
ordered_json Row(const Line& l, const Engine& engine, const Work& work, uint64_t serial,
                 const std::vector<int64_t>& y) {
  ordered_json row{{"schema", "suf.embed/1"}, {"i", l.i}};
  row["id"] = l.id.empty() ? ordered_json(nullptr) : ordered_json(l.id);
  row["n"] = l.ids.size(), row["serial"] = serial, row["plan"] = Hex(engine.hash()),
  row["trace"] = Hex(work.trace.digest());
  row["y"] = y, row["f"] = engine.plan().scales.result;
  std::vector<float> e;
  for (int64_t v : y) e.push_back(float(double(v) / double(int64_t{1} << engine.plan().scales.result)));
  row["embedding"] = e;
  const pfss::Schedule& s = *work.schedule;
  row["rounds"] = s.rounds(), row["frames"] = {s.frame_count(0, true), s.frame_count(1, true)};
  return row;
}

// Booked: bytes a channel has counted so far, by phase and direction.
struct Booked {
  uint64_t p0 = 0, p1 = 0, ahead = 0, setup = 0;
  explicit Booked(const proto::Channel& ch) {
    using proto::Phase;
    p0 = ch.traffic(Phase::kOnline).bytes_received, p1 = ch.traffic(Phase::kOnline).bytes_sent;
    ahead = ch.traffic(Phase::kOffline).bytes_sent, setup = ch.traffic(Phase::kSetup).bytes_received;
  }
};

void Print(const Line& l, const ordered_json& row) {
  if (!l.error.empty()) {
    std::cout << "line " << l.i + 1 << ": " << l.error << "\n";
    return;
  }
  const auto& e = row["embedding"];
  std::cout << "line " << l.i + 1 << ": " << l.ids.size() << " tokens, serial " << row["serial"] << ", "
            << Fixed(row["ms"]["online"].get<double>(), 0) << " ms online, embedding [" << Fixed(e[0], 4) << " "
            << Fixed(e[1], 4) << " " << Fixed(e[2], 4) << " .. " << Fixed(e.back(), 4) << "]\n";
}

void WriteEmbeddings(const std::string& path, const std::vector<ordered_json>& rows, int64_t d) {
  std::vector<float> all;
  std::vector<int64_t> index;
  for (auto& r : rows) {
    index.push_back(r["i"].get<int64_t>());
    for (auto& v : r["embedding"]) all.push_back(v.get<float>());
  }
  std::vector<model::NewTensor> tensors{{"embedding", {int64_t(rows.size()), d}, std::span<const float>(all)},
                                        {"line", {int64_t(rows.size())}, std::span<const int64_t>(index)}};
  model::WriteSafetensors(path, tensors);
}

// PlaceAudits: how many audits come before and after each text. All texts have as many, but for a rest that random ones
// have; a text's own bundle is at a random place among those of its length, so that the dealer cannot know which is
// used.
std::vector<std::array<int, 2>> PlaceAudits(size_t texts, size_t audits) {
  auto below = [](uint64_t n) {
    uint64_t r;
    RandomBytes({reinterpret_cast<uint8_t*>(&r), sizeof r});
    return r % n;
  };
  std::vector<int> count(texts, int(audits / texts));
  for (size_t i = 0, rest = audits % texts; i < texts; ++i)
    if (below(texts - i) < rest) ++count[i], --rest;
  std::vector<std::array<int, 2>> places;
  for (int c : count) {
    int before = int(below(uint64_t(c) + 1));
    places.push_back({before, c - before});
  }
  return places;
}

// Due: the bundles that texts and audits take, one after the other.
class Due {
 public:
  Due(const std::vector<Line>& lines, int audits, bool one_by_one) : one_by_one_(one_by_one) {
    places = PlaceAudits(size_t(std::count_if(lines.begin(), lines.end(), [](auto& l) { return l.error.empty(); })),
                         size_t(audits));
    auto place = places.begin();
    for (const Line& l : lines) {
      if (!l.error.empty()) continue;
      tokens_.insert(tokens_.end(), size_t(1 + (*place)[0] + (*place)[1]), uint32_t(l.ids.size()));
      ++place;
    }
  }
  // Take: the next bundle; returns the tokens of the one after it, which is asked for meanwhile; 0: none is.
  uint32_t Take() { return ++taken_ < tokens_.size() && !one_by_one_ ? tokens_[taken_] : 0; }
  std::vector<std::array<int, 2>> places;  // audits before and after each text

 private:
  bool one_by_one_;
  std::vector<uint32_t> tokens_;
  size_t taken_ = 0;
};

}  // namespace

int RunEmbed(const EmbedArgs& a) {
  Harden();
  auto own = Own("embed", a.certs, proto::Role::kData, a.pins);
  Engine engine(LoadPlan(a.plan));
  // texts become ids before anybody hears of them
  auto lines = ReadTexts(a.source);
  {
    std::string vocabulary = ReadFile(a.vocab, "the vocabulary ", "it is vocab.txt of the model");
    if (HashOf({AsView(vocabulary)}) != engine.plan().tokenizer)
      Fail(Exit::kRefused, a.vocab, " is not the vocabulary that the plan was made for; ask the model owner for it");
    TokenizeAll(model::Tokenizer::Load(a.vocab), engine.plan().max_tokens, a.truncate, &lines);
  }
  bool any = false;
  for (auto& l : lines) any |= l.error.empty();
  std::vector<ordered_json> done;
  auto say = [&](const Line& l, const ordered_json& row) {
    if (a.json)
      std::cout << row.dump() << std::endl;
    else
      Print(l, row);
  };
  if (!any) {
    for (auto& l : lines) say(l, {{"i", l.i}, {"error", l.error}});
    return Finish(lines);
  }
  if (!a.out.empty() && !std::ofstream(a.out, std::ios::binary | std::ios::app))
    Fail(Exit::kResource, "cannot write ", a.out, "; check the directory and its rights");
  proto::Store store(a.store);
  for (auto& n : store.notices()) log::Warn(Str("embed: ", n));
  std::unique_ptr<proto::Recorder> recorder;
  if (!a.record.empty()) recorder = std::make_unique<proto::Recorder>(a.record);
  proto::Plan plan = engine.ForProto();
  auto timeout = Timeout(a.timeout);
  auto ch = proto::Dial(own, proto::Address::Parse(a.connect), proto::Role::kModel, timeout);
  ch->set_recorder(recorder.get());
  proto::DataSession session(*ch, plan, store, Dealer(own, a.dealer, timeout));
  proto::Inputs inputs;
  ReadSetup(engine, session.Setup(), inputs);
  uint64_t setup = Booked(*ch).setup;
  KeepPages();
  int64_t d = engine.plan().dims.d;
  auto begun = std::chrono::steady_clock::now();
  size_t sentences = 0;
  Due due(lines, a.audit, a.one_by_one);
  auto audit = [&](int count, int n) {
    for (int i = 0; i < count; ++i) {
      session.Audit(uint32_t(n), due.Take());
      log::Info("embed: the model owner audited a bundle and found nothing wrong");
    }
  };
  auto places = due.places.begin();
  for (Line& l : lines) {
    if (!l.error.empty()) {
      say(l, {{"i", l.i}, {"error", l.error}});
      continue;
    }
    int n = int(l.ids.size());
    auto work = engine.At(n);
    auto [audits_before, audits_after] = *places++;
    audit(audits_before, n);
    inputs.Set("tokens", std::vector<int32_t>(l.ids.begin(), l.ids.end()));
    Booked before(*ch);
    ordered_json row;
    Outcome out;
    double fetch = 0, dealt = 0, wall = 0;
    auto start = std::chrono::steady_clock::now();
    uint64_t serial = 0;
    Bar bar(Str("text ", l.i + 1, " of ", lines.size()));
    bar.At(0, "keys from the dealer");
    session.Infer(
        uint32_t(n),
        [&](proto::Inference& inference) {
          fetch = inference.fetch_ms(), dealt = inference.dealt_ms();
          serial = inference.header().serial;
          out = RunInference(engine, inference, inputs, [&](int step, int steps, const std::string& scope) {
            bar.At(double(step) / steps, scope);
          });
          wall = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
        },
        due.Take());
    ++sentences;
    inputs.Drop("tokens");
    audit(audits_after, n);
    std::vector<int64_t> y;
    bool zero = true;
    int bits = work->trace.node(work->trace.result(1)).ring.bits;
    for (uint64_t w : out.words) y.push_back(ring::Signed(w, bits)), zero &= w == 0;
    if (zero) {  // only P1 ever sees this
      l.error =
          "the sum of this text's token vectors is zero, so it has no direction and no embedding; change the text";
      say(l, {{"i", l.i}, {"error", l.error}});
      continue;
    }
    row = Row(l, engine, *work, serial, y);
    Booked after(*ch);
    row["bytes"] = {{"p0", after.p0 - before.p0},
                    {"p1", after.p1 - before.p1},
                    {"p1_offline", after.ahead - before.ahead},
                    {"setup", setup}};
    row["key_bytes"] = {work->schedule->key_bytes(0), work->schedule->key_bytes(1)};
    // ahead: claim, and the frame before the inference
    double online = out.times.total * 1e3;
    row["ms"] = {{"deal", dealt},
                 {"transport", std::max(0.0, fetch - dealt)},
                 {"ahead", std::max(0.0, wall - fetch - online)},
                 {"online", online}};
    row["rss_mb"] = {PeakRss()};
    row["at_s"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    row["times"]["p1"] = TimesJson(out.times);
    setup = 0;
    say(l, row);
    done.push_back(std::move(row));
  }
  session.End();
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  log::Info(Str("embed: ", sentences, sentences == 1 ? " sentence in " : " sentences in ", Fixed(seconds, 2), " s, ",
                Fixed(double(sentences) / seconds, 2), " a second"));
  if (!a.out.empty()) WriteEmbeddings(a.out, done, d);
  return Finish(lines);
}

}  // namespace suf::apps
