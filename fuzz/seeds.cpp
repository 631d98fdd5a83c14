// fuzz_seeds DIR writes the first inputs of every target, made from real objects, into DIR/<target>/, and
// DIR/../plan.json.
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <fstream>

#include "fuzz/base_plan.hpp"
#include "fuzz/peer.hpp"
#include "fuzz/small_run.hpp"
#include "suf/func/text.hpp"
#include "suf/gates/compose/plan.hpp"
#include "suf/gates/plan_text.hpp"
#include "suf/model/safetensors.hpp"
#include "suf/model/tiny_test.hpp"
#include "suf/net/certs.hpp"
#include "suf/nn/ops.hpp"
#include "suf/nn/plan/compile.hpp"
#include "suf/nn/plan/index_plan.hpp"
#include "suf/service/job_log.hpp"
#include "suf/service/receipts.hpp"

namespace suf::fuzz {
namespace {

std::string root;
void Seed(const std::string& target, const std::string& name, View bytes) {
  std::filesystem::create_directories(root + "/" + target);
  WriteTo(root + "/" + target + "/" + name, bytes);
}
void Seed(const std::string& target, const std::string& name, const std::string& text) {
  Seed(target, name, AsView(text));
}
std::string Read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
Bytes Join(const std::vector<Bytes>& parts) {
  Bytes all;
  for (const Bytes& p : parts) all.insert(all.end(), p.begin(), p.end());
  return all;
}
Bytes JobBytes(uint32_t tokens) {
  Writer w;
  Put(w, JobOf(tokens));
  return w.Take();
}
Bytes Number(auto x) {
  Writer w;
  w.Put(x);
  return w.Take();
}

void Models() {
  Folder folder;
  std::vector<float> f(6);
  std::vector<int64_t> i(3);
  model::NewTensor both[] = {{"a", {2, 3}, f}, {"b", {3}, i}};
  model::WriteSafetensors(folder / "m", both);
  std::string file = Read(folder / "m");
  Seed("safetensors", "two", file);
  std::string half = file;
  half.replace(half.find("\"F32\""), 5, "\"F16\"");
  Seed("safetensors", "odd_type", half);
  const auto shard = [](const std::string& s) {
    const uint16_t length = uint16_t(s.size());
    return std::string(reinterpret_cast<const char*>(&length), sizeof length) + s;
  };
  const std::string index = R"({"metadata":{"total_size":48},"weight_map":{"a":"a","b":"a"}})";
  std::string other = file;
  other.replace(other.find("\"a\""), 3, "\"x\"").replace(other.find("\"b\""), 3, "\"y\"");
  Seed("shards", "one", index + '\0' + shard(file));
  Seed("shards", "twice", R"({"weight_map":{"a":"a","b":"b"}})" + std::string(1, '\0') + shard(file) + shard(file));
  Seed("shards", "two", R"({"weight_map":{"a":"a","x":"b"}})" + std::string(1, '\0') + shard(file) + shard(other));
  Seed("shards", "outside", R"({"weight_map":{"a":"a","outside":"../a"}})" + std::string(1, '\0') + shard(file));
  std::string config =
      R"({"model_type":"bert","hidden_act":"gelu","hidden_size":8,"num_attention_heads":2,"intermediate_size":16,)"
      R"("vocab_size":8,"num_hidden_layers":1,"max_position_embeddings":16,"layer_norm_eps":1e-12,"type_vocab_size":2})";
  Seed("config", "alone", config);
  Seed("config", "three",
       config + '\0' + R"({"do_lower_case":true,"strip_accents":null})" + '\0' +
           R"({"pooling_mode_mean_tokens":true,"pooling_mode_cls_token":false})");
  const std::string model =
      R"("model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":100,)"
      R"("vocab":{"[PAD]":0,"[UNK]":1,"[CLS]":2,"[SEP]":3,"[MASK]":4,"a":5,"b":6,"c":7}})";
  const std::string token =
      R"({"id":8,"content":"[X]","single_word":true,"lstrip":false,"rstrip":true,"normalized":true,"special":false})";
  std::string tokens;
  for (auto [id, name] : {std::pair{0, "[PAD]"}, {1, "[UNK]"}, {2, "[CLS]"}, {3, "[SEP]"}, {4, "[MASK]"}})
    tokens += Str(R"({"id":)", id, R"(,"content":")", name,
                  R"(","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},)");
  const std::string tokenizer =
      R"({"version":"1.0","added_tokens":[)" + tokens + token +
      R"(],"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true},)"
      R"("pre_tokenizer":{"type":"BertPreTokenizer"},"post_processor":{"type":"BertProcessing","sep":["[SEP]",3],"cls":["[CLS]",2]},)" +
      model + "}";
  Seed("config", "all",
       config + '\0' +
           R"({"do_lower_case":true,"never_split":["[CLS]"],"added_tokens_decoder":{"2":{"content":"[CLS]"}}})" + '\0' +
           R"({"pooling_mode":"mean","embedding_dimension":8})" + '\0' +
           R"([{"idx":0,"name":"0","path":"","type":"sentence_transformers.models.Transformer"},)"
           R"({"idx":1,"name":"1","path":"1_Pooling","type":"sentence_transformers.models.Pooling"},)"
           R"({"idx":2,"name":"2","path":"2_Normalize","type":"sentence_transformers.models.Normalize"}])" +
           '\0' + R"({"prompts":{"q":""},"default_prompt_name":"q"})" + '\0' +
           R"({"max_seq_length":9,"do_lower_case":false})" + '\0' + R"({"sep_token":{"content":"[SEP]"}})" + '\0' +
           R"({"[X]":8})" + '\0' + tokenizer);
  Seed("vocabulary", "json", tokenizer);
  Seed("vocabulary", "small", std::string("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\nword\n\xc3\xa9\n"));
  for (auto [name, text] : std::initializer_list<std::pair<const char*, const char*>>{
           {"plain", "The words, 12 [MASK] a.b"},
           {"accents", "\xc3\xa9\xcc\x81 \xce\xb1\xce\xb2 \xe4\xb8\xad\xe2\x80\x8d"},
           {"spaces",
            "\t a\xc2\xa0"
            "b\r\n"},
           {"broken", "a\xff"}})
    Seed("text", name, std::string(text));
}

