#include "tests/faults/roles.hpp"

#include <sched.h>
#include <sys/prctl.h>

#include <filesystem>
#include <fstream>

#include "apps/exit.hpp"
#include "suf/backends/all.hpp"
#include "suf/cpu/packed.hpp"
#include "suf/model/tiny_test.hpp"
#include "suf/net/certs.hpp"
#include "suf/net/tls.hpp"
#include "suf/nn/read/simulate.hpp"
#include "suf/ring/modular.hpp"

namespace suf::faults {

using namespace store;
using namespace run;
using namespace proto;
namespace {

constexpr Millis kAmple{60'000}, kDial{3'000};  // if a time-out is not the subject; of a role that may be stopped

void Append(const std::string& path, View bytes) {
  std::ofstream(path, std::ios::binary | std::ios::app)
      .write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
}

Bytes ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string s{std::istreambuf_iterator<char>(in), {}};
  return {s.begin(), s.end()};
}

// Notes each frame that a role is about to send, and checks that its serial is claimed.
void NoteFrame(const Scene& s, Role self, const Sent& f) {
  if (s.setting.reference.empty()) {
    Writer w;
    w.Put(uint8_t(f.from));
    w.Put(uint8_t(f.to));
    w.Put(f.kind);
    w.Sized(f.payload);
    Append(FramesFile(s, self), w.bytes());
  }
  if (f.from == Role::kDealer || f.to == Role::kDealer || !Dependent(f.kind)) return;
  auto ledger = ReadLedger(StoreOf(s, self));
  if (ledger.empty() || ledger.back().kind != uint32_t(RecordKind::kClaimed))
    s.pipe.Say({Event::kBroken, self}, Str("a frame of kind ", f.kind, " leaves and no serial is claimed"));
  Entry e{ledger.empty() ? 0 : ledger.back().serial, f.kind, f.payload.size() >= 16, HashOf({f.payload})};
  Append(SentFile(s, self), View(reinterpret_cast<const uint8_t*>(&e), sizeof e));
}

Faulty::Plan PlanOf(const Scene& s, Role self) {
  return {s.board, s.fault, s.setting.reference, [&s, self](const Sent& f) { NoteFrame(s, self, f); }};
}

std::unique_ptr<Channel> DialTo(const Scene& s, Role self, Role to) {
  auto ch = Dial(*s.setting.own[int(self)], {"127.0.0.1", s.board.port[int(to)]}, to, s.board.calm ? kAmple : kDial);
  ++s.board.dialled[int(to)];
  std::string certificates = ch->peer_certificates();
  auto faulty = std::make_unique<Faulty>(std::move(ch), PlanOf(s, self));
  faulty->SetSigner(s.setting.own[int(self)]->signer(), std::move(certificates));
  return faulty;
}

// Serves sessions until it is killed, and reports the end of each.
void Serve(const Scene& s, Role self, std::vector<Role> peers, const std::function<void(Channel&)>& session) {
  Listener listener(*s.setting.own[int(self)], {"127.0.0.1", 0}, std::move(peers), kAmple);
  s.board.port[int(self)] = listener.port();
  s.pipe.Say({Event::kListening, self}, "");
  listener.Run(
      [&](Channel& below) {
        Faulty ch(below, PlanOf(s, self));
        ch.SetSigner(s.setting.own[int(self)]->signer(), below.peer_certificates());
        session(ch);
        s.pipe.Say({Event::kEnded, self, 0}, "");
      },
      [&](const Error& e) {
        s.pipe.Say({Event::kEnded, self, apps::ExitCode(e.cause())}, e.what());
      });
}

void RunDealer(const Scene& s) {
  roles::ModelEngine& engine = *s.setting.engine;
  DealerState serials(StoreOf(s, Role::kDealer));
  roles::Generator generate(engine);
  BundleDealer::Options options;
  options.partner_wait = Millis{5'000};
  BundleDealer dealer(s.setting.plan, serials, options,
                      [&](DealJob j, Sink& a, Sink& b) { generate(std::move(j), a, b); });
  Serve(s, Role::kDealer, {Role::kModel, Role::kData}, [&](Channel& ch) { dealer.Handle(ch); });
}

void ReportNotices(const Scene& s, Role self, Home& home) {
  for (const auto& n : home.TakeNotices()) s.pipe.Say({Event::kNotice, self}, n);
}

void RunModel(const Scene& s) {
  roles::ModelEngine& engine = *s.setting.engine;
  Home home(StoreOf(s, Role::kModel));
  ReportNotices(s, Role::kModel, home);
  Secret key = home.LongLivedSecret("weights.key");
  SharedSecret seed = Share(home.LongLivedSecret("b.seed"));
  Hash id = roles::WeightsId(key.view(), s.setting.weights, engine.hash(), seed->view());
  roles::Masks masks(engine, seed->view(), id);
  Inputs inputs;
  roles::ModelInputs(engine.plan(), s.setting.weights, inputs);
  ModelHost host{s.setting.plan,
                 home,
                 id,
                 roles::SetupHash(engine, s.setting.weights, masks),
                 seed,
                 [&](Sink& out) { roles::WriteSetup(engine, s.setting.weights, masks, [&](View v) { out.Write(v); }); },
                 [&](std::stop_token) { return DialTo(s, Role::kModel, Role::kDealer); },
                 [&](Inference& inference) {
                   roles::LengthInputs(engine.plan(), s.setting.weights, int(inference.header().job.tokens), inputs);
                   (void)roles::RunInference(engine, inference, inputs);
                   return std::function<void()>();
                 }};
  Serve(s, Role::kModel, {Role::kData}, [&](Channel& ch) { ServeSession(ch, host); });
}

// Whether this is the receipt of this text, signed by both parties.
bool IsRight(const Scene& s, const Receipt& r, uint64_t serial) {
  bool right = r.facts.plan == s.setting.engine->hash() && r.facts.serial == serial &&
               r.facts.tokens == s.setting.ids.size() && r.facts.texts == 1;
  for (const Role role : {Role::kModel, Role::kData}) {
    const int p = PartyOf(role);
    const Signer& own = *s.setting.own[int(role)]->signer();
    right = right && r.certificates[p] == own.certificates() &&
            r.facts.key[p] == s.setting.own[int(role)]->identity().key &&
            !FaultOf(r.facts, r.part[p], role, RoleCertificate(r.certificates[p], "it"));
  }
  return right;
}

void RunData(const Scene& s) {
  roles::ModelEngine& engine = *s.setting.engine;
  Event done{Event::kDone, Role::kData};
  std::string text;
  int receipts = 0;
  bool right = true;
  try {
    Home home(StoreOf(s, Role::kData));
    ReportNotices(s, Role::kData, home);
    auto ch = DialTo(s, Role::kData, Role::kModel);
    KeyPolicy keys;
    if (s.setting.receipts)
      keys.receipts = [&](const Receipt& r) {
        ++receipts;
        right = right && IsRight(s, r, done.serial);
      };
    DataSession session(
        *ch, s.setting.plan, home.OpenAny(), [&](std::stop_token) { return DialTo(s, Role::kData, Role::kDealer); },
        keys);
    Inputs inputs;
    roles::ReadSetup(engine, session.Setup(), inputs);
    inputs.Set(nn::kTokensInput, s.setting.ids);
    session.Infer(JobOf(uint32_t(s.setting.ids.size())), [&](Inference& inference) {
      done.serial = inference.header().serial;
      auto out = roles::RunInference(engine, inference, inputs);
      auto work = engine.Compile(int(s.setting.ids.size()));
      std::vector<int64_t> y;
      for (uint64_t w : out.words) y.push_back(ring::Signed(w, work->trace.node(work->trace.result(1)).ring.bits));
      done.result = y == s.setting.y ? 1 : 2;
    });
    right = right && receipts == int(s.setting.receipts);
    session.End();
  } catch (const Error& e) {
    done.code = apps::ExitCode(e.cause());
    text = e.what();
  }
  if (!right) done.result = 3;
  s.pipe.Say(done, text);
}

}  // namespace

Setting::Setting(const std::string& folder, bool far, bool with_receipts, std::string backend_name)
    : receipts(with_receipts), name(std::move(backend_name)) {
  // One thread, so there is no pool that a fork would not copy.
  cpu_set_t all, one;
  SUF_CHECK(!sched_getaffinity(0, sizeof all, &all));
  CPU_ZERO(&one);
  for (int c = 0; c < CPU_SETSIZE && !CPU_COUNT(&one); ++c)
    if (CPU_ISSET(c, &all)) CPU_SET(c, &one);
  SUF_CHECK(!sched_setaffinity(0, sizeof one, &one) && exec::Default().threads() == 1);
  SUF_CHECK(!sched_setaffinity(0, sizeof all, &all));
  model::LoadedModel real =
      model::SmallModel(1, {.d = 4, .heads = 1, .ff = 8, .vocab = 8, .layers = 1, .positions = 4});
  if (far) real = model::Shifted(std::move(real), true);
  backend = cpu::MakePacked(exec::Default());
  engine = std::make_unique<roles::ModelEngine>(far ? model::FarPlan(real, 4) : model::SmallPlan(real, 4), *backend);
  weights = nn::Quantise(real.weights, engine->plan());
  ids = {1, 5, 2, 7};
  y = nn::PlanSimulator(engine->plan(), weights).Run(ids).y;
  plan = engine->ForProto(Role::kData);  // of all three roles, because the backend reserves nothing
  (void)engine->Compile(int(ids.size()));
  MakeCerts(folder + "/certs");
  for (int r = 0; r < kRoles; ++r) own[r] = std::make_unique<Credentials>(folder + "/certs/" + Name(Role(r)));
}

bool OnDevice(const Fault& fault, Role role) {
  if (fault.what == What::kNone) return true;
  return OfProcess(fault.what) ? role != Role::kDealer && role != fault.victim : role == fault.to;
}

void Setting::Adopt(Role role) {
  backend = backends::Make(name, exec::Default());
  engine = std::make_unique<roles::ModelEngine>(engine->plan(), *backend);
  plan = engine->ForProto(role);
}

int Start(const Scene& scene, Role role) {
  int child = fork();
  SUF_CHECK(child >= 0);
  if (child) {
    scene.board.pid[int(role)] = child;
    return child;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  scene.board.pid[int(role)] = getpid();
  try {
    if (scene.setting.name != "packed" && OnDevice(scene.fault, role)) scene.setting.Adopt(role);
    if (role == Role::kDealer) RunDealer(scene);
    if (role == Role::kModel) RunModel(scene);
    if (role == Role::kData) RunData(scene);
  } catch (const std::exception& e) {
    scene.pipe.Say({Event::kBroken, role}, e.what());
  }
  _exit(0);
}

std::vector<Sent> ReadFrames(const std::string& path) {
  std::vector<Sent> all;
  Bytes bytes = ReadAll(path);
  Reader r(bytes, path);
  while (r.left()) {
    Sent f;
    f.from = Role(r.Get<uint8_t>());
    f.to = Role(r.Get<uint8_t>());
    f.kind = r.Get<uint16_t>();
    View v = r.Sized(kMaxFrame);
    f.payload.assign(v.begin(), v.end());
    all.push_back(std::move(f));
  }
  return all;
}

std::vector<Record> ReadLedger(const std::string& store) {
  constexpr size_t kHeader = 144;
  const auto inside = [](const std::string& folder) {
    std::vector<std::string> all;
    std::error_code none;  // there is no such folder yet
    for (const auto& e : std::filesystem::directory_iterator(folder, none)) all.push_back(e.path());
    return all;
  };
  std::vector<std::string> lanes = inside(store + "/lanes");
  for (const std::string& owner : inside(store + "/owners"))
    for (const std::string& lane : inside(owner)) lanes.push_back(lane);
  std::vector<Record> all;
  for (const std::string& lane : lanes) {
    const Bytes b = ReadAll(lane + "/ledger");
    const size_t count = b.size() < kHeader ? 0 : (b.size() - kHeader) / sizeof(Record), before = all.size();
    if (!count) continue;
    all.resize(before + count);
    std::memcpy(all.data() + before, b.data() + kHeader, count * sizeof(Record));
  }
  return all;
}

}  // namespace suf::faults
