#include "suf/model/internal/separate_files.hpp"

#include <algorithm>
#include <map>

#include "suf/model/internal/entries.hpp"
#include "suf/model/tokens/text.hpp"

namespace suf::model {
namespace {

constexpr const char* kSaveWhole =
    "save the tokenizer again with Hugging Face's transformers, which writes a tokenizer.json";

// The expression of the class that kSplitBytes has.
constexpr const char* kSplitExpression =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::pair<std::string_view, TokenizerRules> kTokenizerClasses[] = {
    {"BertTokenizer", TokenizerRules::kWordPiece},     {"DistilBertTokenizer", TokenizerRules::kWordPiece},
    {"ElectraTokenizer", TokenizerRules::kWordPiece},  {"MPNetTokenizer", TokenizerRules::kSWordPiece},
    {"GPT2Tokenizer", TokenizerRules::kBytes},         {"RobertaTokenizer", TokenizerRules::kSBytes},
    {"Qwen2Tokenizer", TokenizerRules::kSplitBytes},   {"XLMRobertaTokenizer", TokenizerRules::kPieces},
    {"PreTrainedTokenizer", TokenizerRules::kUnknown}, {"TokenizersBackend", TokenizerRules::kUnknown}};

using RoleTokens = std::map<std::string, std::string>;  // contents by role, such as "cls_token"

// The special tokens of a class if tokenizer_config.json names no others.
RoleTokens DefaultTokens(TokenizerRules rules) {
  switch (rules) {
    case TokenizerRules::kWordPiece:
      return {{"unk_token", "[UNK]"},
              {"sep_token", "[SEP]"},
              {"pad_token", "[PAD]"},
              {"cls_token", "[CLS]"},
              {"mask_token", "[MASK]"}};
    case TokenizerRules::kSWordPiece:
    case TokenizerRules::kSBytes:
      return {{"bos_token", "<s>"},
              {"eos_token", "</s>"},
              {"sep_token", "</s>"},
              {"cls_token", "<s>"},
              {"unk_token", rules == TokenizerRules::kSBytes ? "<unk>" : "[UNK]"},
              {"pad_token", "<pad>"},
              {"mask_token", "<mask>"}};
    case TokenizerRules::kBytes:
      return {{"unk_token", "<|endoftext|>"}, {"bos_token", "<|endoftext|>"}, {"eos_token", "<|endoftext|>"}};
    default:
      return {{"unk_token", "<|endoftext|>"}, {"pad_token", "<|endoftext|>"}, {"eos_token", "<|endoftext|>"}};
  }
}

// The tokens of one build.
class TokenizerBuild {
 public:
  TokenizerBuild(const std::filesystem::path& dir, const Fields& config);
  std::string Text() const;
  // Returns the file with the entries.
  std::filesystem::path EntriesFile() const { return dir_ / (ByWords() ? "vocab.txt" : "vocab.json"); }

 private:
  bool ByWords() const { return rules_ == TokenizerRules::kWordPiece || rules_ == TokenizerRules::kSWordPiece; }
  void ReadEntries();
  void ReadMerges();
  void ReadDecoder();
  void ReadRoles(const Fields& f);
  void AddRole(const Fields& f, const std::string& role, const json& v);
  void AddToken(const Fields& f, const std::string& field, const AddedToken& token, bool special);
  const AddedToken& Role(const char* role) const;
  json PreTokenizerJson() const;
  json PostProcessorJson() const;