// Gives a plan tables of two pieces, or as few as their widths allow; Check still accepts it.
nn::Plan Shrunk(nn::Plan p) {
  auto halves = [](int ring, const compiler::Lowering& rows) {  // a DCF reads no constant
    return std::vector<func::Octave>{{ring - 1, 0, 2, {rows.kind == compiler::Kind::kStepDcf ? 2 : 1, 1}}};
  };
  for (nn::Class& c : p.classes) {
    for (nn::OperatorPtr& op : c.ops) {
      if (auto* n = dynamic_cast<nn::Norm*>(op.get())) n->rsqrt = halves(n->square, n->rows);
      if (auto* w = dynamic_cast<nn::WeightedSum*>(op.get())) w->recip = halves(w->row_sum, w->rows);
      if (auto* s = dynamic_cast<nn::Softmax*>(op.get())) {
        if (s->by == nn::Softmax::kShift) {
          s->shifted.table = {0, 1};
          s->shifted.end = 3;
          s->shifted.peak = 2;
          continue;
        }
        s->shift = s->window() - 3;
        s->maximum.low = 1;
        s->maximum.level = 2;
        s->maximum.floor = 0;
        s->maximum.low_table = {1, 1};
        s->maximum.high_table = {0, 1, 1, 1};
      }
      if (auto* a = dynamic_cast<nn::Activation*>(op.get())) {
        const int width = a->window() - a->shift, narrow = std::max(1, width - 16);
        const int pieces = narrow <= 10 ? narrow : std::max(2, width - 40);
        a->lines.a = width - pieces;
        a->lines.offset.assign(size_t{1} << pieces, 0);
        a->lines.rise.assign(size_t{1} << pieces, 1);
      }
    }
    for (auto& certificates : c.certificates) certificates.clear();
  }
  return p;
}
nn::Plan Small() {
  return Shrunk(model::SmallPlan(
      model::SmallModel(1, {.d = 4, .heads = 1, .ff = 8, .vocab = 8, .layers = 1, .positions = 4}), 4));
}

// Writes small plans of each family for `plan_json`. One is for a near link. One is for a far link: softmaxes take a
// predicted shift, and few words are opened. An encoder also has a plan in two tiles and one of two variants.
void FamilyPlans() {
  const std::filesystem::path folder = root + "/../plans";
  std::filesystem::create_directories(folder);
  auto write = [&](const std::string& name, const nn::Plan& plan) {
    nn::Check(plan);
    WriteTo(folder / (name + ".json"), AsView(nn::Serialize(plan)));
  };
  const model::Preset configs[] = {
      {"bert",
       R"({"model_type": "bert", "hidden_act": "gelu", "hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 8,
"vocab_size": 16, "num_hidden_layers": 2, "max_position_embeddings": 32})"},
      {"gpt2",
       R"({"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "activation_function": "gelu_new", "n_embd": 8,
"n_head": 2, "n_layer": 1, "n_positions": 32, "vocab_size": 16, "layer_norm_epsilon": 1e-05})"},
      {"llama",
       R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "hidden_size": 8,
"num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 8, "vocab_size": 16, "num_hidden_layers": 1,
"max_position_embeddings": 32, "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "tie_word_embeddings": true})"},
      {"qwen3",
       R"({"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_act": "silu", "hidden_size": 8,
"num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 6, "intermediate_size": 8, "vocab_size": 16,
"num_hidden_layers": 1, "max_position_embeddings": 32, "rms_norm_eps": 1e-06, "rope_theta": 10000.0})",
       1, "lasttoken"}};
  for (const model::Preset& preset : configs) {
    const model::LoadedModel m = model::Written(preset, 1);
    const std::string name = preset.name;
    write(name, Shrunk(model::SmallPlan(m, 4)));
    nn::Plan far = Shrunk(model::FarPlan(model::Shifted(m, true), 4));
    write(name + "_far", far);
    if (name != "bert") continue;
    nn::Plan tiles = Shrunk(model::SmallPlan(m, nn::kTiledTokens));
    tiles.classes.erase(tiles.classes.begin(), tiles.classes.end() - 1);
    tiles.classes[0].tiles = 2;
    far = Shrunk(model::FarPlan(model::Shifted(m, false), nn::kTiledTokens));
    write("bert_tiles", tiles);
    far.classes.erase(far.classes.begin(), far.classes.end() - 1);
    nn::Class near = far.classes[0];
    for (nn::OperatorPtr& op : near.ops)
      for (nn::Knob& k : op->Knobs()) k.set(k.options.size() - 1);
    near.tiles = 2;
    near.variant = 1;
    far.variants = {{"far", ""}, {"near", ""}};
    far.classes.push_back(std::move(near));
    for (nn::Class& c : far.classes) nn::Derive(far.graph, c.ops);
    write("bert_variants", far);
  }
}

void Plans() {
  std::string text = nn::Serialize(Small());
  WriteTo(root + "/../plan.json", AsView(text));
  Seed("plan", "whole", text);
  Seed("plan", "half", text.substr(0, text.size() / 2));
  FamilyPlans();
  for (uint8_t plan = 0; plan < 10; ++plan) Seed("plan_json", Str("sound", int(plan)), Bytes{plan});
  Seed("trace", "same", Bytes{});
  for (int i = 0; i < 8; ++i) {
    Writer w;
    w.Put(uint16_t(7 * i));
    w.Put(int64_t(i - 1));
    Seed("trace", Str("patch", i), w.bytes());
  }
}

// Index plans behind a byte that says whether their hashes are put right.
void IndexPlans() {
  nn::IndexPlan index;
  index.model = nn::PlanHash(Small());
  nn::Search& s = index.search;
  s.columns = 4;
  const auto seed = [&](const std::string& name, int64_t places, int64_t buckets, nn::Ints groups) {
    s.places = places;
    s.buckets = buckets;
    s.groups = std::move(groups);
    for (bool right : {false, true})
      Seed("index_plan", name + (right ? "_right" : ""), char(right) + nn::Serialize(index));
  };
  s.k = 2;
  seed("exact", 1, 6, {});
  s.told = nn::ToldOfHits::kScores;
  seed("groups", 1, 12, {4});
  s.stop = 3;
  s.early = compiler::StepSource::kBlocks;
  s.floor = -1;
  seed("tournament", 5, 24, {6, 3});
  s.told = nn::ToldOfHits::kIds;
  s.k = 20;
  seed("large", 5, 1000, {10});
  std::string text = nn::Serialize(index);
  Seed("index_plan", "far_right", '\1' + text.replace(text.find("\"k\":20"), 6, "\"k\":65"));
}

