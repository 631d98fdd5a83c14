// The command `suf estimate`: the cost of an inference, read from its schedule.
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/commands.hpp"
#include "apps/show.hpp"
#include "suf/backends/all.hpp"
#include "suf/compiler/choose.hpp"
#include "suf/gpu/cuda.hpp"
#include "suf/roles/estimate.hpp"
#include "suf/roles/index_folder.hpp"

namespace suf::apps {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

// The cost of each role on a device, by its name in --json.
using DeviceCosts = std::vector<std::pair<std::string, gpu::DeviceCost>>;
DeviceCosts DevicesOf(const roles::ModelEngine& engine, const pfss::Schedule& s) {
  const auto bytes_of = [&](const std::string& name) { return engine.InputBytes(name); };
  DeviceCosts out;
  for (const auto& [name, role] : {std::pair{"dealer", Role::kDealer}, {"p0", Role::kModel}, {"p1", Role::kData}})
    out.emplace_back(name, gpu::DeviceCostOf(s, role, bytes_of));
  return out;
}

// Everything that the command prints.
struct EstimateReport {
  const EstimateArgs& args;
  int variant;
  roles::Estimate e;
  DeviceCosts device;                        // empty without --device
  std::optional<compiler::Profile> profile;  // the network of --profile
  double online_ms() const { return 1e3 * e.Online(profile->prices); }
};

EstimateReport EstimateOf(const EstimateArgs& a) {
  std::optional<compiler::Profile> profile;
  if (a.profile) profile = compiler::ParseProfile(*a.profile);
  const auto backend = backends::Make("packed");
  nn::Plan plan = roles::LoadPlan(a.plan);
  if (!a.index_plan.empty()) plan = nn::WithIndex(std::move(plan), roles::LoadIndexPlan(a.index_plan));
  roles::ModelEngine engine(std::move(plan), *backend);
  const int variant = engine.VariantNamed(a.variant);
  roles::Estimate e(engine, a.tokens, variant, a.batch);
  DeviceCosts device;
  if (a.device)
    device = DevicesOf(
        engine, *engine.Compile(store::JobOf(uint32_t(a.tokens), uint32_t(variant), uint32_t(a.batch)))->schedule);
  return {a, variant, std::move(e), std::move(device), std::move(profile)};
}

// Returns numbers by Role in the order of --json: dealer, P0, P1.
json ByRole(const std::array<int64_t, 3>& n) { return {n[2], n[0], n[1]}; }

// Returns the memory of each role.
ordered_json MemoryJson(const roles::Estimate& e) {
  ordered_json out;
  for (auto& [name, role] : {std::pair{"dealer", Role::kDealer}, {"p0", Role::kModel}, {"p1", Role::kData}}) {
    const roles::MemoryNeeds& m = e.memory[size_t(role)];
    out[name] = {
        {"total", m.total()}, {"weights", m.weights}, {"keys", m.keys}, {"frames", m.frames}, {"values", m.values}};
  }
  return out;
}

// Returns the cost of each operator.
ordered_json OperatorsJson(const pfss::Cost& cost) {
  ordered_json out = json::array();
  for (const pfss::Cost::Row& r : cost.rows)
    out.push_back({{"name", r.scope},
                   {"key_bits", {r.key[0], r.key[1]}},
                   {"online_bits", {r.online[0], r.online[1]}},
                   {"offline_bits", r.offline},
                   {"flights", {r.ticks[0], r.ticks[1]}},
                   {"aes_blocks", ByRole(r.aes)},
                   {"words", ByRole(r.words)}});
  return out;
}

ordered_json Json(const EstimateReport& r) {
  const EstimateArgs& a = r.args;
  const roles::Estimate& e = r.e;
  ordered_json out{
      {"schema", "suf.estimate/2"},
      {"job", {{"entry", 0}, {"variant", r.variant}, {"tokens", a.tokens}, {"past", 0}, {"texts", a.batch}}},
      {"plan", Hex(e.plan)},
      {"trace", Hex(e.trace)},
      {"tiles", e.tiles},
      {"flights", e.flights}};
  if (r.profile) out["predicted"] = {{"profile", r.profile->name}, {"online_ms", r.online_ms()}};
  out["frames"] = e.frames;
  out["key_bytes"] = e.key_bytes;
  for (const pfss::KeysTo to : {pfss::KeysTo::kBalanced, pfss::KeysTo::kP0})
    out["keys_to"][nn::NameOf(to)] = e.keys_to[size_t(to)];
  out["key_window_bytes"] = e.window;
  out["memory_bytes"] = MemoryJson(e);
  for (auto& [name, d] : r.device)
    out["device"][name] = {{"total_bytes", d.bytes()}, {"values", d.values}, {"codes", d.codes},
                           {"weights", d.weights},     {"inputs", d.inputs}, {"launches", d.launches}};
  out["payload"] = {{"p0", e.sent[0]}, {"p1", e.sent[1]}, {"p1_offline", e.offline}, {"setup", e.setup}};
  if (a.audit)
    out["audit"] = {{"count", a.audit},
                    {"memory_bytes", {e.Audited(0), e.Audited(1)}},
                    {"key_bytes", {a.audit * e.key_bytes[0], a.audit * e.key_bytes[1]}}};
  if (a.ahead) out["ahead"] = {{"count", a.ahead}, {"bytes", {e.OnDisk(0, a.ahead), e.OnDisk(1, a.ahead)}}};
  out["aes_blocks"] = ByRole(e.cost.total.aes);
  out["words"] = ByRole(e.cost.total.words);
  out["certificates"] = {{"hard", e.hard}, {"calibrated", e.calibrated}};
  out["operators"] = OperatorsJson(e.cost);
  return out;
}

// Returns a table of the operators; the total comes last.
PrintedRows OperatorRows(const pfss::Cost& cost) {
  PrintedRows rows{
      {"operator", "flights", "key P0", "key P1", "sent P0", "sent P1", "P1 ahead", "AES dealer", "AES P0", "AES P1"}};
  auto add = [&](const pfss::Cost::Row& r) {
    rows.push_back({r.scope, r.ticks[1] < 0 ? "" : Str(r.ticks[0], "..", r.ticks[1]), Bytes10(r.key[0] / 8),
                    Bytes10(r.key[1] / 8), Bytes10(r.online[0] / 8), Bytes10(r.online[1] / 8), Bytes10(r.offline / 8),
                    Count10(r.aes[2]), Count10(r.aes[0]), Count10(r.aes[1])});
  };
  for (auto& r : cost.rows) add(r);
  add(cost.total);
  return rows;
}

// Returns the line about the bundles for both values of --keys-to.
std::string KeysText(const std::array<std::array<int64_t, 2>, 2>& keys_to) {
  std::string out = "keys of the model owner and the data owner: ";
  for (const pfss::KeysTo to : {pfss::KeysTo::kBalanced, pfss::KeysTo::kP0}) {
    const auto& bytes = keys_to[size_t(to)];
    out += Str(to == pfss::KeysTo::kBalanced ? "" : ", ", "with --keys-to ", nn::NameOf(to), " ", Bytes10(bytes[0]),
               " and ", Bytes10(bytes[1]));
  }
  return out + "\n";
}

// Returns the lines of --device.
std::string DeviceText(const DeviceCosts& device) {
  std::string out;
  for (auto& [name, d] : device)
    out += Str("on a device the ",
               name == "p0"   ? "model owner"
               : name == "p1" ? "data owner"
                              : name,
               " has ", Bytes10(d.bytes()), " (", Bytes10(d.values), " of values, frames and keys, ", Bytes10(d.codes),
               " of codes, ", Bytes10(d.weights + d.inputs), " of weights and inputs) and runs at least ",
               Plural(d.launches, "kernel"), "\n");
  return out;
}

// Returns the line of --audit.
std::string AuditText(const roles::Estimate& e, int64_t audits) {
  return Str("--audit ", audits, ": a text's bundles come whole, ", proto::kWholeAtOnce,
             " at a time: ", Bytes10(e.Audited(0)), " of memory for keys at the model owner (serve --audit-memory ",
             ((e.Audited(0) - 1) >> 20) + 1, " allows it) and ", Bytes10(e.Audited(1)),
             " at the data owner; the audits take ", Bytes10(audits * e.key_bytes[0]), " and ",
             Bytes10(audits * e.key_bytes[1]), " of keys more\n");
}

void Print(const EstimateReport& r) {
  const EstimateArgs& a = r.args;
  const roles::Estimate& e = r.e;
  std::cout << Table(OperatorRows(e.cost), {"AES P0", "AES P1", "P1 ahead", "key P0", "AES dealer", "flights"}) << "\n"
            << (a.batch > 1 ? Str(a.batch, " texts of ") : "") << Plural(a.tokens, "token") << " in "
            << (e.tiles == 1 ? "one tile: " : "two tiles: ") << Plural(e.flights, "flight")
            << " (messages in one direction), once per model and data owner " << Bytes10(e.setup)
            << " of masked weights\n"
            << KeysText(e.keys_to) << "keys are read as they arrive; a party holds at least " << Bytes10(e.window)
            << " of them ahead\n"
            << "memory is at least " << Bytes10(e.memory[size_t(Role::kDealer)].total()) << " at the dealer, "
            << Bytes10(e.memory[size_t(Role::kModel)].total()) << " at the model owner, "
            << Bytes10(e.memory[size_t(Role::kData)].total())
            << " at the data owner (weights, keys, frames, values; the program comes on top)\n"
            << Plural(e.hard, "hard certificate") << ", " << e.calibrated << " calibrated\n"
            << DeviceText(r.device);
  if (r.profile)
    std::cout << "predicted for " << r.profile->name << ": " << Fixed(r.online_ms(), 1) << " ms online, with keys "
              << (r.profile->prices.now ? "now" : "ahead") << "\n";
  if (a.audit) std::cout << AuditText(e, a.audit);
  if (a.ahead)
    std::cout << "--ahead " << a.ahead << ": " << Bytes10(e.OnDisk(0, a.ahead))
              << " on the disk of the model owner and " << Bytes10(e.OnDisk(1, a.ahead))
              << " of the data owner, less the first bundle, which is used from memory\n";
}

}  // namespace

int RunEstimate(const EstimateArgs& a) {
  const EstimateReport report = EstimateOf(a);
  if (a.json)
    std::cout << Json(report).dump() << "\n";
  else
    Print(report);
  return 0;
}

}  // namespace suf::apps
