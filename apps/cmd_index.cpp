#include "apps/cmd_index.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "apps/show.hpp"
#include "apps/texts.hpp"
#include "suf/backends/all.hpp"
#include "suf/base/json.hpp"
#include "suf/base/plural.hpp"
#include "suf/base/printable.hpp"
#include "suf/compiler/choose.hpp"
#include "suf/nn/plan/index_shape.hpp"
#include "suf/roles/engine.hpp"
#include "suf/roles/index_folder.hpp"

namespace suf::apps {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

// By how much a row may differ on another processor, whose sums round otherwise.
constexpr int kMostRounding = 2;
constexpr const char* kTruncateHint = " (--truncate cuts it)";
constexpr const char* kToldNames[] = {"ids", "order", "scores"};

nn::ToldOfHits ToldNamed(const std::string& name) {
  return nn::ToldOfHits(std::find(std::begin(kToldNames), std::end(kToldNames), name) - std::begin(kToldNames));
}

// Returns the name of a prompt as an index plan has it. Throws Cause::kInput if the plan has none of this name.
std::string PromptOf(const nn::Plan& plan, const std::optional<std::string>& given) {
  const std::string name = given.value_or(plan.about.default_prompt);
  if (!name.empty()) (void)plan.about.PromptNamed(name);
  return name;
}

// Reads documents, and tokenizes them behind the index's prompt. Throws Cause::kInput for the first faulty one.
std::vector<TextLine> ReadDocuments(const IndexSource& from, const nn::Plan& plan, const roles::Model& model,
                                    const std::string& prompt) {
  Source source;
  source.json_file = from.docs;
  source.prompt = prompt;
  std::vector<TextLine> lines = ReadTexts(source);
  TokenizeFor(plan, source, model, false, &lines);
  std::map<std::string, int> line_of;  // by id
  for (TextLine& l : lines) {
    if (!l.error.empty()) {
      if (const size_t hint = l.error.find(kTruncateHint); hint != std::string::npos)
        l.error = l.error.substr(0, l.error.rfind("; ")) + "; split it into several";
      continue;
    }
    if (l.id.empty()) {
      l.error = "the document has no \"id\"; give it one, by which it can be deleted";
    } else {
      const json id = ReadJson(l.id, {"the id", "write a string or a whole number"});
      if (id.is_string()) l.id = id.get<std::string>();
      if (l.id.empty() || l.id.size() > roles::kMostDocumentId)
        l.error = Str("the \"id\" has ", l.id.size(), " bytes, the limits are 1 and ", roles::kMostDocumentId,
                      "; give it another one");
    }
    if (l.error.empty() && l.text.size() > roles::kMostDocumentText)
      l.error = Str("the document has ", l.text.size(), " bytes, the limit is ", roles::kMostDocumentText,
                    "; split it into several");
    if (const auto [at, fresh] = line_of.try_emplace(l.id, l.i + 1); l.error.empty() && !fresh)
      l.error = Str("the id ", Quoted(l.id), " is that of line ", at->second, "; give each document its own");
  }
  (void)Finish(lines);
  return lines;
}

// Embeds documents with the float model.
roles::IndexRows RowsOf(const std::vector<TextLine>& lines, const nn::Plan& whole, const roles::Model& model) {
  roles::IndexRows rows;
  const auto& search = dynamic_cast<const nn::Search&>(*whole.classes.at(0).ops.back());
  const double factor = nn::RowFactor(whole);
  Bar bar("embed", Bar::Log::kRare);
  for (const TextLine& l : lines) {
    bar.At(double(l.i) / double(lines.size()), Str("document ", l.i + 1, " of ", lines.size()));
    try {
      const std::vector<int16_t> row = roles::RowOf(search, factor, model.Embed({l.ids.begin(), l.ids.end()}));
      rows.values.insert(rows.values.end(), row.begin(), row.end());
    } catch (const Error& e) {
      Fail(e.cause(), "line ", l.i + 1, ": ", e.what());
    }
    rows.documents.push_back({l.id, l.text});
  }
  return rows;
}

}  // namespace

