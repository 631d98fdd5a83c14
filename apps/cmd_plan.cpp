// Commands that need no peer: model, tokenize, compile, plan show, kernels, estimate, simulate.
#include <algorithm>
#include <charconv>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/draw.hpp"
#include "apps/exit.hpp"
#include "apps/fn/fn_source.hpp"
#include "apps/log.hpp"
#include "apps/role.hpp"
#include "apps/show.hpp"
#include "apps/texts.hpp"
#include "suf/backends/all.hpp"
#include "suf/base/file.hpp"
#include "suf/compiler/choose.hpp"
#include "suf/gpu/cuda.hpp"
#include "suf/gpu/kernel_folder.hpp"
#include "suf/model/fetch.hpp"
#include "suf/model/random.hpp"
#include "suf/model/vocabulary.hpp"
#include "suf/nn/plan/compile.hpp"
#include "suf/nn/read/build.hpp"
#include "suf/roles/compiler.hpp"
#include "suf/roles/estimate.hpp"
#include "suf/roles/files.hpp"
#include "suf/roles/simulator.hpp"

namespace suf::apps {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

// Applies one --set.
void Apply(const std::string& setting, roles::Compiler* compiler) {
  const size_t is = setting.find('=');
  int value = 0;
  const char *begin = setting.data() + is + 1, *end = setting.data() + setting.size();
  const auto read = std::from_chars(begin, end, value);
  if (is == std::string::npos || read.ec != std::errc() || read.ptr != end)
    Fail(Cause::kInput, "--set takes NAME=VALUE with a whole number of at most 32 bits; got ", setting);
  compiler->Set(setting.substr(0, is), value);
}

// Returns the variants of --profile and --variant. Items have ; between. An item without = is a list of names with
// commas between.
std::vector<nn::Variant> VariantsOf(const CompileArgs& a) {
  std::vector<std::pair<std::string, std::string>> wanted;  // name, profile
  auto split = [](const std::string& text, char by) {
    std::vector<std::string> parts;
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find(by, begin), text.size());
      parts.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    return parts;
  };
  const bool none = a.profile.empty() && a.variants.empty();
  for (const std::string& item : split(none ? "lan" : a.profile, ';')) {
    if (item.empty() && a.profile.empty()) continue;
    for (const std::string& p : item.find('=') == item.npos ? split(item, ',') : std::vector{item})
      wanted.emplace_back(p.find('=') == p.npos ? p : "given", p);
  }
  for (const std::string& v : a.variants) {
    const size_t is = v.find('=');
    if (is == v.npos) Fail(Cause::kInput, "--variant takes NAME=PRICES, such as near=rtt=2ms,rate=10G; got ", v);
    wanted.emplace_back(v.substr(0, is), v.substr(is + 1));
  }
  std::vector<nn::Variant> out;
  for (auto& [name, text] : wanted) {
    compiler::Profile p = compiler::ParseProfile(text);
    compiler::SetKeys(&p, a.keys);
    out.push_back({name, p.prices.now && !p.says_keys ? text + ",keys=now" : text});
  }
  nn::CheckVariants(out);
  return out;
}

}  // namespace

int RunModel(const ModelArgs& a) {
  if (!a.random) {
    std::cout << Hinted(Cause::kInput, "tools/fetch_model.py fetches it", [] { return model::FetchedModel(); }).string()
              << "\n";
    return 0;
  }
  model::WriteRandomModel(a.out, model::FindPreset(a.preset), a.seed);
  return 0;
}