// Files of an index folder behind a byte that chooses one (fuzz/index_folder.cpp).
void IndexFolders() {
  const auto list = [](const std::vector<std::pair<uint8_t, int64_t>>& segments, const std::vector<int64_t>& deleted) {
    Writer w;
    w.Put(uint8_t{2});
    w.Put(uint8_t(segments.size()));
    for (const auto& [which, rows] : segments) {
      w.Put(which);
      w.Put(rows);
    }
    w.Put(uint8_t(deleted.size()));
    for (const int64_t row : deleted) w.Put(row);
    return w.Take();
  };
  Seed("index_folder", "empty", list({}, {}));
  Seed("index_folder", "one_order", list({{0, 4}, {1, 2}}, {1, 5}));
  Seed("index_folder", "other_order", list({{1, 4}, {0, 2}}, {1, 5}));
  Seed("index_folder", "missing", list({{200, 4}}, {}));
  Seed("index_folder", "outside", list({{0, 4}, {1, 2}}, {0, 9}));
  Seed("index_folder", "backwards", list({{1, 4}, {0, 2}}, {3, 3, 1}));
  Seed("index_folder", "vast", list({{0, INT64_MAX}, {0, INT64_MAX}}, {}));
  Seed("index_folder", "negative", list({{0, -1}}, {}));
  Seed("index_folder", "raw_list", Join({{0}, Bytes(80)}));
  Seed("index_folder", "short_list", Join({{1}, {'S', 'U', 'F', 'I', 'N', 'D', 'X', '1'}}));
  Seed("index_folder", "key", Join({{3}, Bytes(32)}));
  Seed("index_folder", "plan", Join({{4}, {'{', '}'}}));
  Seed("index_folder", "raw_segment", Join({{5}, {'S', 'U', 'F', 'S', 'E', 'G', 'M', '1'}}));
  const auto segment = [](int64_t rows, int64_t columns) {
    Writer w;
    w.Raw(AsView(std::string_view("SUFSEGM1")));
    w.Raw(nn::IndexPlanHash(SmallIndex(Small())));
    for (const int64_t v : {int64_t{0}, rows, columns}) w.Put(v);
    w.Raw(Bytes(16));
    for (const char* word : {"a", "text of a", "b", "text of b"}) w.Sized(std::string_view(word));
    return w.Take();
  };
  Seed("index_folder", "segment", Join({{6, 2}, segment(2, 4)}));
  Seed("index_folder", "segment_vast", Join({{7}, Number(int64_t{1} << 62), segment(int64_t{1} << 62, 4)}));
  Seed("index_folder", "segment_short", Join({{6, 3}, segment(3, 4)}));
  Seed("index_folder", "segment_columns", Join({{6, 4}, segment(4, 2)}));
}

// Lines of documents behind a byte that says whether the model takes pairs.
void Documents() {
  const auto seed = [](const std::string& name, const std::string& lines, char pairs = 0) {
    Seed("documents", name, pairs + lines);
  };
  seed("ids",
       "{\"id\": \"a\", \"text\": \"a word\"}\n{\"id\": 12345678901234567890, \"text\": \"the e\"}\r\n{\"text\": "
       "\"a\"}");
  seed("faults",
       "\n{}\n[1]\n{\"id\": 1.5, \"text\": \"a\"}\n{\"id\": null, \"text\": 1}\n{\"text\": \"\\ud800\"}\n{\"text\": "
       "\"\xff\"}");
  seed("long", "{\"id\": -0, \"text\": \"a a a a a a a a a a a a a a a a a\"}");
  seed("pairs", "{\"id\": \"\\n\", \"text\": \"a\", \"second\": \"word\"}\n{\"text\": \"a\", \"second\": 2}", 1);
  seed("mark", "\xef\xbb\xbf{\"text\": \"a\"}");
}

void Files() {
  BundleHeader h = Header(1, 7, JobOf(3));
  Seed("bundle", "header", Encode(h));
  Seed("bundle", "chain", Join({{8, 1, 24}, Bytes(24)}));
  // Six sections in four chunks, with a window of one chunk: read in turn, ahead, altered, cut short, closed.
  const Bytes odd{48, 6, 1, 0, 200, 239, 250, 100};
  Seed("key_source", "in_turn", Join({odd, {1, 0, 3, 0, 5, 0, 5, 1, 1, 0, 3, 2, 5, 2, 3, 3, 5, 3, 3, 4, 6 + 8, 0}}));
  Seed("key_source", "waits", Join({odd, {3, 5, 5, 5, 0, 0, 6 + 8, 0}}));
  Seed("key_source", "ahead", Join({odd, {1, 0, 1, 0, 1, 0, 1, 0, 3, 0, 5, 2, 5, 0, 6 + 8, 0}}));
  Seed("key_source", "given_while_it_comes", Join({odd, {1, 0, 3, 0, 0, 0, 5, 1, 5, 2, 5, 3, 0, 0, 6 + 8, 0}}));
  for (uint8_t part : {0, 8})
    Seed("key_source", Str("altered", int(part)), Join({odd, {1, 0, 3, 0, uint8_t(2 + part), 5, 3, 2}}));
  Seed("key_source", "cut_short", Join({odd, {1, 0, 3, 130, 6 + 16, 0, 3, 0, 6 + 8, 0}}));
  Seed("key_source", "gone_while_waited_for", Join({odd, {3, 128 + 6, 6 + 8 + 16, 0}}));
  Seed("key_source", "closed", Join({odd, {1, 0, 1, 0, 255, 0, 3, 0, 1, 0}}));
  Seed("key_source", "whole", Join({{255, 3, 240, 191, 255}, {5, 0, 1, 0, 1, 0, 5, 1, 1, 0, 3, 2, 6 + 8, 0}}));
  Bytes many{4, 31};
  for (uint8_t i = 0; i < 31; ++i) many.push_back(uint8_t(160 + i));
  for (uint8_t i = 0; i < 31; ++i) many.insert(many.end(), {3, i, 5, i});
  Seed("key_source", "many", many);
  Bytes preamble = Encode(h);
  preamble.resize(preamble.size() + 32);
  Bytes chunk = Chunk(ChunkKey(h), Bytes(kBody));
  Bytes signed_bundle = Join({Number(uint16_t(preamble.size())), preamble, Number(uint32_t(chunk.size())), chunk});
  Seed("store", "ledger_raw", Join({{0}, Bytes(144)}));
  Seed("store", "ledger_tail", Join({{1}, Bytes(40)}));
  auto record = [](uint64_t serial, uint32_t fate) {
    return Join({Number(serial), Number(fate), Number(uint32_t{0}), Bytes(24, 1)});
  };
  for (uint32_t fate = 1; fate <= 8; ++fate)
    Seed("store", Str("ledger_records", fate), Join({{2}, record(3, fate), record(5, 1), record(3, 2)}));
  Seed("store", "serial", Join({{4}, Number(uint64_t{9})}));
  Seed("store", "serial_last", Join({{4}, Number(~uint64_t{0})}));
  Seed("store", "bundle", Join({{6}, signed_bundle}));
  Seed("store", "bundle_short", Join({{6}, Number(uint16_t{8}), Bytes(8)}));
  Bytes vast = signed_bundle;
  std::fill_n(vast.begin() + 2 + 20 + kJobBytes, 8, 0x7f);  // body_bytes
  Seed("store", "bundle_vast", Join({{6}, vast}));
  chunk = Chunk(ChunkKey(Hash{2}, Hash{1}), Bytes(8));
  Seed("store", "setup", Join({{8}, Number(uint16_t{8}), Bytes(8), Number(uint32_t(chunk.size())), chunk}));
  Seed("store", "pin", Join({{9}, Bytes(64, '0')}));
  Folder folder;
  MakeCerts(folder / "c");
  for (const char* role : {"dealer", "model", "data"})
    Seed("certificate", role, Read(folder / "c/" + role + "/cert.pem"));
  Seed("certificate", "ca", Read(folder / "c/data/ca.pem"));
  std::string pem = Read(folder / "c/data/cert.pem");
  std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new_mem_buf(pem.data(), int(pem.size())), BIO_free);
  X509* cert = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr);
  uint8_t* der = nullptr;
  int n = i2d_X509(cert, &der);
  Seed("certificate", "der", View(der, size_t(n)));
  OPENSSL_free(der);
  X509_free(cert);
}

