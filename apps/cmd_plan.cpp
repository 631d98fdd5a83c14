// Commands that need no peer: model, tokenize, compile, plan show, kernels, simulate.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/draw.hpp"
#include "apps/exit.hpp"
#include "apps/fn/fn_source.hpp"
#include "apps/log.hpp"
#include "apps/results.hpp"
#include "apps/role.hpp"
#include "apps/show.hpp"
#include "apps/texts.hpp"
#include "suf/backends/all.hpp"
#include "suf/base/file.hpp"
#include "suf/base/printable.hpp"
#include "suf/compiler/choose.hpp"
#include "suf/gpu/cuda.hpp"
#include "suf/gpu/kernel_folder.hpp"
#include "suf/model/fetch.hpp"
#include "suf/model/random.hpp"
#include "suf/model/vocabulary.hpp"
#include "suf/nn/plan/compile.hpp"
#include "suf/nn/read/build.hpp"
#include "suf/roles/compiler.hpp"
#include "suf/roles/data_owner.hpp"
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
  for (const std::string& item : split(none ? "cpu,lan,balanced" : a.profile, ';')) {
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
    compiler::SetKeys(&p, a.keys.empty() && !p.says_keys ? "now" : a.keys);
    const pfss::KeysTo keys_to = a.keys_to.empty() ? compiler::KeysToFor(p.prices) : nn::KeysToNamed(a.keys_to);
    out.push_back({name, p.prices.now && !p.says_keys ? text + ",keys=now" : text, keys_to});
  }
  nn::CheckVariants(out);
  return out;
}

}  // namespace

int RunModel(const ModelArgs& a) {
  if (!a.random) {
    (void)model::ModelPath(a.name);  // an unknown name gets no hint
    const auto path = Hinted(Cause::kInput, Str("tools/fetch_model.py ", a.name, " fetches it").c_str(),
                             [&] { return model::FetchedModel(a.name); });
    std::cout << path.string() << "\n";
    return 0;
  }
  model::WriteRandomModel(a.out, model::FindPreset(a.preset), a.seed);
  return 0;
}