int RunTokenize(const TokenizeArgs& a) {
  auto tokenizer = model::Tokenizer::Load(model::FindVocabulary(a.model).file);
  auto lines = ReadTexts(a.source);
  TokenizeAll(&tokenizer, {}, &lines);
  for (const TextLine& l : lines) {
    if (a.json) {
      ordered_json row{{"i", l.i}};
      if (!l.id.empty()) row["id"] = nullptr;
      row["n"] = l.ids.size();
      row["ids"] = l.ids;
      std::cout << (l.error.empty() ? RowOf(row, l) : ErrorRow(l)) << "\n";
    } else if (l.error.empty()) {
      for (size_t k = 0; k < l.ids.size(); ++k) std::cout << (k ? " " : "") << l.ids[k];
      std::cout << "\n";
    } else {
      std::cout << "error: " << l.error << "\n";
    }
  }
  return Finish(lines);
}

namespace {

// Returns the flights of the plan's first variant for a text of 32 tokens, or of the nearest length.
size_t FlightsOf(const nn::Plan& plan) {
  pfss::Trace t;
  nn::Build(t, plan, std::clamp(32, plan.min_tokens, plan.max_tokens));
  return size_t(pfss::Schedule(t).flights());
}

// Warns about calibration texts that were not used, or cut. `lines` holds the number of each text's line.
void TellUnusable(const std::string& file, const roles::Unusable& u, const std::vector<int>& lines, int limit) {
  const size_t of = lines.size();
  size_t count = 0;
  for (const auto& reason : u.reasons) count += reason.count;
  if (count) {
    std::string why;
    for (const auto& reason : u.reasons)
      why +=
          Str(why.empty() ? "" : "; ", reason.count, ", the first in line ", lines[reason.first], ": ", reason.error);
    log::Warn(Str("compile: ", count, " of ", Plural(of, "text"), " in ", file, count == 1 ? " is" : " are",
                  " not used: ", why));
  }
  if (u.cut)
    log::Warn(Str("compile: ", u.cut, " of ", Plural(of, "text"), " in ", file, u.cut == 1 ? " is" : " are",
                  " too long and cut to ", Plural(limit, "token"), "; raise --max-tokens to take longer ones"));
}

}  // namespace