// Files of receipts whose signatures are put right, and one whose signatures are wrong.
void Receipts() {
  Folder folder;
  MakeCerts(folder / "c");
  const std::string pem = Read(folder / "c/model/cert.pem");
  const auto line = [&](uint64_t serial, uint32_t texts = 1, uint32_t place = 0, uint8_t lane = 4) {
    proto::Receipt r;
    r.facts = {.plan = {1}, .weights = {2}, .tokens = 32, .texts = texts, .serial = serial, .lane = {lane}};
    for (proto::SignedTime& part : r.part) part.time = {1'801'398'896'789, 1'801'398'896'900};
    for (std::string& certificates : r.certificates) certificates = pem;
    return service::Encode({r, place}) + "\n";
  };
  const std::string mended(1, 1), whole = line(3) + line(4, 2) + line(4, 2, 1) + line(5, 1, 0, 5);
  Seed("receipt", "right", mended + whole);
  Seed("receipt", "wrong_signatures", std::string(1, 0) + whole);
  Seed("receipt", "moved", mended + line(4) + line(3));
  Seed("receipt", "repeated", mended + line(4) + line(4));
  Seed("receipt", "other_facts", mended + line(4, 2) + line(4, 3, 1));
  Seed("receipt", "cut", mended + line(4) + line(5).substr(0, 90));
}

// Writes a conversation whole, and cut after each of its frames but the last.
void Cuts(const std::string& target, const Bytes& front, const std::vector<Bytes>& frames) {
  Bytes all = front;
  for (size_t i = 0; i < frames.size(); ++i) {
    all.insert(all.end(), frames[i].begin(), frames[i].end());
    Seed(target, i + 1 == frames.size() ? "whole" : Str("cut", i + 1), all);
  }
}

const Bytes kMac(64, 1);
Bytes HelloFrame() { return AFrame(kHello, Hello()); }
Bytes SetupChunk(uint8_t value = 0) { return AFrame(kChunk, Bytes(ChunkTags::kBytes + kSetupBytes, value)); }
Bytes Choice(uint64_t serial) { return AFrame(kChoice, Number(serial)); }

// P1's announcement of a job of n tokens, which offers one bundle. `whole`: the bundle arrives whole, as audits need
// it. 0 tokens: no job follows.
Bytes Announce(uint32_t n, uint64_t serial, bool whole = false, uint32_t texts = 1) {
  Writer w;
  const Job job = JobOf(n, 0, n ? texts : 0);
  Put(w, job);
  w.Raw(n ? TraceOf(job) : Hash{});
  w.Put(uint8_t(whole));
  if (n) {
    w.Put(serial);
    w.Raw(kRho);
  }
  return AFrame(kAnnounce, w.bytes());
}

// Frames that a data owner receives from P0.
void DataOwnerTalks() {
  const Bytes hello = HelloFrame(), ack = AFrame(kAck, kMac);
  const Bytes run = Join({AFrame(kOfflineEnd, kMac), AFrame(kFirstRun + 1, Bytes(8)), AFrame(kOnlineEnd, kMac)});
  const auto verdict = [&](uint8_t v) { return Join({AFrame(kVerdict, Number(v)), AFrame(kOnlineEnd, kMac)}); };
  const Bytes welcome = AFrame(kWelcome, Welcome());
  std::vector<Bytes> talk{
      hello, welcome,    SetupChunk(), Choice(7), ack,        Choice(9),  run, ack, Choice(11),      run,
      ack,   Choice(13), verdict(1),   ack,       verdict(1), Choice(15), ack, run, AFrame(kEnd, {})};
  Cuts("data_owner", {}, talk);
  Seed("data_owner", "other_setup", Join({hello, welcome, SetupChunk(1)}));
  talk[12] = verdict(0);
  talk.resize(13);  // with a bundle announced in advance
  Seed("data_owner", "audit_failed", Join(talk));
  Seed("data_owner", "no_common_variant", Join({hello, AFrame(kWelcome, Welcome(4))}));
  const Bytes greeting = Join({hello, welcome, SetupChunk()}), wait = AFrame(kWait, Wait(2)), later = Choice(kLater);
  const Bytes audits = Join({ack, Choice(13), verdict(1), ack, verdict(1)});
  const Bytes batch = Join({Choice(15), ack, run, AFrame(kEnd, {})});
  Seed("data_owner", "waits",
       Join({greeting, AFrame(kWait, Wait(~0u, ~0u)), wait, wait, Choice(7), ack, Choice(9), run, ack, Choice(11), run,
             audits, wait, batch}));
  Seed("data_owner", "later",
       Join({greeting, Choice(7), ack, later, run, wait, Choice(9), ack, later, run, Choice(11), audits, batch}));
  Seed("data_owner", "later_while_nothing_runs", Join({greeting, later}));
  Seed("data_owner", "waits_while_a_text_runs", Join({greeting, Choice(7), ack, wait}));
  Seed("data_owner", "short_wait", Join({greeting, AFrame(kWait, Number(uint32_t{2}))}));
}

