#include "suf/roles/pull.hpp"

#include "suf/base/file.hpp"
#include "suf/model/tokenizer.hpp"
#include "suf/model/vocabulary.hpp"
#include "suf/nn/plan/index_plan.hpp"
#include "suf/nn/plan/plan.hpp"
#include "suf/proto/catalogue.hpp"
#include "suf/proto/session.hpp"
#include "suf/roles/files.hpp"

namespace suf::roles {
namespace {

namespace fs = std::filesystem;

constexpr const char *kPlanFile = "plan.json", *kJsonFile = "tokenizer.json", *kTextFile = "vocab.txt";

Hash HashOfText(const std::string& text) { return HashOf({AsView(text)}); }

// Returns the name of a tokenizer file with this text.
const char* NameOf(const std::string& tokenizer) {
  return model::IsTokenizerJson(tokenizer, "") ? kJsonFile : kTextFile;
}

// Returns the file of index i, from 0.
fs::path IndexFile(const fs::path& folder, size_t i) {
  return folder / (i ? Str("index-", i + 1, ".json") : "index.json");
}

// Returns the plan of an earlier pull; nothing if there is none.
std::optional<nn::Plan> ReadPlan(const fs::path& folder) {
  const fs::path file = folder / kPlanFile;
  std::error_code error;
  if (!fs::exists(file, error)) return std::nullopt;
  try {
    return nn::Parse(ReadText(file.string(), "the pulled plan ", "make it readable, or remove it"));
  } catch (const Error& e) {
    const std::string why = e.what();
    Fail(Cause::kInput, file.string(), " was altered: ", why.substr(0, why.rfind("; ")),
         "; remove it, and pull it again");
  }
}

// Checks the files of a model owner before they are kept; returns the plan.
nn::Plan Check(const net::Channel& p0, const proto::PublicFiles& files, const fs::path& folder,
               const std::optional<Hash>& expect) {
  nn::Plan plan = nn::Parse(files.plan);
  const Hash hash = nn::PlanHash(plan);
  if (expect && hash != *expect)
    Fail(Cause::kRefused, p0.peer_title(), " offers the plan ", Hex(hash), ", and the plan ", Hex(*expect),
         " is expected; compare the hash with its operator");
  if (!files.tokenizer.empty() && HashOfText(files.tokenizer) != plan.tokenizer)
    Fail(Cause::kRefused, p0.peer_title(),
         " offers a tokenizer that its plan does not name; have its operator send "
         "the one with SHA-256 ",
         Hex(plan.tokenizer));
  for (const std::string& index : files.indexes) (void)nn::WithIndex(plan, nn::ParseIndexPlan(index));
  if (!files.tokenizer.empty()) (void)model::Tokenizer::Of(files.tokenizer, "the model owner's tokenizer");
  if (expect) return plan;
  if (const auto kept = ReadPlan(folder); kept && nn::PlanHash(*kept) != hash)
    Fail(Cause::kRefused, p0.peer_title(), " offers the plan ", Hex(hash), ", and ", folder.string(),
         " holds another one of an earlier pull, ", Hex(nn::PlanHash(*kept)),
         "; ask its operator whether the plan was replaced, and then expect the new hash");
  if (!files.tokenizer.empty() && model::KnownVocabulary(plan.tokenizer).empty())
    Fail(Cause::kRefused, "the tokenizer of ", p0.peer_title(), " is none of the published ones, its SHA-256 is ",
         Hex(plan.tokenizer), ". It decides how many tokens a text has, which ", p0.peer_title(),
         " sees; ask for its origin, and then expect the plan ", Hex(hash));
  return plan;
}

}  // namespace

std::optional<PulledFiles> FindPulled(const fs::path& folder) {
  const std::optional<nn::Plan> plan = ReadPlan(folder);
  if (!plan) return std::nullopt;
  PulledFiles found{
      .plan = folder / kPlanFile, .tokenizer = {}, .hash = nn::PlanHash(*plan), .tokenizer_hash = plan->tokenizer};
  for (const char* name : {kJsonFile, kTextFile}) {
    std::error_code error;
    const fs::path file = folder / name;
    if (fs::exists(file, error) && HashOfText(ReadFile(file.string(), "the pulled tokenizer ",
                                                       "make it readable, or remove it")) == plan->tokenizer)
      found.tokenizer = file;
  }
  for (size_t i = 0; i < store::kMostIndexes; ++i) {
    std::error_code error;
    const fs::path file = IndexFile(folder, i);
    if (!fs::exists(file, error)) break;
    const std::string text = ReadFile(file.string(), "the pulled index plan ", "make it readable, or remove it");
    found.indexes.emplace_back(nn::IndexPlanHash(nn::ParseIndexPlan(text)), file);
  }
  return found;
}

PulledFiles Pull(net::Channel& p0, const fs::path& folder, const std::optional<Hash>& expect) {
  const proto::PublicFiles files = proto::Pull(p0);
  const nn::Plan plan = Check(p0, files, folder, expect);
  MakeDir(folder.string());
  PulledFiles kept{
      .plan = folder / kPlanFile, .tokenizer = {}, .hash = nn::PlanHash(plan), .tokenizer_hash = plan.tokenizer};
  if (!files.tokenizer.empty()) {
    kept.tokenizer = folder / NameOf(files.tokenizer);
    WriteFile(folder.string(), NameOf(files.tokenizer), AsView(files.tokenizer));
  }
  for (size_t i = 0; i < store::kMostIndexes; ++i) {
    const fs::path file = IndexFile(folder, i);
    std::error_code error;
    if (i >= files.indexes.size()) {
      fs::remove(file, error);  // of an earlier pull
      continue;
    }
    WriteFile(folder.string(), file.filename().string(), AsView(files.indexes[i]));
    kept.indexes.emplace_back(nn::IndexPlanHash(nn::ParseIndexPlan(files.indexes[i])), file);
  }
  WriteFile(folder.string(), kPlanFile, AsView(files.plan));
  return kept;
}

fs::path PullFolder(const store::Home& home) { return fs::path(home.folder()) / "pulled"; }

PulledFiles Pull(net::Channel& p0, store::Home& home, const std::optional<Hash>& expect) {
  net::Guarded(p0, [&] { proto::CheckPin(p0, home); });
  return Pull(p0, PullFolder(home), expect);
}

}  // namespace suf::roles