std::vector<TextLine> Compile(const CompileArgs& a) {
  const roles::Model model(a.model);
  if (const auto [most, said_by] = model.longest(); most && most < a.max_tokens)
    log::Warn(Str("compile: ", said_by, " is ", most,
                  ", where sentence-transformers cuts texts; this plan takes up to ", a.max_tokens,
                  " tokens; use --max-tokens ", most, " for the same limit"));
  if (model.vocabulary_file().filename() == "tokenizer.json")
    log::Info(Str("compile: data owners need ", model.vocabulary_file().string(), " beside the plan, not a vocab.txt"));
  roles::Compiler compiler(model, a.max_tokens);
  for (const std::string& s : a.settings) Apply(s, &compiler);
  const std::filesystem::path shifts = roles::ShiftsFile(a.out);
  ProbeFile(a.out, 1);
  ProbeFile(shifts, 1);
  compiler.Variants(VariantsOf(a));
  if (a.max_tokens < std::max(2, model.min_tokens()))
    Fail(Cause::kInput, "--max-tokens is ", a.max_tokens, ", and the shortest text of this model has ",
         std::max(2, model.min_tokens()), " tokens; raise it");
  Hash digest;
  auto lines = ReadTexts({"", a.calibrate, "", a.ids}, &digest);
  if (!a.ids.empty()) TokenizeAll(nullptr, {model.min_tokens(), a.max_tokens, model.vocabulary(), true}, &lines);
  std::vector<std::string> texts;
  std::vector<std::vector<int32_t>> ids;
  std::vector<int> numbers;  // numbers of their lines
  for (const TextLine& l : lines)
    if (l.error.empty()) {
      texts.push_back(l.text);
      ids.emplace_back(l.ids.begin(), l.ids.end());
      numbers.push_back(l.i + 1);
    }
  size_t used = texts.size();
  if (!used) (void)Finish(lines);  // throws
  Bar bar("compile");
  nn::Plan plan = Hinted(Cause::kRefused, "--set NAME=VALUE sets scales and sizes; shorter texts need less", [&] {
    return Hinted(Cause::kInput, "--max-tokens sets the limit of tokens, --set NAME=VALUE the settings", [&] {
      return a.ids.empty() ? compiler.Compile(texts, Hex(digest), bar.Hook(), &used)
                           : compiler.CompileIds(ids, Hex(digest), bar.Hook());
    });
  });
  bar.Clear();
  TellUnusable(a.calibrate, compiler.unusable(), numbers, a.max_tokens);
  roles::WriteShifts(shifts, compiler.shifts(), plan);
  Part file(a.out, 0666);
  file.Add(AsView(nn::Serialize(plan) + "\n"));
  file.Done();
  if (!compiler.shifts().weights.tensors().empty())
    std::cerr << "shifts " << shifts.string() << ": weights of the model owner; keep them beside the model\n";
  if (const nn::Shifts& fit = compiler.shifts(); !fit.why_not.empty())
    log::Warn(Str("compile: too few calibration texts: every softmax keeps its maximum, which costs about ",
                  nn::kMaximumFlights * fit.softmaxes, " of the plan's ", FlightsOf(plan), " flights; ", fit.why_not,
                  "; give about ", fit.enough, " such lines, or --set softmax=0 to omit the fit"));
  for (const nn::ShiftFit& f : compiler.shifts().fits)
    if (!f.fits)
      std::cerr << "softmax " << f.where << " keeps its maximum: rows of head " << f.worst
                << " are predicted to within " << Fixed(f.low, 1) << " and " << Fixed(f.high, 1) << " nats\n";
  std::string variants;
  if (plan.variants.size() > 1)
    for (const nn::Variant& v : plan.variants) variants += (variants.empty() ? "variants " : ", ") + v.name;
  std::cerr << "plan " << Hex(nn::PlanHash(plan)).substr(0, 16) << ": " << variants << (variants.empty() ? "" : "; ")
            << Plural(plan.classes.size() / plan.variants.size(), "length class", "length classes") << " up to "
            << Plural(plan.max_tokens, "token") << ", calibrated on " << Plural(used, "text") << "\n";
  return lines;
}

int RunCompile(const CompileArgs& a) { return Finish(Compile(a)); }

int RunPlanShow(const PlanShowArgs& a) {
  const auto backend = backends::Make("packed");
  roles::ModelEngine engine(roles::LoadPlan(a.plan), *backend);
  const int variant = engine.VariantNamed(a.variant);
  const nn::Plan plan = engine.plan().Only(variant);
  if (a.trace) {
    auto work = engine.At(a.tokens, variant);
    std::cout << pfss::Print(work->trace) << "\n" << pfss::Print(*work->schedule);
    return 0;
  }
  if (a.json) {
    std::cout << nn::Serialize(a.variant.empty() ? engine.plan() : plan) << "\n";
    return 0;
  }
  if (!a.svg.empty()) WriteText(a.svg, Svg(plan));
  if (a.graph) {
    const PrintedRows rows = GraphRows(plan);
    std::cout << Table(rows, {"reads", rows[0][5], "read as", "scale"});
  }
  if (a.graph || !a.svg.empty()) return 0;
  std::cout << "plan " << Hex(engine.hash()) << "\n"
            << roles::ShapeOf(plan) << "; up to " << plan.max_tokens << " tokens; result at 2^-"
            << roles::ResultScale(plan) << "\n"
            << VocabularyOf(plan.tokenizer) << "\n\n";
  if (engine.variants().size() > 1) {
    std::vector<std::vector<std::string>> rows{{"variant", "made for"}};
    for (const nn::Variant& v : engine.variants()) rows.push_back({v.name, v.profile});
    std::cout << Listing(rows) << "\nof the variant " << plan.variants[0].name << ":\n\n";
  }
  // a narrow terminal keeps the columns of the shortest and the longest texts
  const PrintedRows rings = roles::RingsOf(plan);
  std::vector<std::string> drop(rings[0].begin() + std::min<std::ptrdiff_t>(2, std::ssize(rings[0])), rings[0].end());
  if (!drop.empty()) drop.pop_back();
  std::cout << Table(rings, drop) << "\n";
  const auto choices = roles::ChoicesOf(plan);
  if (choices.size() > 1)
    std::cout << "chosen for the profile " << plan.variants[0].profile << ":\n"
              << Table(choices, {"slower by us", "runner-up"}) << "\n";
  const roles::CertificateCounts certified = roles::CertifiedOf(plan);
  std::cout << Plural(certified.hard + certified.calibrated, "certificate") << ": " << certified.hard
            << " hard (every text), " << certified.calibrated
            << " calibrated (suf simulate names texts that leave them)\n";
  return 0;
}