// Frames that a model owner receives from P1.
void ModelOwnerTalks() {
  const Bytes hello = HelloFrame(), ask = AFrame(kSetupAsk, SetupAsk()), end = Announce(0, 0);
  const auto run = [&](const Bytes& next) {
    return Join({AFrame(kClaim, kMac), AFrame(kGo, kMac), next, AFrame(kFirstRun, Bytes(8)), AFrame(kOfflineEnd, kMac),
                 AFrame(kBye, kMac)});
  };
  Cuts("model_owner", {}, {hello, ask, Announce(3, 7), run(Announce(2, 9)), run(end), end});
  for (uint8_t flags : {kMend, uint8_t{0}}) {  // with the right hash, and without it
    const auto audit = [&](const Bytes& next) {
      return Join({AFrame(kAudit, kMac), AFrame(kOpened, kMac, flags), AFrame(kGo, kMac), next, AFrame(kBye, kMac)});
    };
    Seed("model_owner", flags ? "audit" : "audit_failed",
         Join({hello, ask, Announce(4, 11, true), audit(Announce(4, 13, true)), audit(end), end}));
  }
  Seed("model_owner", "no_common_variant", Join({hello, AFrame(kSetupAsk, SetupAsk(4))}));
  Seed("model_owner", "other_lane", Join({hello, AFrame(kSetupAsk, SetupAsk(1, {}, LaneId{20})), Announce(3, 7)}));
  LaneId last;
  last.fill(0xff);
  Seed("model_owner", "last_lane", Join({hello, AFrame(kSetupAsk, SetupAsk(1, {}, last, 64)), Announce(3, 7)}));
  Seed("model_owner", "65_lanes", Join({hello, AFrame(kSetupAsk, SetupAsk(1, {}, kLane, 65))}));
  const Bytes stay = AFrame(kStay, {});
  Seed("model_owner", "stays",
       Join({hello, ask, stay, Announce(3, 7), run(end), stay, Announce(2, 9), run(end), stay, end}));
  Seed("model_owner", "stays_twice", Join({hello, ask, stay, stay}));
  Seed("model_owner", "stays_with_a_byte", Join({hello, ask, AFrame(kStay, Bytes(1))}));
  Seed("model_owner", "stays_while_a_text_runs", Join({hello, ask, Announce(3, 7), run(stay)}));
  Seed("model_owner", "batch", Join({hello, ask, Announce(2, 9), run(Announce(3, 15, false, 2)), run(end), end}));
  for (uint32_t texts : {0u, 3u, 65u})
    Seed("model_owner", Str("batch_of_", texts), Join({hello, ask, Announce(3, 15, false, texts)}));
  Seed("model_owner", "receipts", Join({hello, AFrame(kSetupAsk, SetupAsk(1, {}, kLane, 2, true)), Announce(3, 7)}));
  const suf::Hash dealer{1};
  for (const LaneId& lane : {kLane, suf::store::OfDealer(kLane, dealer)})  // bound to the named dealer or not
    Seed("model_owner", lane == kLane ? "other_dealer" : "dealer",
         Join({hello, AFrame(kSetupAsk, SetupAsk(1, {}, lane, 2, false, dealer)), Announce(3, 7)}));
  Seed("model_owner", "no_lanes", Join({hello, AFrame(kSetupAsk, SetupAsk(1, {}, kLane, 0))}));
  Seed("model_owner", "reported_link", Join({hello, AFrame(kSetupAsk, SetupAsk(3, {90, 1'000'000})), Announce(3, 7)}));
  Seed("model_owner", "impossible_link", Join({hello, AFrame(kSetupAsk, SetupAsk(3, {0, 1}))}));
}

