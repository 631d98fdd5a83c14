// Commands of one party alone: model, tokenize, compile, plan show, estimate, simulate.
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/engine.hpp"
#include "apps/show.hpp"
#include "apps/texts.hpp"
#include "suf/model/bert.hpp"
#include "suf/model/fetch.hpp"
#include "suf/model/random.hpp"
#include "suf/nn/build.hpp"
#include "suf/nn/compile.hpp"
#include "suf/nn/simulate.hpp"

namespace suf::apps {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

Hash FileHash(const std::string& path) {
  std::string text = ReadFile(path, "", "check the path");
  return HashOf({AsView(text)});
}

}  // namespace

int RunModel(const ModelArgs& a) {
  if (!a.random) {
    std::cout << model::FetchedModel().string() << "\n";
    return 0;
  }
  model::WriteRandomModel(a.out, model::ParsePreset(a.preset), a.seed);
  return 0;
}

int RunTokenize(const TokenizeArgs& a) {
  auto tokenizer = model::Tokenizer::Load(a.model + "/vocab.txt");
  auto lines = ReadTexts(a.source);
  TokenizeAll(tokenizer, 0, false, &lines);
  for (const Line& l : lines) {
    if (a.json) {
      ordered_json row{{"i", l.i}};
      if (!l.id.empty()) row["id"] = l.id;
      if (l.error.empty())
        row["n"] = l.ids.size(), row["ids"] = l.ids;
      else
        row["error"] = l.error;
      std::cout << row.dump() << "\n";
    } else if (l.error.empty()) {
      for (size_t k = 0; k < l.ids.size(); ++k) std::cout << (k ? " " : "") << l.ids[k];
      std::cout << "\n";
    } else {
      std::cout << "error: " << l.error << "\n";
    }
  }
  return Finish(lines);
}

int RunCompile(const CompileArgs& a) {
  nn::Weights weights = model::LoadBert(a.model);
  auto tokenizer = model::Tokenizer::Load(a.model + "/vocab.txt");
  auto lines = ReadTexts({"", a.calibrate, ""});
  TokenizeAll(tokenizer, a.max_tokens, true, &lines);
  std::vector<std::vector<int32_t>> texts;
  for (auto& l : lines)
    if (l.error.empty()) texts.emplace_back(l.ids.begin(), l.ids.end());
  if (texts.empty())
    Fail(Cause::kInput, a.calibrate, " holds no usable text; write some lines that are like the texts to come");
  nn::CompileOptions options;
  options.max_tokens = a.max_tokens;
  options.tokenizer = FileHash(a.model + "/vocab.txt");
  options.calibration = Hex(FileHash(a.calibrate));
  Bar bar("compile");
  options.progress = [&](const std::string& stage, double done) { bar.At(done, stage); };
  nn::Plan plan = nn::Compile(weights, texts, options);
  std::string temp = a.out + ".part";
  std::ofstream out(temp, std::ios::binary);
  out << nn::Serialize(plan) << "\n";
  out.close();
  if (!out || std::rename(temp.c_str(), a.out.c_str()))
    Fail(Cause::kResource, "cannot write ", a.out, "; check the directory and free space");
  std::cerr << "plan " << Hex(nn::PlanHash(plan)).substr(0, 16) << ": " << plan.classes.size()
            << " length classes up to " << plan.max_tokens << " tokens, calibrated on " << texts.size() << " texts\n";
  return 0;
}

int RunPlanShow(const PlanShowArgs& a) {
  nn::Plan plan = LoadPlan(a.plan);
  if (a.trace) {
    Engine engine(plan);
    auto work = engine.At(a.tokens);
    std::cout << pfss::Print(work->trace) << "\n" << pfss::Print(*work->schedule);
    return 0;
  }
  if (a.json) {
    std::cout << nn::Serialize(plan) << "\n";
    return 0;
  }
  std::cout << "plan " << Hex(nn::PlanHash(plan)) << "\nBERT: d " << plan.dims.d << ", heads " << plan.dims.heads
            << ", ff " << plan.dims.ff << ", layers " << plan.dims.layers << ", vocabulary " << plan.dims.vocab
            << "; up to " << plan.max_tokens << " tokens; result at 2^-" << plan.scales.result << "\n"
            << VocabularyOf(plan.tokenizer) << "\n\n";
  std::vector<std::vector<std::string>> rows{{"ring (bits)"}};
  for (auto& c : plan.classes) rows[0].push_back(Str("n <= ", c.max_n));
  auto row = [&](const std::string& name, auto bits) {
    std::vector<std::string> r{name};
    for (auto& c : plan.classes) r.push_back(Str(bits(c)));
    rows.push_back(r);
  };
  row("lookup", [](auto& c) { return c.embedding.kz; });
  for (size_t l = 0; l < size_t(plan.dims.layers); ++l) {
    auto ring = [&](const char* name, int nn::Layer::*field) {
      row(Str(l, " ", name), [&](auto& c) { return c.layers[l].*field; });
    };
    ring("z_qk", &nn::Layer::qk), ring("z_v", &nn::Layer::v), ring("score", &nn::Layer::score),
        ring("e V", &nn::Layer::ev), ring("z_o", &nn::Layer::proj);
    ring("z_1", &nn::Layer::ffn1), ring("z_2", &nn::Layer::ffn2);
  }
  row("pooled sum", [](auto& c) { return c.pool; });
  std::cout << Table(rows) << "\n";
  int hard = 0;
  for (auto& [wire, c] : plan.certificates) hard += c.hard;
  std::cout << plan.certificates.size() << " certificates: " << hard << " hard (every text), "
            << plan.certificates.size() - size_t(hard) << " calibrated (suf simulate names texts that leave them)\n";
  return 0;
}