void CheckModelOfIndex(const roles::IndexFolder& folder, const nn::Plan& plan, const roles::Model& model) {
  if (!folder.live()) return;
  const auto first = folder.FirstLive();
  Source source;
  source.prompt = folder.index().document;
  std::vector<TextLine> lines{{.text = first.document.text}};
  TokenizeFor(plan, source, model, false, &lines);
  const nn::Plan whole = nn::WithIndex(plan, folder.index());
  bool same = lines[0].error.empty();
  if (same) {
    const std::vector<int16_t> row = roles::RowOf(folder.index().search, nn::RowFactor(whole),
                                                  model.Embed({lines[0].ids.begin(), lines[0].ids.end()}));
    for (size_t j = 0; j < row.size(); ++j) same = same && std::abs(row[j] - first.row[j]) <= kMostRounding;
  }
  if (!same)
    Fail(Cause::kRefused, "the index was made with other weights or another tokenizer than the model in ",
         model.folder().string(), " has, because ", Quoted(first.document.id),
         " has another embedding; name the model with which the index was created, or create it again");
}

namespace {

nn::IndexPlan Shaped(const nn::Plan& plan, nn::IndexPlan index, int64_t rows, double recall,
                     const std::string& profile) {
  const auto backend = backends::Make("packed");
  const compiler::Profile prices = compiler::ParseProfile(profile);
  Bar bar("shape");
  return nn::ChooseShape(plan, std::move(index), {rows, recall, std::clamp(32, plan.min_tokens, plan.max_tokens)},
                         prices.prices, backend->capabilities(), [&](double done) { bar.At(done, "pricing shapes"); });
}

// Returns the value of --fetch of an index.
const char* FetchName(const nn::IndexPlan& index) {
  return !index.table ? "none" : index.table == roles::kKeyTableWords ? "keys" : "documents";
}
const char* FetchText(const nn::IndexPlan& index) {
  if (!index.table) return "";
  return index.table == roles::kKeyTableWords
             ? "the keys of hits can be fetched, which open documents.sealed (public)\n"
             : "the documents of hits can be fetched\n";
}

// Returns the floor as a cosine, up to the rounding of embeddings; nothing if every row may be a hit.
std::optional<double> FloorOf(const nn::Search& s) {
  const double one = std::ldexp(1, s.f + s.g);
  return double(s.floor) <= 1 - one ? std::nullopt : std::optional(double(s.floor) / one);
}

// Returns the state of an index in words.
std::string Described(const roles::IndexFolder& folder) {
  const nn::IndexPlan& index = folder.index();
  const nn::Search& s = index.search;
  std::string groups;
  for (const int64_t count : s.groups) groups += Str(groups.empty() ? "" : ", then ", count);
  const auto prompt = [](const std::string& name) { return name.empty() ? std::string("none") : Quoted(name); };
  return Str("index ", Hex(nn::IndexPlanHash(index)), "\nof the plan ", Hex(index.model), "\n",
             Plural(folder.live(), "document"), " in ", folder.rows(), " of ", index.capacity(), " rows, ",
             folder.deleted().size(), " deleted, in ", Plural(int64_t(folder.segments().size()), "segment"), "\n",
             "a search gives ", s.k, " hits with their ", kToldNames[size_t(s.told)], "; recall ",
             Fixed(nn::RecallOf(s), 4), " on average\n",
             "floor: ", FloorOf(s) ? Str("a cosine of about ", Fixed(*FloorOf(s), 3)) : std::string("none"), "\n",
             "prompts: documents ", prompt(index.document), ", texts ", prompt(index.text), "\n", FetchText(index),
             "shape: ", Plural(s.buckets, "bucket"), " of ", Plural(s.places, "place"), ", stop ",
             s.stop, ", groups ", groups.empty() ? "none" : groups, ", ", s.Entries(), " entries\n");
}

ordered_json JsonOf(const roles::IndexFolder& folder) {
  const nn::IndexPlan& index = folder.index();
  const nn::Search& s = index.search;
  return {{"schema", "suf.index/1"},
          {"index", Hex(nn::IndexPlanHash(index))},
          {"plan", Hex(index.model)},
          {"documents", folder.live()},
          {"rows", folder.rows()},
          {"capacity", index.capacity()},
          {"deleted", folder.deleted()},
          {"segments", folder.segments().size()},
          {"k", s.k},
          {"told", kToldNames[size_t(s.told)]},
          {"fetch", FetchName(index)},
          {"recall", nn::RecallOf(s)},
          {"floor", FloorOf(s) ? ordered_json(*FloorOf(s)) : ordered_json(nullptr)},
          {"prompts", {{"document", index.document}, {"text", index.text}}}};
}

}  // namespace