// Both parties know both variants, so the link is measured. Variant 0 is for a near link, and its bundles are in the
// store.
void VariantTalks() {
  const Bytes hello = HelloFrame(), one = AFrame(kProbe, Bytes(1)), large = AFrame(kProbe, Bytes(2));
  const Bytes small = Join({one, one, one, one});
  for (uint64_t trip : {uint64_t{90}, uint64_t{90'000}, uint64_t{90'000'000}}) {
    const Bytes figures = AFrame(kLink, Figures(trip));
    Seed("model_owner", Str("variants_", trip),
         Join({hello, AFrame(kSetupAsk, SetupAsk(3)), small, large, large, one, one, figures, Announce(3, 7)}));
    Seed("data_owner", Str("variants_", trip),
         Join({hello, AFrame(kWelcome, Welcome(3)), SetupChunk(), small, one, one, large, large, figures, Choice(7)}));
  }
}

// The frames of a pull, at either end.
void PullTalks() {
  const auto catalogue = [](uint64_t plan, uint64_t tokenizer) {
    Writer w;
    w.Put(plan);
    w.Put(tokenizer);
    return AFrame(kCatalogue, w.bytes());
  };
  Cuts("catalogue", {}, {catalogue(5, 3), AFrame(kFile, Bytes(5)), AFrame(kFile, Bytes(3))});
  Seed("catalogue", "no_tokenizer", Join({catalogue(5, 0), AFrame(kFile, Bytes(5))}));
  Seed("catalogue", "no_plan", Join({catalogue(0, 3), AFrame(kFile, Bytes(3))}));
  Seed("catalogue", "too_large", catalogue(kMostPulled, 1));
  Seed("catalogue", "overflows", catalogue(1, ~uint64_t{0}));
  for (uint32_t version : {kWireVersion, kWireVersion + 1}) {
    Writer request;
    request.Put(version);
    Seed("model_owner", version == kWireVersion ? "pull" : "pull_by_another_version",
         Join({AFrame(kPull, request.bytes()), AFrame(kEnd, {})}));
  }
}

// Frames that a party receives from the dealer.
void FetchTalks() {
  const auto bundle = [](uint64_t serial) {
    return Join(
        {AFrame(kHeader, Encode(Header(1, serial, JobOf(3)))), AFrame(kChunk, Bytes(ChunkTags::kBytes + kBody))});
  };
  Cuts("fetch", {},
       {HelloFrame(), AFrame(kGrant, Number(uint32_t{2})), bundle(1), bundle(2), AFrame(kEnd, Number(uint64_t{5}))});
  const Bytes grant = AFrame(kGrant, Number(uint32_t{2})), wait = AFrame(kWait, Wait(4));
  Seed("fetch", "waits",
       Join({HelloFrame(), wait, wait, grant, bundle(1), bundle(2), AFrame(kEnd, Number(uint64_t{5}))}));
  Seed("fetch", "short_wait", Join({HelloFrame(), AFrame(kWait, Bytes(4)), grant}));
  Seed("fetch", "batch", Join({HelloFrame(), grant, AFrame(kHeader, Encode(Header(1, 1, JobOf(3, 0, 2))))}));
}

// Owners' files, with every form of a string and every kind of mistake.
void OwnersFiles() {
  const auto key = [](int i) { return "data=" + Hex(Hash{uint8_t(i)}); };
  const std::string ann = Str("[[owner]]\nname = \"ann\"\nkeys = [\"", key(1), "\"]\n");
  const std::string bob = Str("[[ owner ]]  # another\r\nkeys = [\n '", key(2), "', # old\n \"\"\"", key(3),
                              "\"\"\",\n]\nname = '''b-o.b_2'''\n");
  Seed("owners", "one",
       ann + "texts = 1_000\ntokens = 50000\nsearches = 200\nat_once = 2\nlanes = 8\nuntil = 2027-01-01\n");
  Seed("owners", "two", ann + "until = 1969-12-31\n\n" + bob + "texts = 1");
  Seed("owners", "key_twice", ann + bob + Str("[[owner]]\nname = 'cy'\nkeys = [ '", key(1), "' ]"));
  Seed("owners", "name_twice", ann + Str("[[owner]]\nname = 'ann'\nkeys = [ '", key(4), "' ]"));
  Seed("owners", "huge", ann + "texts = 0xffffffffffffffffff");
  Seed("owners", "negative", ann + "lanes = -1");
  Seed("owners", "field", ann + "a.b = { c = [1.5, inf, true, 10:00:00, 2027-01-01T00:00:00Z] }\n" + bob);
  Seed("owners", "inside",
       ann + "x = \"\"\"\n[[owner]]\\\"\"\"\\\n[[owner]]\n\"\"\"\"\"\ny = '''\n[[owner]]\n''''\n" + bob);
  Seed("owners", "list", ann + "x = [ # [[owner]] \"\n[[\n\"owner\"]],\n[[]]\n]\n" + bob);
  Seed("owners", "open_string", ann + "x = '''\n" + bob);
  Seed("owners", "inline", Str("owner = [{ name = 'a', keys = ['", key(1), "'] }]"));
  Seed("owners", "tables", "\xef\xbb\xbf" + ann + "[owner.x]\n[[\"owner\"]]\n[[owner.y]]\n[other]\n[[other.z]]\n");
  Seed("owners", "rows",
       "[[owner]]\nname = 'ann'\nrows = [\"20-29\", 5, '0-7', 99]\ndocuments = ['a', \"\\u00e9\", 7]\n"
       "[[owner]]\nname = \"b-o.b_2\"\nindex = 2\nall = true\n[[owner]]\nname = 'ann'\nindex = 2\nrows = []\n");
  Seed("owners", "wrong_rows", "[[owner]]\nname = 'ann'\nrows = ['9-3', '5-', -1, 100, '0-100']\nall = false\n");
  Seed("owners", "role", Str("[[owner]]\nname = \"\\u0061\\n\"\nkeys = ['model=", Hex(Hash{1}), "', 5, '']\n"));
}

// Frames that the dealer receives from a party. The first byte says which party it is, and how its partner behaves.
void DealerTalks() {
  const Bytes hello = HelloFrame();
  const auto request = [](const Identity& partner, const Job& job, uint32_t count) {
    Writer w;
    Put(w, job);
    w.Put(count);
    w.Raw(kLane);
    w.Raw(TraceOf(job));
    w.Raw(kWeights);
    w.Raw(partner.key);
    w.Raw(Hash{23});
    w.Raw(Hash{24});
    return AFrame(kRequest, w.bytes());
  };
  Seed("dealer", "batch", Join({{1}, hello, request(kModel, JobOf(3, 0, 2), 1), AFrame(kEnd, {})}));
  Seed("dealer", "batch_of_3", Join({{1}, hello, request(kModel, JobOf(3, 0, 3), 1)}));
  for (const Identity& partner : {kModel, kData}) {
    Bytes all = Join({{uint8_t(partner.role == Role::kModel)}, hello, request(partner, JobOf(3), 2), AFrame(kEnd, {})});
    Seed("dealer", Name(partner.role), all);
    Seed("dealer", Str(Name(partner.role), "_without_end"), View(all).first(all.size() - 5));
    for (auto [bits, name] : {std::pair{2, "_comes_last"}, {4, "_comes_late"}, {6, "_never_comes"}}) {
      Bytes other = all;
      other[0] |= uint8_t(bits);
      Seed("dealer", Str(Name(partner.role), name), other);
    }
  }
  Seed("dealer", "hello", Join({{1}, hello}));
  const Bytes use = Join({Number(uint64_t{1}), JobBytes(3), Bytes(kLane.begin(), kLane.end()),
                          Bytes(kModel.key.begin(), kModel.key.end())});
  Seed("dealer", "witness", Join({{1}, hello, AFrame(kWitness, use)}));
}

// Texts of functions, with every kind of item, with runs, and on octaves.
void Functions() {
  Seed("suf_text", "example",
       std::string("suf example domain 4 ring 6 outputs 2 degree 2\n"
                   "piece 0 : 1 2 -1 | 5 0 0\npiece 3 : -4 1 0 | 0 1 1\npiece 12 : 7 0 0 | -32 0 0\nend 13\n"
                   "formula lt 7 ltlow 2 3 and msb 3 not or\nformula lt 16 lt 0 xor\n"
                   "channel bit 1 0 near\nchannel signed 6 0 y\nchannel unsigned 4 1 low\n"));
  std::vector<int64_t> a{3, -4, 5, -6, 7, 0, 9, 1}, b{1, -1, 2, -2, 0, 0, 3, 4};
  Seed("suf_text", "lines", func::Print(func::Uniform("lines", 3, a, b, 20)));
  Seed("suf_text", "table", func::Print(func::Uniform("table", 61, a, {}, 64)));
  std::vector<func::Octave> groups{{0, 0, 8, {90, 80, 70, 60, 50, 40, 30, 20}}, {2, 2, 4, {5, 4}}, {4, 1, 2, {-1}}};
  Seed("suf_text", "octaves", func::Print(func::FromGroups("octaves", groups, 6, 8)));
  Seed("suf_text", "two_runs",
       std::string("suf r domain 64 ring 64 outputs 1 degree 0\nrun 0 2 : 1 , 2\nrun 8 63 : 3\n"
                   "end 9223372036854775816\n"));
  Seed("suf_text", "poly",
       std::string("# a comment\nsuf p domain 5 ring 16 outputs 1 degree 3\npoly 0 : 1 2 3 -4\n  # and one\n"
                   "poly 7 : 0 -1 0 2 # and one\nend 30\nformula in 3 9 true and not\nformula false in 0 32 xor\n"
                   "channel bit 1 0 w # a bit\n"));
  Seed("suf_text", "table_of_points",
       std::string("suf t domain 2 ring 8 outputs 1 degree 0\ntable 1 -2 3 4\nend 4\nchannel signed 8 0 y\n"));
  Seed("suf_text", "sum", std::string("split b domain 4 ring 9 sum 1 3\nhigh 1 2 3 4 5 6 7 -8\nlow 0 1 2 3\nend\n"));
  Seed("suf_text", "product", std::string("split e domain 3 ring 64 product 1\nhigh 9 5 -2 1\nlow 4 3 # low\nend\n"));
}

// Plans of a function with several rings, and of a split.
void FunctionPlans() {
  gates::FunctionFile file{{func::ParseFunction("suf m domain 8 ring 12 outputs 1 degree 2\npiece 0 : 1 2 -1\n"
                                                "piece 100 : -4 1 0\nend 256\nformula lt 7 msb 3 xor\n"
                                                "channel bit 1 0 near\nchannel signed 12 0 y\n"),
                            {},
                            gates::Origin::kShared,
                            gates::To::kBoth}};
  for (const char* name : {"StepDcf, Digits", "Index/blocks, PackedCompare", "Parity+Open, DenseTable"}) {
    file.plan.choice = gates::ChoiceOf(file.plan.f, name);
    Seed("function_plan", Str("mixed_", file.max_values--), gates::Print(file));
  }
  file.plan = {func::ParseFunction("split e domain 3 ring 64 product 1\nhigh 9 5 -2 1\nlow 4 3\nend\n"),
               {},
               gates::Origin::kP0,
               gates::To::kShared};
  file.plan.choice = gates::ChoiceOf(file.plan.f, "Product/2");
  Seed("function_plan", "product", gates::Print(file));
  const std::string text =
      "x = input p1 12:4 [n, 3]\n"
      "v = input p0 8:0 [3]\n"
      "i = input shared 2:0:u [n]\n"
      "y, b = reluars(x, shift=2) outputs y, w\n"
      "s = dot(y, v)\n"
      "t = table(i, {1, -2, 3, 9})\n"
      "output s -> p0\n"
      "output b -> shared\n"
      "output t -> both\n";
  const auto c = std::make_shared<const gates::Composition>(gates::ParseComposition(text));
  Seed("function_plan", "composition", gates::Print({c, gates::DefaultChoices(*c), 100}));
}

// Compositions with every kind of statement, and with mistakes.
void Compositions() {
  Seed("composition", "scores",
       std::string("# P1 learns two scores a row\n"
                   "x    = input p1 32:12 [n, 16]\n"
                   "v    = input p0 16:10 [16]\n"
                   "y, b = reluars(x, shift=8) outputs y, w  # two outputs\n"
                   "s    = dot(y, v)\n"
                   "z    = select(b, v)\n"
                   "t    = sum(z)\n"
                   "output s -> p1\n"
                   "output t -> p1\n"));
  Seed("composition", "block",
       std::string("x = input p1 8:0 [n] range -7..99\n"
                   "a = function(x, \"step\")\n"
                   "b = function(x, silu)\n"
                   "output a -> both\n"
                   "output b -> p0\n"
                   "function step\n"
                   "suf step domain 8 ring 8 outputs 1 degree 0\n"
                   "piece 0 : 1\n"
                   "piece 100 : -4\n"
                   "end 256\n"
                   "channel signed 8 0 y\n"
                   "end function\n"));
  Seed("composition", "table",
       std::string("i = input shared 2:0:u [n, 3]\n"
                   "t = table(i, {1, -2, 3, 9223372036854775807})\n"
                   "u = times(t, by=-3)\n"
                   "output u -> shared\n"));
  Seed("composition", "bits",
       std::string("m = input p0 mask 5 [n]\r\n"
                   "b = input p1 bit\r\n"
                   "c = bit(m, i=2)\r\n"
                   "d = XOR(c, b)\r\n"
                   "e = not(d)\r\n"
                   "f = number(e)\r\n"
                   "output f -> p1\r\n"));
  Seed("composition", "sums",
       std::string("x = input p0 64:-3 [2, 4]\n"
                   "y = input p1 12:-3\n"
                   "s=add(x,y, ring=20)\n"
                   "d = sub(s, x)\n"
                   "output d -> p0\n"));
  Seed("composition", "too_early",
       std::string("x = input p1 8:0\n"
                   "y = add(x, z)\n"
                   "z = add(x, x)\n"
                   "output y -> p1\n"));
  Seed("composition", "twice",
       std::string("x = input p1 8:0\n"
                   "x = function(x, clamp(-1, 0.5))\n"));
  Seed("composition", "no_end",
       std::string("x = input p1 8:0\n"
                   "function step\n"
                   "suf step domain 8 ring 8 outputs 1 degree 0\n"
                   "piece 0 : 1\n"
                   "piece 100 : -4\n"
                   "end 256\n"
                   "channel signed 8 0 y\n"));
}

// Formulas with every function that we add to the parser's, and with mistakes.
void Formulas() {
  int i = 0;
  for (const char* text : {"x*0.5*(1+erf(x/sqrt(2)))", "sigmoid(x) + min(x, 3, -x) * max(1, pi)", "x < 2 ? 1 : -x^2",
                           "log2(x", "1 + y", "tanh(x),sinh(1e-3)"})
    Seed("formula", Str("f", i++), std::string(text));
}

// Frames that each party receives in an honest run, with and without its bundle.
void Inferences() {
  SmallRun run;
  for (int p : {0, 1})
    for (bool dealt : {false, true}) {
      Bytes all{uint8_t(p + 2 * dealt)};
      const Bytes& key = run.honest().key[size_t(p)];
      if (dealt) all.insert(all.end(), key.begin(), key.end());
      const auto& frames = run.schedule().frames();
      for (size_t i = 0; i < frames.size(); ++i) {
        if (frames[i].sender == p) continue;
        Bytes f = AFrame(uint16_t(kFirstRun + i), run.honest().frame[i]);
        all.insert(all.end(), f.begin(), f.end());
      }
      Seed("inference", Str("party", p, dealt ? "_dealt" : ""), all);
    }
}

// The first flight of our own TLS client, an alert, and bytes that are not TLS.
void Handshakes() {
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> ctx(SSL_CTX_new(TLS_method()), SSL_CTX_free);
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(ctx.get()), SSL_free);
  BIO* out = BIO_new(BIO_s_mem());
  SSL_set_bio(ssl.get(), BIO_new(BIO_s_mem()), out);
  SSL_set_connect_state(ssl.get());
  (void)SSL_do_handshake(ssl.get());
  char* data = nullptr;
  long n = BIO_get_mem_data(out, &data);
  Bytes hello(data, data + n);
  for (uint8_t server : {0, 1}) {
    Seed("handshake", Str("hello", int(server)), Join({{server}, hello}));
    Seed("handshake", Str("alert", int(server)), Join({{server}, {21, 3, 3, 0, 2, 2, 40}}));
    Seed("handshake", Str("http", int(server)), Join({{server}, {'G', 'E', 'T', ' ', '/', '\r', '\n'}}));
  }
}

// A record of fuzz/pipe.hpp.
Bytes ARecord(View bytes) {
  return Join({Number(uint16_t(2 * (bytes.size() - 1))), Bytes(bytes.begin(), bytes.end())});
}
Bytes ARun(size_t bytes, uint8_t b) { return Join({Number(uint16_t(2 * (bytes / 8 - 1) + 1)), {b}}); }
Bytes AHeader(size_t length, uint16_t kind, uint16_t sequence) {
  return Join({Number(uint32_t(length)), Number(kind), Number(sequence)});
}

// Orders and records for fuzz/connection.cpp.
void Connections() {
  auto frame = [&](size_t length, uint16_t kind, uint16_t sequence) {
    return Join({AHeader(length, kind, sequence), Bytes(length, 1)});
  };
  auto seed = [&](const std::string& name, const Bytes& orders, const std::vector<Bytes>& records) {
    Seed("connection", name, Join({Number(uint16_t(orders.size())), orders, Join(records)}));
  };
  const Bytes hello = ARecord(frame(44, kHello, 0));
  auto large = [&](size_t length, uint16_t kind, uint16_t sequence) {
    std::vector<Bytes> parts{ARecord(AHeader(length, kind, sequence))};
    for (size_t rest = length; rest; rest -= std::min(rest, size_t{1} << 17))
      parts.push_back(ARun(std::min(rest, size_t{1} << 17), 7));
    return Join(parts);
  };
  seed("control", {0, 2, 4, 12, 7, 23}, {hello, ARecord(frame(64, kClaim, 1)), ARecord(frame(2, kRefuse, 2))});
  seed("delivery", {0, 3, 6, 3, 6, 3},
       {hello, large(1 << 20, kChunk, 1), large(1 << 20, kChunk, 2), ARecord(frame(9, kChunk, 3))});
  seed("inference", {0, 5 + 20 * 8, 1 + 20 * 8, 6, 5 + 20 * 8, 1 + 20 * 8},
       {hello, large(1 << 20, kFirstRun, 1), large(1 << 20, kFirstRun, 2)});
  for (size_t length : {size_t{0}, size_t{8192}, size_t{1} << 28, ~uint32_t{0} + size_t{0}})
    for (uint8_t order : {4, 5, 7, 0})
      seed(Str("header_", length, "_", int(order)), {0, order, order, order},
           {hello, ARecord(AHeader(length, kClaim, 1)), ARun(4096, 1)});
  seed("empty", {0, 4, 5, 7, 2, 4, 5, 7}, {hello, ARun(200'000, 0)});
  seed("refusals", {0, 2, 4, 12, 7, 23}, {hello, ARecord(frame(6, kRefuse, 1)), ARecord(frame(3, kRefuse, 2))});
  seed("broken", {0, 15}, {hello, large(1 << 20, kFirstRun, 1), ARecord(frame(2, kRefuse, 2))});
}

// Orders and connections for fuzz/streams.cpp.
void Spreads() {
  static constexpr size_t kLength = 65'537, kBlock = 22 << 10;  // two whole blocks and a part of a third
  auto begins = [](uint16_t kind, uint16_t sequence, uint32_t index) {
    const Bytes h = AHeader(kLength, kind, sequence);
    return ARecord(index ? Join({h, Number(index)}) : h);
  };
  auto seed = [&](const std::string& name, const Bytes& orders, uint16_t kind, std::array<uint16_t, 3> sequences,
                  std::array<uint32_t, 3> index = {0, 1, 2}) {
    const std::array<size_t, 3> share{kBlock, kBlock, kLength - 2 * kBlock};
    std::array<Bytes, 3> pipe;
    for (size_t i = 0; i < 3; ++i)
      pipe[i] = Join({begins(kind, sequences[i], index[i]), ARun(share[i], 7),
                      begins(kind, uint16_t(sequences[i] + 1), index[i])});
    Seed("streams", name,
         Join({{uint8_t(orders.size())},
               orders,
               Number(uint16_t(pipe[0].size())),
               pipe[0],
               Number(uint16_t(pipe[1].size())),
               pipe[1],
               pipe[2]}));
  };
  seed("frame", {1, 2, 3, 1, 3}, kFirstRun, {0, 0, 0});
  seed("chunk", {0, 3, 5, 0, 2}, kChunk, {0, 0, 0});
  seed("late_room", {5, 4, 1, 3}, kFirstRun, {0, 0, 0});
  seed("behind", {1, 3}, kFirstRun, {0, 0, 1});
  seed("swapped", {1, 3}, kFirstRun, {0, 0, 0}, {0, 2, 1});
  seed("unposted", {6}, kFirstRun, {0, 0, 0});
  seed("short", {9, 3, 1, 3}, kFirstRun, {0, 0, 0});
  seed("refuses", {1, 2, 23}, kFirstRun, {0, 0, 0});
  seed("forgets", {1, 1, 2, 7}, kFirstRun, {0, 0, 0});
}

void Logs() {
  Folder folder;
  {
    service::JobLog::Options options;
    options.clock = [] { return std::chrono::system_clock::time_point(std::chrono::milliseconds(1795878226123)); };
    service::JobLog log(folder / "log", options);
    service::JobRecord job;
    job.owner = "ann";
    job.data_owner = Hash{1};
    job.job = JobOf(32);
    job.lane = LaneId{2};
    job.serial = 7;
    job.receipt["signature"] = "3045";
    log.Add(job);
    job.role = Role::kDealer;
    job.model_owner = Hash{3};
    job.outcome = service::JobOutcome::kBroken;
    log.Add(job);
    service::JobRecord refused;
    refused.outcome = service::JobOutcome::kRefused;
    refused.reason = Refusal::kBusy;
    log.Add(refused);
  }
  const std::string lines = Read(folder / "log"), whole = std::string(1, '\0') + lines;
  const size_t last = whole.rfind('\n', whole.size() - 2) + 1;
  Seed("job_log", "whole", whole);
  Seed("job_log", "empty", whole.substr(0, 1));
  Seed("job_log", "cut", whole.substr(0, whole.size() - 100));
  Seed("job_log", "zeros", whole.substr(0, last) + std::string(100, '\0'));
  Seed("job_log", "repeated", whole + whole.substr(last));
  std::string rest(1, '\1');
  for (size_t at = 0; at < lines.size(); at = lines.find('\n', at) + 1) {
    const size_t time = lines.find("\"time\"", at);
    rest += lines.substr(time, lines.find('\n', at) + 1 - time);
  }
  Seed("job_log", "chained", rest);
}
}  // namespace

void WriteSeeds(const std::string& dir) {
  root = dir;
  std::filesystem::create_directories(root);
  Models();
  Functions();
  Formulas();
  FunctionPlans();
  Compositions();
  Plans();
  IndexPlans();
  IndexFolders();
  Documents();
  Files();
  DataOwnerTalks();
  ModelOwnerTalks();
  VariantTalks();
  FetchTalks();
  PullTalks();
  DealerTalks();
  OwnersFiles();
  Inferences();
  Handshakes();
  Connections();
  Spreads();
  Logs();
  Receipts();
}

}  // namespace suf::fuzz

int main(int argc, char** argv) {
  if (argc == 2) suf::fuzz::WriteSeeds(argv[1]);
  return argc != 2;
}