int RunEstimate(const EstimateArgs& a) {
  Engine engine(LoadPlan(a.plan));
  auto work = engine.At(a.tokens);
  const pfss::Schedule& s = *work->schedule;
  pfss::Cost cost = pfss::CostOf(s);
  int64_t setup = 0;
  for (auto& m : engine.masked()) setup += m.bytes();
  int hard = 0, calibrated = 0;
  for (auto& [wire, c] : engine.plan().certificates) (c.hard ? hard : calibrated)++;
  auto ahead = [&](int p) { return a.ahead * store::BundleFileBytes(uint64_t(s.key_bytes(p))); };
  if (a.json) {
    ordered_json out{{"schema", "suf.estimate/1"},
                     {"n", a.tokens},
                     {"plan", Hex(engine.hash())},
                     {"trace", Hex(work->trace.digest())},
                     {"flights", s.flights()}};
    out["frames"] = {s.frame_count(0, true), s.frame_count(1, true)};
    out["key_bytes"] = {s.key_bytes(0), s.key_bytes(1)};
    out["payload"] = {
        {"p0", s.sent(0, true)}, {"p1", s.sent(1, true)}, {"p1_offline", s.sent(1, false)}, {"setup", setup}};
    if (a.ahead) out["ahead"] = {{"count", a.ahead}, {"bytes", {ahead(0), ahead(1)}}};
    out["certificates"] = {{"hard", hard}, {"calibrated", calibrated}};
    out["operators"] = json::array();
    for (auto& r : cost.rows)
      out["operators"].push_back({{"name", r.scope},
                                  {"key_bits", {r.key[0], r.key[1]}},
                                  {"online_bits", {r.online[0], r.online[1]}},
                                  {"offline_bits", r.offline},
                                  {"flights", {r.ticks[0], r.ticks[1]}}});
    std::cout << out.dump() << "\n";
    return 0;
  }
  std::vector<std::vector<std::string>> rows{
      {"operator", "flights", "key P0", "key P1", "sent P0", "sent P1", "P1 ahead"}};
  auto add = [&](const pfss::Cost::Row& r) {
    rows.push_back({r.scope, r.ticks[1] < 0 ? "" : Str(r.ticks[0], "..", r.ticks[1]), Bytes10(r.key[0] / 8),
                    Bytes10(r.key[1] / 8), Bytes10(r.online[0] / 8), Bytes10(r.online[1] / 8), Bytes10(r.offline / 8)});
  };
  for (auto& r : cost.rows) add(r);
  add(cost.total);
  std::cout << Table(rows) << "\n"
            << a.tokens << " tokens: " << s.flights()
            << " flights (messages of one way), once per model and data owner " << Bytes10(setup)
            << " of masked weights\n"
            << hard << " hard certificates, " << calibrated << " calibrated\n";
  if (a.ahead)
    std::cout << "--ahead " << a.ahead << ": " << Bytes10(int64_t(ahead(0))) << " on the disk of the model owner and "
              << Bytes10(int64_t(ahead(1))) << " of the data owner, less the first bundle, which is used from memory\n";
  return 0;
}

int RunSimulate(const SimulateArgs& a) {
  nn::Plan plan = LoadPlan(a.plan);
  nn::Quantised weights = [&] {
    Bar bar("load the model");
    return LoadWeights(a.model, plan, [&](double done, const std::string& what) { bar.At(done, what); });
  }();
  auto tokenizer = model::Tokenizer::Load(a.model + "/vocab.txt");
  auto lines = ReadTexts(a.source);
  TokenizeAll(tokenizer, plan.max_tokens, a.truncate, &lines);
  nn::Simulator simulator(plan, weights);
  for (Line& l : lines) {
    ordered_json row{{"schema", "suf.simulate/1"}, {"i", l.i}};
    if (!l.id.empty()) row["id"] = l.id;
    if (!l.error.empty()) {
      row = {{"i", l.i}, {"error", l.error}};
    } else {
      nn::Simulation r = simulator.Run({l.ids.begin(), l.ids.end()});
      row["n"] = l.ids.size(), row["ids"] = l.ids, row["y"] = r.y, row["f"] = plan.scales.result,
      row["outside"] = json::array();
      for (auto& o : r.outside) row["outside"].push_back({{"wire", o.wire}, {"value", o.value}, {"limit", o.limit}});
      if (!a.json)
        for (auto& o : r.outside) std::cout << "line " << l.i + 1 << ": " << nn::Sentence(o) << "\n";
    }
    if (a.json)
      std::cout << row.dump() << std::endl;
    else if (l.error.empty())
      std::cout << "line " << l.i + 1 << ": " << l.ids.size() << " tokens, y[0..3] = " << row["y"][0] << " "
                << row["y"][1] << " " << row["y"][2] << "\n";
    else
      std::cout << "line " << l.i + 1 << ": " << l.error << "\n";
  }
  return Finish(lines);
}

}  // namespace suf::apps