int RunKernels(const KernelsArgs& a) {
  const auto backend = backends::Make("packed");
  roles::ModelEngine engine(roles::LoadPlan(a.plan), *backend);
  const auto work = engine.At(a.tokens, engine.VariantNamed(a.variant));
  if (!a.out.empty())
    MakeDir(a.out);
  else if (const auto kept = gpu::FindKernelFolder(); kept.path.empty())
    Fail(Cause::kResource, "compiled kernels cannot be kept in the user's cache: ", kept.why_not,
         " (--out names another folder)");
  size_t missing = 0;
  for (const auto& [name, role] : {std::pair{"deal", Role::kDealer}, {"serve", Role::kModel}, {"embed", Role::kData}}) {
    if (!a.role.empty() && a.role != name) continue;
    Bar bar(name, Bar::Log::kRare);
    const auto made = gpu::MakeKernels(
        *work->schedule, role, Str("sm_", a.arch), a.out,
        [&bar](size_t done, size_t all) { bar.At(double(done) / double(all), Str("kernel ", done, " of ", all)); });
    bar.Clear();
    std::cout << name << ": " << made.there << " of " << Plural(made.texts, "kernel") << " for sm_" << a.arch << "\n";
    missing += made.texts - made.there;
  }
  if (missing)
    std::cerr << "suf: " << Plural(missing, "kernel") << (missing == 1 ? " does" : " do") << " not compile for sm_"
              << a.arch << "; the interpreter runs those groups\n";
  return 0;
}

namespace {

// Returns the cost of each role on a device, by its name in --json.
std::vector<std::pair<std::string, gpu::DeviceCost>> DevicesOf(const roles::ModelEngine& engine,
                                                               const pfss::Schedule& s) {
  const auto bytes_of = [&](const std::string& name) { return engine.InputBytes(name); };
  std::vector<std::pair<std::string, gpu::DeviceCost>> out;
  for (const auto& [name, role] : {std::pair{"dealer", Role::kDealer}, {"p0", Role::kModel}, {"p1", Role::kData}})
    out.emplace_back(name, gpu::DeviceCostOf(s, role, bytes_of));
  return out;
}

}  // namespace

