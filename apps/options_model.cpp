// The options of the commands for models, from `suf model` to `suf demo`.
#include <CLI/CLI.hpp>

#include "apps/options.hpp"
#include "suf/base/error.hpp"
#include "suf/compiler/choose.hpp"
#include "suf/net/certs.hpp"
#include "suf/roles/compiler.hpp"
#include "suf/roles/lanes.hpp"

namespace suf::apps {

namespace {

// Adds the ways to give texts, of which exactly one is required. An option group would miss its positional after "--".
void AddSource(CLI::App* c, Source* s, bool text, bool ids = true) {
  std::vector<CLI::Option*> ways;
  if (text) {
    ways.push_back(c->add_option("text", s->text, "one text (write -- before it if it begins with a dash)"));
    c->add_option("--second", s->second, "the text that TEXT is compared with, for a model that reads pairs")
        ->needs(ways[0])
        ->option_text("TEXT");
  }
  ways.push_back(c->add_option("--file", s->file, "a file with one text a line (UTF-8), or a pair with a tab between"));
  ways.push_back(c->add_option("--json-file", s->json_file,
                               "a file with {\"id\": .., \"text\": ..} a line, \"second\" beside "
                               "\"text\" for a pair"));
  if (ids)
    ways.push_back(
        c->add_option("--ids", s->ids, "a file with the token ids of one text a line; ID:1 is a token of type 1"));
  c->parse_complete_callback([ways] {
    size_t given = 0;
    std::string names;
    for (auto* w : ways) {
      given += w->count();
      names += (names.empty()      ? ""
                : w == ways.back() ? " and "
                                   : ", ") +
               (w->get_positional() ? "TEXT" : w->get_name());
    }
    if (given == 0) throw CLI::RequiredError("one of " + names);
    if (given > 1) throw CLI::ValidationError("give only one of " + names);
  });
}

// Adds the choice of a prompt.
void AddPrompt(CLI::App* c, Source* s) {
  auto* prompt = c->add_option("--prompt", s->prompt,
                               "name of the prompt that stands before every text, as suf plan show lists them "
                               "(default: the model's default prompt, if it has one)")
                     ->option_text("NAME");
  if (auto* ids = c->get_option_no_throw("--ids")) prompt->excludes(ids);
  c->add_flag_callback(
       "--no-prompt", [s] { s->prompt = ""; }, "texts stand without the model's default prompt")
      ->excludes(prompt);
}

// Returns the help of --set.
std::string SettingsHelp() {
  std::string help =
      "replace a number of the compiler; may be repeated, and the last value of a name counts. Names with defaults:";
  for (const roles::Setting& s : roles::Compiler::Settings()) help += Str("\n", s.name, "=", s.value, "  ", s.meaning);
  return help;
}

// Adds `model path` and `model random`.
void AddModel(CLI::App* app, ModelArgs* a, int* status) {
  auto* model = app->add_subcommand("model", "print the directory of a fetched model, or write a random one for tests");
  model->require_subcommand(1);
  auto* path = model->add_subcommand("path", "print the directory of a model that tools/fetch_model.py fetched");
  path->add_option("name", a->name, "all-MiniLM-L6-v2, all-mpnet-base-v2 or multilingual-e5-small (default: the first)")
      ->type_name("NAME");
  path->callback([=] { *status = RunModel(*a); });
  auto* c = model->add_subcommand("random", "write a model with random weights");
  c->add_option(
       "--preset", a->preset,
       "for tests: tiny, tiny-cls, tiny-reranker, tiny-outliers, tiny-roberta, tiny-roberta-labels, tiny-distilbert, "
       "tiny-distilbert-labels, tiny-mpnet, tiny-mpnet-labels, tiny-nomic, tiny-modernbert, tiny-qwen3, tiny-gpt2, "
       "tiny-llama. The published model's shape: minilm (91 MB). For measurements, published shapes with the scores of "
       "trained models: bert-tiny (17 MB), bert-base (436 MB), bert-large (1.3 GB), gpt2 (498 MB). With a trained "
       "model's outlier channels too: bge-small (133 MB), cross-encoder (91 MB), roberta-base (499 MB), roberta-labels "
       "(501 MB), mpnet-base (438 MB)")
      ->required();
  c->add_option("--seed", a->seed, "the same seed gives the same files")->required()->check([](const std::string& s) {
    return s.starts_with('-') ? Str(s, " is below 0") : std::string();
  });
  c->add_option("--out", a->out, "directory to write")->required()->type_name("DIR");
  c->callback([=] {
    a->random = true;
    *status = RunModel(*a);
  });
}

// Adds `tokenize`.
void AddTokenize(CLI::App* app, TokenizeArgs* a, int* status) {
  auto* c = app->add_subcommand("tokenize", "convert texts to token ids, as the data owner does");
  c->add_option("--model", a->model, "model directory (its vocab.txt or tokenizer.json)")->required();
  c->add_flag("--json", a->json, kJsonHelp);
  AddSource(c, &a->source, false, false);
  c->callback([=] { *status = RunTokenize(*a); });
}

// Adds `compile`.
void AddCompile(CLI::App* app, CompileArgs* a, int* status) {
  auto* c = app->add_subcommand("compile", "make the plan, which is public and has no weights (model owner)");
  c->add_option("--model", a->model, "model directory: config.json, safetensors files, and vocab.txt or tokenizer.json")
      ->required();
  c->add_option("--calibrate", a->calibrate, "a file of texts like those to come, one a line; they place the windows");
  c->add_option("--ids", a->ids, "instead of --calibrate: a file with the token ids of one text a line");
  c->add_option("--max-tokens", a->max_tokens,
                "length of the longest text that the plan covers, in tokens (default: 256, or the model's limit if it "
                "is lower)");
  c->add_option("--out", a->out, "plan file to write")->required();
  c->add_option("--set", a->settings, SettingsHelp())->allow_extra_args(false)->option_text("NAME=VALUE");
  c->add_option("--profile", a->profile,
                "the prices that choose: " + compiler::PricesHelp() +
                    "; several make a variant each: names with commas between, others with ; (default: "
                    "cpu,lan,balanced)")
      ->option_text("P");
  c->add_option("--variant", a->variants, "one more variant, with this name and these prices; may be repeated")
      ->allow_extra_args(false)
      ->option_text("NAME=PRICES");
  c->add_option("--keys", a->keys,
                "when keys are made: ahead, for roles with --ahead, or now, while the parties wait (default: now, "
                "unless the profile says ahead)")
      ->check(CLI::IsMember({"ahead", "now"}));
  c->add_option(
       "--keys-to", a->keys_to,
       "the bundle with the corrections: balanced (the lighter one), or p0. With p0 a data owner downloads a fifth of "
       "its keys. The default is p0 if thin= is below half of rate=, else balanced")
      ->check(CLI::IsMember({"balanced", "p0"}));
  c->add_flag("--public-table", a->public_table,
              "publish the table of word embeddings. Data owners get PLAN.table.safetensors and look up rows "
              "themselves, which saves the one-hot rows of the vocabulary");
  c->parse_complete_callback([=] {
    if (a->calibrate.empty() && a->ids.empty()) throw CLI::RequiredError("one of --calibrate and --ids");
    if (!a->calibrate.empty() && !a->ids.empty()) throw CLI::ValidationError("give only one of --calibrate and --ids");
  });
  c->callback([=] { *status = RunCompile(*a); });
}

// Adds `plan show`.
void AddPlanShow(CLI::App* app, PlanShowArgs* a, int* status) {
  auto* plan = app->add_subcommand("plan", "show a plan");
  plan->require_subcommand(1);
  auto* c = plan->add_subcommand("show", "print a plan: rings, certificates, tables");
  c->add_option("plan", a->plan, "plan file")->required();
  auto* whole = c->add_flag("--json", a->json, "print instead the whole plan as JSON");
  auto* trace = c->add_option("--trace", a->tokens,
                              "print instead the trace of a text of this length, one node a line, and its schedule");
  auto* graph = c->add_flag("--graph", a->graph, "print instead the graph: operators, inputs, forms, rings, scales");
  auto* svg = c->add_option("--svg", a->svg, "draw the graph into this SVG file");
  whole->excludes(trace)->excludes(graph)->excludes(svg);
  trace->excludes(graph)->excludes(svg);
  AddVariant(c, &a->variant);
  c->callback([=] {
    a->trace = trace->count() > 0;
    *status = RunPlanShow(*a);
  });
}

// Adds `estimate`.
void AddEstimate(CLI::App* app, EstimateArgs* a, int* status) {
  auto* c =
      app->add_subcommand("estimate", "print the cost of an inference: flights, keys, bytes, by layer and operator");
  c->add_option("--plan", a->plan, "plan file")->required();
  c->add_option("--tokens", a->tokens, kLengthHelp)->required();
  c->add_option("--index-plan", a->index_plan, "estimate a search of the index with this public file, index.json")
      ->option_text("FILE");
  AddBatch(c, &a->batch);
  c->add_option("--ahead", a->ahead, "also print the bytes on disk of N bundles made ahead, 0 to 65536")
      ->check(CLI::Range(0, 1 << 16))
      ->option_text("N");
  c->add_option("--audit", a->audit, "also print the memory and the keys of N audits, 0 to 65536")
      ->check(CLI::Range(0, 1 << 16))
      ->option_text("N");
  c->add_option("--profile", a->profile, "also print the online time over this network: " + compiler::PricesHelp())
      ->option_text("P");
  c->add_flag("--device", a->device,
              "also print the memory and the kernels of each role on an NVIDIA device; needs none");
  c->add_flag("--json", a->json, kJsonHelp);
  AddVariant(c, &a->variant);
  c->callback([=] { *status = RunEstimate(*a); });
}

// Adds `kernels`.
void AddCompileKernels(CLI::App* app, KernelsArgs* a, int* status) {
  auto* c = app->add_subcommand("kernels", "compile the kernels of --backend cuda for a plan; needs no device");
  c->add_option("--plan", a->plan, "plan file")->required();
  c->add_option("--tokens", a->tokens, kLengthHelp)->required();
  c->add_option("--arch", a->arch, "compute capability of the device, 80 to 999; 90 is 9.0 (default: 90)")
      ->check(CLI::Range(80, 999))
      ->option_text("N");
  c->add_option("--role", a->role, "compile for deal, serve or embed (default: all three)")
      ->check(CLI::IsMember({"deal", "serve", "embed"}));
  c->add_option("--out", a->out, "folder to write (default: suf/kernels in the user's cache, which the backend reads)")
      ->option_text("DIR");
  AddVariant(c, &a->variant);
  c->callback([=] { *status = RunKernels(*a); });
}

// Adds `simulate`.
void AddSimulate(CLI::App* app, SimulateArgs* a, int* status) {
  auto* c = app->add_subcommand(
      "simulate", "compute in clear with the plan's whole numbers, and report each wire that leaves its window");
  c->add_option("--model", a->model, "model directory")->required();
  c->add_option("--plan", a->plan, "plan file")->required();
  AddShifts(c, &a->shifts);
  c->add_option("--index", a->index, "search the index in this folder")->option_text("DIR");
  c->add_flag("--json", a->json, kJsonHelp);
  c->add_flag("--truncate", a->truncate, kTruncateHelp);
  AddVariant(c, &a->variant);
  AddSource(c, &a->source, false);
  AddPrompt(c, &a->source);
  c->callback([=] { *status = RunSimulate(*a); });
}

// Adds `certs`.
void AddCerts(CLI::App* app, CertsArgs* a, int* status) {
  auto* c = app->add_subcommand("certs", "make certificates for the three roles; the CA's key is never written");
  c->add_option("dir", a->dir, "directory to make, with dealer/, model/ and data/")->required();
  auto* show = c->add_flag("--show", a->show,
                           "make nothing; print the fingerprints of the certificates in DIR, as --pin takes them");
  const auto named = [&](const char* option, std::vector<std::string>* names, Role role) {
    const std::string folder = net::CertFolder(role);
    c->add_option(option, *names,
                  Str("make ", folder, "-NAME/ for this ", net::HolderOf(role), " in place of ", folder,
                      "/; may be repeated, up to ", net::kMostNames, " times, and none can be added later"))
        ->allow_extra_args(false)
        ->excludes(show)
        ->option_text("NAME");
  };
  named("--dealer", &a->dealers, Role::kDealer);
  named("--data", &a->owners, Role::kData);
  c->callback([=] { *status = RunCerts(*a); });
}

// Adds `secrets`.
void AddSecrets(CLI::App* app, SecretsArgs* a, int* status) {
  auto* c = app->add_subcommand(
      "secrets",
      "make the secrets that several processes of one model owner share (serve --secrets); once for a model");
  c->add_option("dir", a->dir, "directory to make, with weights.key, b.seed and owner")->required();
  c->add_option("--certs", a->certs, "the model owner's folder of certificates, or its parent")->required();
  c->callback([=] { *status = RunSecrets(*a); });
}

// Adds `deal`.
void AddDeal(CLI::App* app, DealArgs* a, int* status) {
  auto* c = app->add_subcommand("deal",
                                "run the dealer, which makes correlated randomness and sees neither weights nor texts");
  c->add_option("--plan", a->plan, "plan file")->required();
  c->add_option("--index-plan", a->index_plans,
                "index.json of an index that the model owner serves (public); repeated in the order of serve --index")
      ->allow_extra_args(false)
      ->option_text("FILE");
  c->add_option("--certs", a->certs, kCertsHelp)->required();
  AddAddress(c, "--listen", &a->listen, "address to listen on; port 0 takes a free one", AddressUse::kListen);
  c->add_option("--state", a->state, "directory of the serial counter (default: state/ in the folder of --certs)");
  auto* tokens = c->add_option("--tokens", a->tokens, "allow bundles made ahead for texts of this length in tokens");
  c->add_option("--texts", a->texts, Str("texts of a bundle made ahead, 1 to ", nn::kMostTexts, " (default: 1)"))
      ->needs(tokens)
      ->check(CLI::Range(1, nn::kMostTexts))
      ->option_text("K");
  c->add_option("--count", a->count,
                "most bundles made ahead, 1 to 65536; the least of this and both --ahead counts (default: 1)")
      ->needs(tokens)
      ->check(CLI::Range(1, 1 << 16))
      ->option_text("N");
  c->add_option("--timeout", a->timeout, kTimeoutHelp)->default_val(60);
  c->add_option("--times", a->times, kTimesHelp);
  AddAuditLog(c, &a->records.log);
  AddMetrics(c, &a->records.metrics);
  AddTurns(c, &a->turns, "deals");
  AddWindow(c, &a->window, "are made before the slower party takes them");
  AddTraces(c, &a->traces);
  AddStreams(c, &a->streams);
  AddKernels(c, &a->kernels);
  AddBackend(c, &a->backend);
  c->add_option("--variant", a->variant, "variant of the bundles made ahead (default: the first)")->needs(tokens);
  AddPins(c, &a->pins);
  c->callback([=] { *status = RunDeal(*a); });
}

// Adds `serve`.
void AddServe(CLI::App* app, ServeArgs* a, int* status) {
  auto* c =
      app->add_subcommand("serve", "run the model owner (P0), which serves embeddings of texts that it never sees");
  c->add_option("--model", a->model, "model directory")->required();
  AddShifts(c, &a->shifts);
  c->add_option("--variants", a->variants, "variants of the plan that data owners may take (default: all)");
  auto* index = c->add_option("--index", a->indexes,
                              Str("folder of an index that data owners may search (suf index create); may be repeated, "
                                  "up to ",
                                  store::kMostIndexes, " times"))
                    ->allow_extra_args(false)
                    ->option_text("DIR");
  c->add_option(
       "--secrets", a->secrets,
       "folder that suf secrets made, for all processes of this model owner. It may be read-only (default: the store's "
       "own secrets)")
      ->option_text("DIR");
  auto* owners =
      c->add_option("--owners", a->owners,
                    "TOML file of the data owners to serve, with their keys and quotas. SIGHUP reads it again "
                    "(default: all with a certificate of this CA, without limits)")
          ->option_text("FILE");
  c->add_option("--rows", a->rows,
                "TOML file of the rows of indexes that each owner may find. An owner that it does not name finds none. "
                "SIGHUP reads it again (default: all find all)")
      ->needs(owners)
      ->needs(index)
      ->option_text("FILE");
  c->add_option("--counts", a->counts,
                "PostgreSQL database that counts for all processes of this model owner, as "
                "postgresql://ROLE@HOST/DATABASE?passfile=FILE. TLS verifies HOST; a socket is /DATABASE?host=FOLDER "
                "(default: each process counts alone, in its store)")
      ->needs(owners)
      ->option_text("URL");
  AddAuditLog(c, &a->records.log);
  AddMetrics(c, &a->records.metrics);
  AddAnswer(c, a);
  AddTraces(c, &a->traces);
  c->callback([=] { *status = RunServe(*a); });
}

// Adds `pull`.
void AddPull(CLI::App* app, PullArgs* a, int* status) {
  auto* c = app->add_subcommand(
      "pull",
      "get the plan and the tokenizer from the model owner, for embed. Prints the hash and the name of each file.\n"
      "Example:  suf pull --connect model.example:7002 --certs certs/data --out model");
  AddAddress(c, "--connect", &a->connect, "address of the model owner", AddressUse::kConnect);
  c->add_option("--certs", a->certs, kCertsHelp)->required();
  c->add_option("--out", a->out, "directory for the files; it is made if needed")->required()->option_text("DIR");
  c->add_option("--expect", a->expect,
                "hash that the plan must have, as its owner's suf plan show prints it. Without it, a plan that differs "
                "from the one in DIR is refused, and so is a tokenizer that nobody has published")
      ->option_text("HASH");
  c->add_option("--timeout", a->timeout, kTimeoutHelp)->default_val(60);
  AddPins(c, &a->pins);
  c->callback([=] { *status = RunPull(*a); });
}

// Adds the options of a data owner by which it reaches a model, for `embed` and `search`.
void AddModelOfOwner(CLI::App* c, EmbedArgs* a) {
  c->add_option("--vocab", a->vocab,
                "the model's vocab.txt, or its tokenizer.json if compile named that (public); --ids needs none");
  c->add_option("--table", a->table,
                "the model's public table of embeddings, if the plan has one (default: PLAN.table.safetensors)")
      ->option_text("FILE");
  AddAddress(c, "--connect", &a->connect,
             "address of the model owner. Over several processes of one, with commas between, sessions are spread",
             AddressUse::kConnectList);
  c->add_option("--variant,--profile", a->variant, kAutoHelp)->default_val("auto");
}

// Adds those of its texts, and of what running them takes and reports.
void AddTextsOfOwner(CLI::App* c, EmbedArgs* a) {
  AddMemory(c, &a->memory, "texts");
  AddMetrics(c, &a->metrics);
  AddSource(c, &a->source, true);
  AddPrompt(c, &a->source);
}

// Adds --retry. `absent` is its default in words.
CLI::Option* AddRetry(CLI::App* c, EmbedArgs* a, const char* absent) {
  return c
      ->add_option("--retry", a->retry,
                   Str("seconds for which a peer that broke or cannot be reached is dialled again, with growing "
                       "pauses, 0 to 86400 (default: ",
                       absent, ")"))
      ->check(CLI::Range(0.0, 86400.0))
      ->option_text("S");
}

// Adds `search`.
void AddSearch(CLI::App* app, EmbedArgs* a, int* status) {
  auto* c = app->add_subcommand(
      "search",
      "run the data owner (P1), which finds the nearest documents of an index that it never sees. Prints a line of "
      "JSON for each text.\n"
      "Example:  suf search --connect model.example:7002 --dealer dealer.example:7001 --certs certs/data\n"
      "                     --plan plan.json --vocab vocab.txt --index-plan index.json --store store --file "
      "texts.txt");
  AddParty(c, a);
  c->remove_option(c->get_option("--record"));
  AddTraces(c, &a->traces);
  c->add_option("--index-plan", a->index_plan, "index.json of the index (public)")->required()->option_text("FILE");
  auto* fetch = c->add_flag(
      "--fetch", a->fetch,
      "also fetch the documents of the hits. The model owner sees that k documents are fetched, and not which");
  fetch->excludes(c->get_option("--ahead"));
  c->add_option("--documents", a->documents,
                "documents.sealed of the index (public), if its keys are fetched in place of documents")
      ->needs(fetch)
      ->option_text("FILE");
  AddModelOfOwner(c, a);
  c->add_flag("--json", a->json, "print rows with costs and integers");
  c->add_flag("--truncate", a->truncate, kTruncateHelp);
  c->add_flag("--one-by-one", a->one_by_one, kOneByOneHelp);
  c->add_option("--receipts", a->receipts,
                "append a receipt for each search and fetch to this file, signed by both parties (suf receipt)")
      ->option_text("FILE");
  AddRetry(c, a, "0");
  AddParallel(c, &a->parallel, "1 with --ahead or --one-by-one, otherwise 2");
  AddTextsOfOwner(c, a);
  c->callback([=] {
    a->command = "search";
    *status = RunEmbed(*a);
  });
}

// Adds `embed`.
void AddEmbed(CLI::App* app, EmbedArgs* a, int* status) {
  auto* c = app->add_subcommand("embed", "run the data owner (P1), which embeds texts with a model that it never sees");
  AddParty(c, a);
  AddTraces(c, &a->traces);
  AddModelOfOwner(c, a);
  c->add_flag("--json", a->json, kJsonHelp);
  c->add_flag("--truncate", a->truncate, kTruncateHelp);
  auto* one_by_one = c->add_flag("--one-by-one", a->one_by_one, kOneByOneHelp);
  c->add_option("--out", a->out, "also write the results to this safetensors file");
  c->add_option("--receipts", a->receipts,
                "append a receipt for each text to this file, signed by both parties (suf receipt)")
      ->option_text("FILE");
  // its pauses would show the dealer the audited bundle before it deals the next one
  auto* const audit = AddAudit(c, &a->audit)->excludes(one_by_one);
  auto* const record = c->get_option("--record");
  c->add_option("--resume", a->resume,
                "keep the results in this file, and go on there after a break: texts that are done do not run again. "
                "All results are printed; the file belongs to one plan and one list of texts")
      ->excludes(record)
      ->option_text("FILE");
  AddRetry(c, a, "600 with --resume, otherwise 0")->excludes(record)->excludes(audit);
  AddParallel(c, &a->parallel, "1 with --ahead, --audit, --one-by-one or --record, otherwise 2");
  AddBatch(c, &a->batch);
  AddTextsOfOwner(c, a);
  c->callback([=] { *status = RunEmbed(*a); });
}

// Adds `demo`.
void AddDemo(CLI::App* app, DemoArgs* a, int* status) {
  auto* c = app->add_subcommand(
      "demo", "run all three roles as processes on this machine, and compare with the result in clear");
  c->add_option("--model", a->model, "model directory")->required();
  c->add_option("--plan", a->plan, "plan file (default: compiled from the calibration texts)");
  auto* plan = c->get_option("--plan");
  c->add_option("--calibrate", a->calibrate, "calibration texts, one a line (default: the texts themselves)");
  c->add_option("--index", a->index, "search the texts in this index, and compare the hits")
      ->needs(plan)
      ->option_text("DIR");
  c->add_flag("--json", a->json, kJsonHelp);
  c->add_flag("--truncate", a->truncate, kTruncateHelp);
  c->add_flag("--one-by-one", a->one_by_one, kOneByOneHelp);
  AddParallel(c, &a->parallel, "1 with --one-by-one, otherwise 2");
  AddBatch(c, &a->batch);
  AddStreams(c, &a->streams);
  AddKernels(c, &a->kernels);
  AddBackend(c, &a->backend);
  c->add_option("--variant", a->variant, kAutoHelp)->default_val("auto");
  AddSource(c, &a->source, false);
  AddPrompt(c, &a->source);
  c->callback([=] { *status = RunDemo(*a); });
}

// Adds `log check`.
void AddLog(CLI::App* app, LogCheckArgs* a, int* status) {
  auto* log = app->add_subcommand("log", "check the log of jobs that serve or deal has written");
  log->require_subcommand(1);
  auto* c = log->add_subcommand(
      "check",
      "find lines of a log of jobs that were changed, removed, repeated or moved. Each line holds the SHA-256 of the "
      "line before, also across files that were renamed.\n"
      "Examples:  suf log check jobs.log\n           suf log check jobs.log.2 jobs.log.1 jobs.log --last HASH");
  c->add_option("files", a->files, "the log and its renamed files, the oldest first")->required()->type_name("FILE");
  c->add_option("--last", a->last,
                "a hash that was kept elsewhere, as serve prints it when it ends. Only with it do lines show that were "
                "cut from the end")
      ->type_name("HASH");
  c->callback([=] { *status = RunLogCheck(*a); });
}

}  // namespace

void AddModels(CLI::App* app, ModelCommands* all, int* status) {
  AddModel(app, &all->model, status);
  AddTokenize(app, &all->tokenize, status);
  AddCompile(app, &all->compile, status);
  AddPlanShow(app, &all->show, status);
  AddEstimate(app, &all->estimate, status);
  AddCompileKernels(app, &all->kernels, status);
  AddSimulate(app, &all->simulate, status);
  AddCerts(app, &all->certs, status);
  AddSecrets(app, &all->secrets, status);
  AddDeal(app, &all->deal, status);
  AddServe(app, &all->serve, status);
  AddPull(app, &all->pull, status);
  AddEmbed(app, &all->embed, status);
  AddSearch(app, &all->search, status);
  AddDemo(app, &all->demo, status);
  AddLog(app, &all->log, status);
}

}  // namespace suf::apps