  std::filesystem::path dir_;
  const Fields& config_;
  TokenizerRules rules_;
  EntryIds entries_;
  json merges_ = json::array();
  std::map<int32_t, std::pair<AddedToken, bool>> added_;  // by id; true: special
  std::map<std::string, int32_t> ids_;                    // of added_, by content
  RoleTokens roles_;
};

TokenizerBuild::TokenizerBuild(const std::filesystem::path& dir, const Fields& config)
    : dir_(dir), config_(config), rules_(RulesOf(config)) {
  if (rules_ == TokenizerRules::kUnknown && config.Null("tokenizer_class") && IsThere(dir / "vocab.txt"))
    rules_ = TokenizerRules::kWordPiece;
  if (rules_ == TokenizerRules::kUnknown || rules_ == TokenizerRules::kPieces)
    config.Refuse("tokenizer_class", "which reads tokenizer.json, and there is none; fetch the whole directory");
  ReadEntries();
  if (!ByWords()) ReadMerges();
  ReadDecoder();
  roles_ = DefaultTokens(rules_);
  ReadRoles(config);
  if (const auto file = dir / "special_tokens_map.json"; IsThere(file)) ReadRoles(Fields(file));
  for (const auto& [role, content] : roles_)
    if (!ids_.contains(content)) {
      // in this class the token takes the spaces before it
      const bool lstrip = rules_ == TokenizerRules::kSWordPiece && role == "mask_token";
      AddToken(config, role, {.content = content, .lstrip = lstrip}, true);
    }
}

void TokenizerBuild::ReadEntries() {
  const std::filesystem::path file = EntriesFile();
  if (ByWords()) {
    entries_ = ParseLines(ReadText(file, kVocabularyLimit), file.string());
    for (const auto& [entry, id] : entries_) (void)Decode(entry, Str("line ", id + 1, " of ", file.string()));
    return;
  }
  const Fields all(file.string(), ReadJsonFile(file, kVocabularyLimit), "");
  const size_t n = all.all().size();
  if (n > kEntryLimit) Fail(Cause::kInput, file.string(), " has more than ", kEntryLimit, " entries; ", kAnother);
  std::vector<bool> seen(n);
  for (const auto& [entry, id] : all.all().items()) {
    if (!id.is_number_unsigned() || id >= n || seen[id.get<size_t>()])
      Fail(Cause::kInput, file.string(), " gives the entry ", Quoted(entry), " the id ", Quoted(id.dump()),
           ", ids must be 0 to ", n - 1, ", each once; fetch it again");
    seen[id.get<size_t>()] = true;
    entries_[entry] = id.get<int32_t>();
  }
}

void TokenizerBuild::ReadMerges() {
  const auto file = dir_ / "merges.txt";
  const std::string text = ReadText(file, kVocabularyLimit);
  std::map<std::string_view, int> lines;  // by pair
  std::string_view rest = text;
  for (int line = 1; !rest.empty(); ++line) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (pair.ends_with('\r')) pair.remove_suffix(1);
    if (pair.starts_with("#version")) continue;
    const size_t space = pair.find(' ');
    if (space == 0 || space >= pair.size() - 1 || pair.find(' ', space + 1) != pair.npos)
      Fail(Cause::kInput, file.string(), ": line ", line, " must be two entries with a space between; fetch it again");
    (void)Decode(pair, Str("line ", line, " of ", file.string()));
    const std::string left(pair.substr(0, space)), right(pair.substr(space + 1));
    for (const std::string& entry : {left, right, left + right})
      if (!entries_.contains(entry))
        Fail(Cause::kInput, file.string(), ": line ", line, " joins ", Quoted(left), " and ", Quoted(right), ", and ",
             Quoted(entry), " is no entry of ", EntriesFile().filename().string(), "; use the files of one model");
    if (const auto [first, fresh] = lines.emplace(pair, line); !fresh)
      Fail(Cause::kInput, file.string(), ": line ", line, " repeats line ", first->second, "; remove one of them");
    merges_.push_back(json::array({left, right}));
  }
}

bool FlagOf(const json& v, const char* name) { return v.value(name, json(false)) == json(true); }

AddedToken FlaggedToken(const json& v) {
  const json content = v.value("content", json());
  return {.content = content.is_string() ? content.get<std::string>() : "",
          .single_word = FlagOf(v, "single_word"),
          .lstrip = FlagOf(v, "lstrip"),
          .rstrip = FlagOf(v, "rstrip"),
          .normalized = FlagOf(v, "normalized")};
}

// Reads the list of added tokens with their ids and flags.
void TokenizerBuild::ReadDecoder() {
  const json list = config_.Value("added_tokens_decoder");
  if (list.is_null()) return;
  const Fields tokens = config_.Object("added_tokens_decoder", "an object", kSaveWhole);
  std::map<int32_t, std::string> fields;  // tokens are numbered in the order of their ids
  for (const auto& [id, v] : list.items()) {
    const bool digits = !id.empty() && id.size() <= 7 && id.find_first_not_of("0123456789") == id.npos;
    if (!digits || !v.is_object()) tokens.Refuse(id, "only an object under a whole number is supported; ", kSaveWhole);
    fields[std::stoi(id)] = id;
  }
  for (const auto& [id, field] : fields) {
    AddToken(tokens, field, FlaggedToken(list[field]), FlagOf(list[field], "special"));
    if (!added_.contains(id)) tokens.Refuse(field, "the next id is ", added_.rbegin()->first, "; ", kSaveWhole);
  }
}

void TokenizerBuild::ReadRoles(const Fields& f) {
  for (const auto& [field, v] : f.all().items())
    if (field.ends_with("_token") && (v.is_string() || v.is_object())) AddRole(f, field, v);
}

void TokenizerBuild::AddRole(const Fields& f, const std::string& role, const json& v) {
  if (v.is_string()) {
    roles_[role] = v.get<std::string>();
    return;
  }
  const AddedToken token = FlaggedToken(v);
  roles_[role] = token.content;
  if (!ids_.contains(token.content)) AddToken(f, role, token, true);
}

void TokenizerBuild::AddToken(const Fields& f, const std::string& field, const AddedToken& token, bool special) {
  if (token.content.empty()) f.Refuse(field, "only a text is supported; ", kSaveWhole);
  const auto entry = entries_.find(token.content);
  AddedToken added = token;
  added.id = entry != entries_.end() ? entry->second : int32_t(entries_.size());
  if (entry == entries_.end()) {
    if (config_.Null("added_tokens_decoder"))
      Fail(Cause::kInput, f.file(), ": the special token ", Quoted(token.content), " (", field,
           ") is no entry of the vocabulary; ", kSaveWhole);
    for (const auto& [id, other] : added_) added.id = std::max(added.id, id + 1);
  }
  if (!added_.try_emplace(added.id, added, special).second || !ids_.try_emplace(added.content, added.id).second)
    f.Refuse(field, "as of a token before it; ", kSaveWhole);
}

const AddedToken& TokenizerBuild::Role(const char* role) const {
  const auto at = roles_.find(role);
  if (at == roles_.end())
    Fail(Cause::kInput, config_.file(), ": ", role, " is missing, and the text begins or ends with it; ", kSaveWhole);
  return added_.at(ids_.at(at->second)).first;
}

json TokenizerBuild::PreTokenizerJson() const {
  if (ByWords()) return {{"type", "BertPreTokenizer"}};
  const bool split = rules_ == TokenizerRules::kSplitBytes;
  const json bytes = {{"type", "ByteLevel"},
                      {"add_prefix_space", config_.True("add_prefix_space", false)},
                      {"trim_offsets", true},
                      {"use_regex", !split}};
  if (!split) return bytes;
  const json by = {
      {"type", "Split"}, {"pattern", {{"Regex", kSplitExpression}}}, {"behavior", "Isolated"}, {"invert", false}};
  return {{"type", "Sequence"}, {"pretokenizers", json::array({by, bytes})}};
}

json NameAndId(const AddedToken& token) { return json::array({token.content, token.id}); }

json TokenizerBuild::PostProcessorJson() const {
  if (rules_ == TokenizerRules::kWordPiece)
    return {{"type", "BertProcessing"}, {"sep", NameAndId(Role("sep_token"))}, {"cls", NameAndId(Role("cls_token"))}};
  if (rules_ == TokenizerRules::kSWordPiece || rules_ == TokenizerRules::kSBytes)
    return {{"type", "RobertaProcessing"},
            {"sep", NameAndId(Role("sep_token"))},
            {"cls", NameAndId(Role("cls_token"))},
            {"trim_offsets", true},
            {"add_prefix_space", rules_ == TokenizerRules::kSBytes && config_.True("add_prefix_space", false)}};
  json single = json::array(), pair = json::array(), specials = json::object();
  for (int type : {0, 1}) {
    const auto special = [&](const char* role) {
      const AddedToken& t = Role(role);
      pair.push_back({{"SpecialToken", {{"id", t.content}, {"type_id", type}}}});
      specials[t.content] = {{"id", t.content}, {"ids", json::array({t.id})}, {"tokens", json::array({t.content})}};
    };
    if (config_.True("add_bos_token", false)) special("bos_token");
    pair.push_back({{"Sequence", {{"id", type == 0 ? "A" : "B"}, {"type_id", type}}}});
    if (config_.True("add_eos_token", false)) special("eos_token");
    if (type == 0) single = pair;
  }
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", specials}};
}

std::string TokenizerBuild::Text() const {
  json added = json::array();
  for (const auto& [id, token] : added_) {
    const AddedToken& t = token.first;
    added.push_back({{"id", id},
                     {"content", t.content},
                     {"single_word", t.single_word},
                     {"lstrip", t.lstrip},
                     {"rstrip", t.rstrip},
                     {"normalized", t.normalized},
                     {"special", token.second}});
  }
  json model, normalizer;
  if (ByWords()) {
    normalizer = BertNormalizerJson(config_.True("do_lower_case", true), config_.True("tokenize_chinese_chars", true),
                                    config_.Value("strip_accents"));
    model = {{"type", "WordPiece"},
             {"unk_token", Role("unk_token").content},
             {"continuing_subword_prefix", "##"},
             {"max_input_chars_per_word", 100}};
  } else {
    if (rules_ == TokenizerRules::kSplitBytes) normalizer = {{"type", "NFC"}};
    model = {{"type", "BPE"},
             {"dropout", nullptr},
             {"unk_token", nullptr},
             {"continuing_subword_prefix", ""},
             {"end_of_word_suffix", ""},
             {"fuse_unk", false},
             {"byte_fallback", false},
             {"ignore_merges", false},
             {"merges", merges_}};
  }
  model["vocab"] = entries_;
  const json whole = {{"version", "1.0"},
                      {"truncation", nullptr},
                      {"padding", nullptr},
                      {"added_tokens", added},
                      {"normalizer", normalizer},
                      {"pre_tokenizer", PreTokenizerJson()},
                      {"post_processor", PostProcessorJson()},
                      {"decoder", nullptr},
                      {"model", model}};
  std::string text = whole.dump() + "\n";
  if (text.size() > kVocabularyLimit)
    Fail(Cause::kInput, "the tokenizer.json of ", dir_.string(), " would have ", text.size(), " bytes, the limit is ",
         kVocabularyLimit, "; ", kAnother);
  return text;
}

}  // namespace