int RunEstimate(const EstimateArgs& a) {
  std::optional<compiler::Profile> profile;
  if (a.profile) profile = compiler::ParseProfile(*a.profile);
  const auto backend = backends::Make("packed");
  roles::ModelEngine engine(roles::LoadPlan(a.plan), *backend);
  const int variant = engine.VariantNamed(a.variant);
  const roles::Estimate e(engine, a.tokens, variant);
  const auto device = a.device ? DevicesOf(engine, *engine.At(a.tokens, variant)->schedule)
                               : std::vector<std::pair<std::string, gpu::DeviceCost>>();
  const double online = profile ? 1e3 * e.Online(profile->prices) : 0;
  if (a.json) {
    ordered_json out{
        {"schema", "suf.estimate/2"}, {"job", {{"entry", 0}, {"variant", variant}, {"tokens", a.tokens}, {"past", 0}}},
        {"plan", Hex(e.plan)},        {"trace", Hex(e.trace)},
        {"tiles", e.tiles},           {"flights", e.flights}};
    if (profile) out["predicted"] = {{"profile", profile->name}, {"online_ms", online}};
    out["frames"] = e.frames;
    out["key_bytes"] = e.key_bytes;
    out["key_window_bytes"] = e.window;
    for (auto& [name, role] : {std::pair{"dealer", Role::kDealer}, {"p0", Role::kModel}, {"p1", Role::kData}}) {
      const roles::MemoryNeeds& m = e.memory[size_t(role)];
      out["memory_bytes"][name] = {
          {"total", m.total()}, {"weights", m.weights}, {"keys", m.keys}, {"frames", m.frames}, {"values", m.values}};
    }
    for (auto& [name, d] : device)
      out["device"][name] = {{"total_bytes", d.bytes()}, {"values", d.values}, {"codes", d.codes},
                             {"weights", d.weights},     {"inputs", d.inputs}, {"launches", d.launches}};
    out["payload"] = {{"p0", e.sent[0]}, {"p1", e.sent[1]}, {"p1_offline", e.offline}, {"setup", e.setup}};
    if (a.audit)
      out["audit"] = {{"count", a.audit},
                      {"memory_bytes", {e.Audited(0), e.Audited(1)}},
                      {"key_bytes", {a.audit * e.key_bytes[0], a.audit * e.key_bytes[1]}}};
    if (a.ahead) out["ahead"] = {{"count", a.ahead}, {"bytes", {e.OnDisk(0, a.ahead), e.OnDisk(1, a.ahead)}}};
    auto by_role = [](const std::array<int64_t, 3>& n) { return json{n[2], n[0], n[1]}; };  // dealer, P0, P1
    out["aes_blocks"] = by_role(e.cost.total.aes);
    out["words"] = by_role(e.cost.total.words);
    out["certificates"] = {{"hard", e.hard}, {"calibrated", e.calibrated}};
    out["operators"] = json::array();
    for (auto& r : e.cost.rows)
      out["operators"].push_back({{"name", r.scope},
                                  {"key_bits", {r.key[0], r.key[1]}},
                                  {"online_bits", {r.online[0], r.online[1]}},
                                  {"offline_bits", r.offline},
                                  {"flights", {r.ticks[0], r.ticks[1]}},
                                  {"aes_blocks", by_role(r.aes)},
                                  {"words", by_role(r.words)}});
    std::cout << out.dump() << "\n";
    return 0;
  }
  std::vector<std::vector<std::string>> rows{
      {"operator", "flights", "key P0", "key P1", "sent P0", "sent P1", "P1 ahead", "AES dealer", "AES P0", "AES P1"}};
  auto add = [&](const pfss::Cost::Row& r) {
    rows.push_back({r.scope, r.ticks[1] < 0 ? "" : Str(r.ticks[0], "..", r.ticks[1]), Bytes10(r.key[0] / 8),
                    Bytes10(r.key[1] / 8), Bytes10(r.online[0] / 8), Bytes10(r.online[1] / 8), Bytes10(r.offline / 8),
                    Count10(r.aes[2]), Count10(r.aes[0]), Count10(r.aes[1])});
  };
  for (auto& r : e.cost.rows) add(r);
  add(e.cost.total);
  std::cout << Table(rows, {"AES P0", "AES P1", "P1 ahead", "key P0", "AES dealer", "flights"}) << "\n"
            << Plural(a.tokens, "token") << " in " << (e.tiles == 1 ? "one tile: " : "two tiles: ")
            << Plural(e.flights, "flight") << " (messages in one direction), once per model and data owner "
            << Bytes10(e.setup) << " of masked weights\n"
            << "keys are read as they arrive; a party holds at least " << Bytes10(e.window) << " of them ahead\n"
            << "memory is at least " << Bytes10(e.memory[size_t(Role::kDealer)].total()) << " at the dealer, "
            << Bytes10(e.memory[size_t(Role::kModel)].total()) << " at the model owner, "
            << Bytes10(e.memory[size_t(Role::kData)].total())
            << " at the data owner (weights, keys, frames, values; the program comes on top)\n"
            << Plural(e.hard, "hard certificate") << ", " << e.calibrated << " calibrated\n";
  for (auto& [name, d] : device)
    std::cout << "on a device the "
              << (name == "p0"   ? "model owner"
                  : name == "p1" ? "data owner"
                                 : name)
              << " has " << Bytes10(d.bytes()) << " (" << Bytes10(d.values) << " of values, frames and keys, "
              << Bytes10(d.codes) << " of codes, " << Bytes10(d.weights + d.inputs)
              << " of weights and inputs) and runs at least " << Plural(d.launches, "kernel") << "\n";
  if (profile)
    std::cout << "predicted for " << profile->name << ": " << Fixed(online, 1) << " ms online, with keys "
              << (profile->prices.now ? "now" : "ahead") << "\n";
  if (a.audit)
    std::cout << "--audit " << a.audit << ": a text's bundles come whole, " << proto::kWholeAtOnce
              << " at a time: " << Bytes10(e.Audited(0))
              << " of memory for keys at the model owner (serve --audit-memory " << ((e.Audited(0) - 1) >> 20) + 1
              << " allows it) and " << Bytes10(e.Audited(1)) << " at the data owner; the audits take "
              << Bytes10(a.audit * e.key_bytes[0]) << " and " << Bytes10(a.audit * e.key_bytes[1]) << " of keys more\n";
  if (a.ahead)
    std::cout << "--ahead " << a.ahead << ": " << Bytes10(e.OnDisk(0, a.ahead))
              << " on the disk of the model owner and " << Bytes10(e.OnDisk(1, a.ahead))
              << " of the data owner, less the first bundle, which is used from memory\n";
  return 0;
}