int RunIndexCreate(const IndexCreateArgs& a) {
  const nn::ToldOfHits told = ToldNamed(a.told);
  if (told == nn::ToldOfHits::kOrder && a.k > nn::kMostRankedHits)
    Fail(Cause::kInput, "--k is ", a.k, ", and at most ", nn::kMostRankedHits,
         " hits have an order; lower it, or name ids or scores");
  roles::IndexFolder::CheckNew(a.out);
  const nn::Plan plan = roles::LoadPlan(a.from.plan);
  const roles::Model model(a.from.model);
  nn::IndexPlan index;
  index.id = RandomHash();
  index.model = nn::PlanHash(plan);
  index.document = PromptOf(plan, a.prompt);
  index.text = PromptOf(plan, a.text_prompt);
  nn::Search& s = index.search;
  s.k = a.k;
  s.told = told;
  s.floor = 1 - (int64_t{1} << (s.f + s.g));  // every live row may be a hit
  index.table = a.fetch == "documents" ? nn::kMostTableWords : a.fetch == "keys" ? roles::kKeyTableWords : 0;
  const std::vector<TextLine> lines = ReadDocuments(a.from, plan, model, index.document);
  const auto count = int64_t(lines.size());
  if (count < s.k)
    Fail(Cause::kInput, "the index gets ", Plural(count, "document"), ", and a search gives ", s.k,
         " hits; add documents, or take a lower --k");
  if (a.capacity && a.capacity < count)
    Fail(Cause::kInput, "--capacity is ", a.capacity, ", and there are ", Plural(count, "document"), "; raise it");
  index = Shaped(plan, index, a.capacity ? a.capacity : nn::CapacityFor(count), a.recall, a.profile);
  if (a.floor) {
    const double one = nn::ScoreOfOne(nn::WithIndex(plan, index));
    index.search.floor = std::max(index.search.floor, int64_t(std::llround(*a.floor * one)));
  }
  roles::IndexRows rows = RowsOf(lines, nn::WithIndex(plan, index), model);
  roles::IndexFolder::Create(a.out, index, std::move(rows));
  std::cout << Described(roles::IndexFolder(a.out));
  return 0;
}

int RunIndexAppend(const IndexAppendArgs& a) {
  roles::IndexFolder folder(a.dir);
  const nn::Plan plan = roles::LoadPlan(a.from.plan), whole = nn::WithIndex(plan, folder.index());
  const roles::Model model(a.from.model);
  CheckModelOfIndex(folder, plan, model);
  const std::vector<TextLine> lines = ReadDocuments(a.from, plan, model, folder.index().document);
  folder.CheckRoom(int64_t(lines.size()));
  folder.Append(RowsOf(lines, whole, model));
  std::cout << Described(folder);
  return 0;
}

int RunIndexDelete(const IndexDeleteArgs& a) {
  roles::IndexFolder folder(a.dir);
  folder.Delete(a.ids);
  std::cout << Described(folder);
  return 0;
}

int RunIndexCompact(const IndexCompactArgs& a) {
  roles::IndexFolder folder(a.dir);
  nn::IndexPlan index = folder.index();
  if (a.capacity) {
    const nn::Plan plan = roles::LoadPlan(a.plan);
    (void)nn::WithIndex(plan, index);  // throws if the index is of another plan
    index = Shaped(plan, index, a.capacity, a.recall, a.profile);
  }
  folder.Compact(index);
  std::cout << Described(folder);
  return 0;
}

int RunIndexShow(const IndexShowArgs& a) {
  const roles::IndexFolder folder(a.dir);
  if (a.json)
    std::cout << JsonOf(folder).dump() << "\n";
  else
    std::cout << Described(folder);
  if (!a.documents) return 0;
  const roles::IndexRows all = folder.Read();
  for (size_t i = 0; i < all.documents.size(); ++i) {
    const bool gone = std::binary_search(folder.deleted().begin(), folder.deleted().end(), int64_t(i));
    if (!gone) std::cout << ordered_json{{"row", i}, {"id", all.documents[i].id}}.dump() << "\n";
  }
  return 0;
}

int RunIndexAccept(const IndexAcceptArgs& a) {
  const roles::IndexFolder folder(a.dir, roles::IndexAccess::kAccept);
  std::cout << Described(folder);
  return 0;
}

}  // namespace suf::apps