int RunTokenize(const TokenizeArgs& a) {
  const model::Vocabulary vocabulary = model::FindVocabulary(a.model);
  const auto tokenizer = model::Tokenizer::Of(model::VocabularyText(vocabulary), vocabulary.entries.string());
  auto lines = ReadTexts(a.source);
  nn::About about;
  const nn::Graph graph = model::ReadGraph(a.model, &about);
  const TextLimits limits{.rules = roles::RulesOf(graph, about)};
  TokenizeAll(&tokenizer, limits, &lines);
  for (const TextLine& l : lines) {
    if (a.json) {
      ordered_json row{{"i", l.i}};
      if (!l.id.empty()) row["id"] = nullptr;
      row["n"] = l.ids.size();
      AddIds(l.ids, limits.rules, &row);
      std::cout << (l.error.empty() ? RowOf(row, l) : ErrorRow(l)) << "\n";
    } else if (l.error.empty()) {
      std::cout << WrittenIds(l.ids, limits.rules) << "\n";
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

// Reports limits of the model that users of the plan should know.
void ReportModel(const roles::Model& model, int max_tokens) {
  if (const int64_t most = model.about().longest; most && most < max_tokens)
    log::Warn(Str("compile: ", model.longest_said_by(), " is ", most,
                  ", where sentence-transformers cuts texts; this plan takes up to ", max_tokens,
                  " tokens; use --max-tokens ", most, " for the same limit"));
}

// Refuses a default prompt that leaves no room for a text, and warns about others.
void CheckPrompts(const roles::Model& model, int max_tokens) {
  const nn::About& about = model.about();
  if (about.prompts.empty() || model.vocabulary_file().empty()) return;
  const model::Tokenizer tokenizer = model.tokenizer();
  for (const nn::Prompt& p : about.prompts) {
    const size_t n = TokensOf(p.text, tokenizer);
    if (n < size_t(max_tokens)) continue;
    const std::string says = Str("the prompt ", Quoted(p.name), " has ", Plural(int64_t(n), "token"),
                                 ", and a text may have ", max_tokens, " with it; raise --max-tokens");
    if (p.name == about.default_prompt) Fail(Cause::kInput, says, ", or remove default_prompt_name");
    log::Warn("compile: " + says);
  }
}

// The usable calibration texts, as text and as ids, and the numbers of their lines.
struct Calibration {
  explicit Calibration(const std::vector<TextLine>& lines) {
    for (const TextLine& l : lines)
      if (l.error.empty()) {
        texts.push_back(l.text);
        ids.emplace_back(l.ids.begin(), l.ids.end());
        numbers.push_back(l.i + 1);
      }
  }
  std::vector<std::string> texts;
  std::vector<std::vector<int32_t>> ids;
  std::vector<int> numbers;
};

// Warns about calibration texts that were not used, or cut. `lines` holds the number of each text's line.
void ReportUnusable(const std::string& file, const roles::Unusable& u, const std::vector<int>& lines, int limit) {
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

// Reports which softmaxes have shifts, and where those are.
void ReportShifts(const nn::Shifts& fit, const std::filesystem::path& file, const nn::Plan& plan) {
  if (!fit.weights.tensors().empty())
    std::cerr << "shifts " << file.string() << ": weights of the model owner; keep them beside the model\n";
  if (!fit.why_not.empty())
    log::Warn(Str("compile: too few calibration texts: every softmax keeps its maximum, which costs about ",
                  nn::kMaximumFlights * fit.softmaxes, " of the plan's ", FlightsOf(plan), " flights; ", fit.why_not,
                  "; give about ", fit.enough, " such lines, or --set softmax=0 to omit the fit"));
  for (const nn::ShiftFit& f : fit.fits)
    if (!f.fits)
      std::cerr << "softmax " << f.where << " keeps its maximum: rows of head " << f.worst
                << " are predicted to within " << Fixed(f.low, 1) << " and " << Fixed(f.high, 1) << " nats\n";
}

// Reports a public file that data owners need.
void ReportPublic(const char* what, const std::filesystem::path& file) {
  std::cerr << what << " " << file.string() << ": public; data owners need it beside the plan\n";
}

// Reports the hash, the variants and the lengths of a plan that `used` texts calibrated.
void ReportPlan(const nn::Plan& plan, size_t used) {
  std::string variants;
  if (plan.variants.size() > 1)
    for (const nn::Variant& v : plan.variants) variants += (variants.empty() ? "variants " : ", ") + v.name;
  std::cerr << "plan " << Hex(nn::PlanHash(plan)).substr(0, 16) << ": " << variants << (variants.empty() ? "" : "; ")
            << Plural(plan.classes.size() / plan.variants.size(), "length class", "length classes") << " up to "
            << Plural(plan.max_tokens, "token") << ", calibrated on " << Plural(used, "text") << "\n";
  for (const nn::Chosen& c : plan.classes.at(0).choices)
    if (c.what.ends_with(nn::kScaleChoice)) std::cerr << c.what << ": " << c.choice << "\n";
}

}  // namespace

std::vector<TextLine> Compile(const CompileArgs& a) {
  const roles::Model model(a.model);
  const int limit = a.max_tokens.value_or(model.most_tokens());
  const std::filesystem::path tokenizer = roles::TokenizerFile(a.out);
  ReportModel(model, limit);
  CheckPrompts(model, limit);
  roles::Compiler compiler(model, limit);
  for (const std::string& s : a.settings) Apply(s, &compiler);
  const std::filesystem::path shifts = roles::ShiftsFile(a.out);
  ProbeFile(a.out, 1);
  ProbeFile(shifts, 1);
  if (model.vocabulary_built()) ProbeFile(tokenizer, model.vocabulary_text().size());
  compiler.Variants(VariantsOf(a));
  const std::filesystem::path table = roles::TableFile(a.out);
  if (a.public_table) {
    compiler.PublishTable();
    ProbeFile(table, 1);
  }
  if (limit < std::max(2, model.min_tokens()))
    Fail(Cause::kInput, "--max-tokens is ", limit, ", and the shortest text of this model has ",
         std::max(2, model.min_tokens()), " tokens; raise it");
  Hash digest;
  auto lines = ReadTexts({"", a.calibrate, "", a.ids}, &digest);
  if (!a.ids.empty()) TokenizeAll(nullptr, {model.min_tokens(), limit, model.rules(), true}, &lines);
  const Calibration calibration(lines);
  size_t used = calibration.texts.size();
  if (!used) (void)Finish(lines);  // throws
  Bar bar("compile");
  const nn::Plan plan = Hinted(Cause::kRefused, "--set NAME=VALUE sets scales and sizes; shorter texts need less", [&] {
    return Hinted(Cause::kInput, "--max-tokens sets the limit of tokens, --set NAME=VALUE the settings", [&] {
      return a.ids.empty() ? compiler.Compile(calibration.texts, Hex(digest), bar.Hook(), &used)
                           : compiler.CompileIds(calibration.ids, Hex(digest), bar.Hook());
    });
  });
  bar.Clear();
  ReportUnusable(a.calibrate, compiler.unusable(), calibration.numbers, limit);
  roles::WriteShifts(shifts, compiler.shifts(), plan);
  const auto write = [](const std::filesystem::path& path, const std::string& text) {
    TempFile file(path, 0666);
    file.Add(AsView(text));
    file.Commit();
  };
  if (model.vocabulary_built()) write(tokenizer, model.vocabulary_text());
  if (compiler.table()) compiler.table()->Write(table);
  write(a.out, nn::Serialize(plan) + "\n");
  const std::filesystem::path vocabulary = model.vocabulary_built() ? tokenizer : model.vocabulary_file();
  if (!vocabulary.empty()) ReportPublic("vocabulary", vocabulary);
  if (compiler.table()) ReportPublic("table", table);
  ReportShifts(compiler.shifts(), shifts, plan);
  ReportPlan(plan, used);
  return lines;
}

int RunCompile(const CompileArgs& a) { return Finish(Compile(a)); }

int RunPlanShow(const PlanShowArgs& a) {
  const auto backend = backends::Make("packed");
  roles::ModelEngine engine(roles::LoadPlan(a.plan), *backend);
  const int variant = engine.VariantNamed(a.variant);
  const nn::Plan plan = engine.plan().Only(variant);
  if (a.trace) {
    auto work = engine.Compile(a.tokens, variant);
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
            << VocabularyOf(plan.tokenizer) << "\n"
            << AboutOf(plan.about)
            << (plan.public_table() ? "the table of embeddings is public: data owners look up rows themselves\n" : "")
            << "\n";
  if (engine.variants().size() > 1) {
    std::vector<std::vector<std::string>> rows{{"variant", "made for", "keys to"}};
    for (const nn::Variant& v : engine.variants()) rows.push_back({v.name, v.profile, nn::NameOf(v.keys_to)});
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
  const auto work = engine.Compile(a.tokens, engine.VariantNamed(a.variant));
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

// Returns the hits of a search as JSON, the best one first if they have an order. `one` is nn::ScoreOfOne.
ordered_json HitsOf(const nn::Search& search, double one, const nn::Ints& y, const roles::IndexRows& rows) {
  const std::vector<nn::SearchHit> hits = search.Decode(y);
  std::vector<std::string> documents;
  for (const nn::SearchHit& h : hits) documents.push_back(rows.documents[size_t(h.row)].id);
  return HitsJson(search, one, hits, documents);
}

std::string HitsText(const ordered_json& hits) {
  std::string out;
  for (const auto& h : hits) out += Str(out.empty() ? "" : ", ", Quoted(h["document"].get<std::string>()));
  return out.empty() ? "none" : out;
}

}  // namespace

int RunSimulate(const SimulateArgs& a) {
  const nn::Plan plan = roles::LoadPlan(a.plan);
  std::optional<roles::IndexFolder> index;
  roles::IndexRows rows;
  double one = 0;
  if (!a.index.empty()) {
    index.emplace(a.index);
    rows = index->Read();
    one = nn::ScoreOfOne(nn::WithIndex(plan, index->index()));
  }
  const int variant = a.variant.empty() ? 0 : plan.VariantNamed(a.variant);
  const roles::Model model = ReadModel(a.model, a.plan, a.shifts, plan);
  std::optional<roles::Simulator> simulator;
  {
    Bar bar("check the weights");
    simulator.emplace(plan, model, bar.Hook(), index ? &*index : nullptr);
  }
  Source source = a.source;
  if (index && !source.prompt) source.prompt = index->index().text;
  auto lines = ReadTexts(source);
  TokenizeFor(plan, source, model, a.truncate, &lines);
  for (TextLine& l : lines) {
    ordered_json row{{"schema", "suf.simulate/1"}, {"i", l.i}};
    if (!l.id.empty()) row["id"] = nullptr;
    if (l.error.empty()) {
      nn::Simulation r = simulator->Run({l.ids.begin(), l.ids.end()}, variant);
      row["n"] = l.ids.size();
      AddIds(l.ids, roles::RulesOf(plan), &row);
      row["y"] = r.y;
      if (index) {
        row["hits"] = HitsOf(index->index().search, one, r.y, rows);
      } else {
        row["f"] = plan.scale(variant);
        row[ResultName(plan.about)] = roles::RealsOf(r.y, plan.scale(variant), plan.divisor(int(l.ids.size())));
      }
      row["outside"] = json::array();
      for (auto& o : r.outside) row["outside"].push_back({{"wire", o.wire}, {"value", o.value}, {"limit", o.limit}});
      if (!a.json)
        for (auto& o : r.outside) std::cout << "line " << l.i + 1 << ": " << nn::Sentence(o) << "\n";
    }
    if (a.json)
      std::cout << (l.error.empty() ? RowOf(row, l) : ErrorRow(l));
    else if (!l.error.empty())
      std::cout << "line " << l.i + 1 << ": " << l.error;
    else if (index)
      std::cout << "line " << l.i + 1 << ": " << Plural(l.ids.size(), "token") << ", hits " << HitsText(row["hits"]);
    else
      std::cout << "line " << l.i + 1 << ": " << Plural(l.ids.size(), "token") << ", y = " << FirstOf(row["y"]);
    std::cout << std::endl;
  }
  return Finish(lines);
}

}  // namespace suf::apps