int RunSimulate(const SimulateArgs& a) {
  const nn::Plan plan = roles::LoadPlan(a.plan);
  const int variant = a.variant.empty() ? 0 : plan.VariantNamed(a.variant);
  const roles::Model model = ReadModel(a.model, a.plan, a.shifts, plan);
  std::optional<roles::Simulator> simulator;
  {
    Bar bar("check the weights");
    simulator.emplace(plan, model, bar.Hook());
  }
  auto lines = ReadTexts(a.source);
  TokenizeFor(plan, a.source, model.vocabulary_file(), a.truncate, &lines);
  for (TextLine& l : lines) {
    ordered_json row{{"schema", "suf.simulate/1"}, {"i", l.i}};
    if (!l.id.empty()) row["id"] = nullptr;
    if (l.error.empty()) {
      nn::Simulation r = simulator->Run({l.ids.begin(), l.ids.end()}, variant);
      row["n"] = l.ids.size();
      row["ids"] = l.ids;
      row["y"] = r.y;
      row["f"] = plan.scale(variant);
      row["outside"] = json::array();
      for (auto& o : r.outside) row["outside"].push_back({{"wire", o.wire}, {"value", o.value}, {"limit", o.limit}});
      if (!a.json)
        for (auto& o : r.outside) std::cout << "line " << l.i + 1 << ": " << nn::Sentence(o) << "\n";
    }
    if (a.json)
      std::cout << (l.error.empty() ? RowOf(row, l) : ErrorRow(l));
    else if (l.error.empty())
      std::cout << "line " << l.i + 1 << ": " << Plural(l.ids.size(), "token") << ", y[0..3] = " << row["y"][0] << " "
                << row["y"][1] << " " << row["y"][2];
    else
      std::cout << "line " << l.i + 1 << ": " << l.error;
    std::cout << std::endl;
  }
  return Finish(lines);
}

}  // namespace suf::apps