TokenizerRules RulesOf(const Fields& tokenizer_config) {
  if (tokenizer_config.Null("tokenizer_class")) return TokenizerRules::kUnknown;
  const std::string stated = tokenizer_config.Text("tokenizer_class");
  std::string_view name = stated;
  if (name.ends_with("Fast")) name.remove_suffix(4);
  std::string names;
  for (const auto& [known, rules] : kTokenizerClasses) {
    if (name == known) return rules;
    names += Str(names.empty() ? "" : ", ", '"', known, '"');
  }
  tokenizer_config.Refuse("tokenizer_class", "only ", names, " are supported; ", kAnother);
}

bool IsUncased(const Fields& t) {
  return t.True("do_lower_case", true) && t.True("tokenize_chinese_chars", true) &&
         (t.Null("strip_accents") || t.True("strip_accents", true));
}

BuiltTokenizer BuildTokenizerJson(const std::filesystem::path& dir) {
  const auto file = dir / "tokenizer_config.json";
  if (!IsThere(file))
    Fail(Cause::kInput, "there is no file ", file.string(),
         " and no tokenizer.json; name a model directory that has one");
  const Fields config(file);
  const TokenizerBuild build(dir, config);
  return {build.Text(), build.EntriesFile()};
}

}  // namespace suf::model
