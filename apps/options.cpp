#include "apps/options.hpp"

#include <CLI/CLI.hpp>

#include "suf/base/error.hpp"
#include "suf/net/tls.hpp"
#include "suf/nn/plan/plan.hpp"
#include "suf/proto/session.hpp"
#include "suf/roles/engine.hpp"
#include "suf/roles/lanes.hpp"
#include "suf/store/bundle.hpp"

namespace suf::apps {

void AddWindow(CLI::App* c, int* megabytes, const char* what) {
  c->add_option("--key-window", *megabytes,
                Str("megabytes of keys that ", what,
                    ", at least those that suf estimate prints, 1 to 1048576 (default: ", store::kKeyWindow >> 20, ")"))
      ->check(CLI::Range(1, 1 << 20))
      ->default_val(int(store::kKeyWindow >> 20))
      ->option_text("MB");
}

void AddStreams(CLI::App* c, int* streams) {
  c->add_option("--streams", *streams,
                Str("TLS connections of a session, 1 to ", net::kMostStreams,
                    "; the lower number of both ends counts. Several help if one core encrypts slower than the network "
                    "sends (default: 1)"))
      ->check(CLI::Range(1, net::kMostStreams))
      ->option_text("N");
}

void AddTraces(CLI::App* c, int* megabytes) {
  c->add_option(
       "--traces", *megabytes,
       Str("megabytes of traces kept for later texts, 1 to 1048576; a length of MiniLM takes 10 to 18 (default: ",
           roles::kTraceBytes >> 20, ")"))
      ->check(CLI::Range(1, 1 << 20))
      ->default_val(int(roles::kTraceBytes >> 20))
      ->option_text("MB");
}

void AddMemory(CLI::App* c, int64_t* megabytes, const char* what) {
  c->add_option("--memory", *megabytes,
                Str("megabytes for the keys, frames and values of ", what,
                    " that run side by side; suf estimate prints the need of one (default: three quarters of the "
                    "machine's)"))
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 30))
      ->option_text("MB");
}

void AddTurns(CLI::App* c, TurnArgs* turns, const char* what) {
  c->add_option("--at-once", turns->at_once,
                Str(what, " that run side by side, 1 to ", kMostAtOnce,
                    "; others wait for their turn (default: the number of cores)"))
      ->check(CLI::Range(1, kMostAtOnce))
      ->option_text("N");
  AddMemory(c, &turns->memory, what);
}

void AddParallel(CLI::App* c, int* parallel, const std::string& absent) {
  c->add_option("--parallel", *parallel,
                Str("sessions with the model owner, 1 to ", roles::Lanes::kMost,
                    "; while one text waits for the network, others go on (default: ", absent, ")"))
      ->check(CLI::Range(1, roles::Lanes::kMost))
      ->option_text("N");
}

void AddBatch(CLI::App* c, int* batch) {
  c->add_option("--batch", *batch,
                Str("texts of one length that run as one job, 1 to ", nn::kMostTexts,
                    ": the flights of one text, with keys and bytes of all. The model owner and the dealer see the "
                    "number (default: 1)"))
      ->check(CLI::Range(1, nn::kMostTexts))
      ->option_text("K");
}

namespace {

// Adds the options of both parties' keys.
void AddKeys(CLI::App* c, KeysArgs* keys) {
  c->add_option(
       "--ahead", keys->ahead,
       "fetch and store the keys of N texts of one length, 0 to 65536; the least N of dealer and parties counts. "
       "They lie on disk in clear (default: 0, keys in memory only)")
      ->check(CLI::Range(0, 1 << 16))
      ->option_text("N");
  c->add_option("--witness", keys->witness,
                "report keys to the dealer before their use, to detect a store or machine that was rolled back. Choose "
                "disk for keys from the store, always for keys in memory as well (default: disk)")
      ->check(CLI::IsMember({"disk", "always"}))
      ->option_text("disk|always");
  AddWindow(c, &keys->window, "arrive before their text needs them");
}

}  // namespace

void AddPins(CLI::App* c, std::vector<std::string>* pins) {
  c->add_option("--pin", *pins, "accept only this key of a role, as suf certs --show prints it; may be repeated")
      ->allow_extra_args(false);
}

void AddAuditLog(CLI::App* c, std::string* file) {
  c->add_option(
       "--audit-log", *file,
       "append a line for each job to this file, with the hash of the line before. suf log check reads it. SIGHUP "
       "begins a new file if it was renamed")
      ->option_text("FILE");
}

void AddMetrics(CLI::App* c, std::string* file) {
  c->add_option("--metrics", *file,
                "write metrics in the text format of Prometheus to this file, every 5 s; node_exporter reads it")
      ->option_text("FILE");
}

void AddShifts(CLI::App* c, std::string* file) {
  c->add_option("--shifts", *file,
                "weights that suf compile fitted for the plan; they stay with the model owner (default: beside the "
                "plan, PLAN.shifts.safetensors)");
}

void AddVariant(CLI::App* c, std::string* variant) {
  c->add_option("--variant", *variant, "a variant of the plan (default: its first; suf plan show lists them)");
}

void AddAddress(CLI::App* c, const char* name, std::string* address, const char* help, AddressUse use) {
  const auto wrong = [use](const std::string& text) -> std::string {
    try {
      if (use == AddressUse::kConnectList)
        (void)net::Address::ParseList(text);
      else
        (void)(use == AddressUse::kListen ? net::Address::ParseListening(text) : net::Address::Parse(text));
      return {};
    } catch (const Error& e) {
      return e.what();
    }
  };
  c->add_option(name, *address, help)
      ->required()
      ->check(CLI::Validator(wrong, ""))
      ->type_name(use == AddressUse::kConnectList ? "HOST:PORT,.." : "HOST:PORT");
}

void AddKernels(CLI::App* c, std::string* kernels) {
  c->add_option("--kernels", *kernels, "kernels: portable, avx2 or avx512 (default: the fastest that runs here)");
}

void AddBackend(CLI::App* c, BackendArgs* backend, const char* help) {
  c->add_option("--backend", backend->name,
                help ? help
                     : "the backend: auto, cuda, packed, clear or rows (default: auto, which is cuda if it can use a "
                       "device, else packed)");
  c->add_option("--device", backend->device,
                "the NVIDIA device for --backend cuda or auto, as the driver numbers them (default: 0)")
      ->check(CLI::Range(0, 1 << 16))
      ->option_text("N");
}

void AddParty(CLI::App* c, PartyArgs* a) {
  c->add_option("--plan", a->plan, "plan file")->required();
  c->add_option("--certs", a->certs, kCertsHelp)->required();
  AddAddress(c, "--dealer", &a->dealer,
             "address of the dealer. Of several, with commas between, each text draws one; pin the key of each",
             AddressUse::kConnectList);
  c->add_option("--store", a->store, "directory of bundles, ledger and long-lived secrets")->required();
  c->add_option(
      "--record", a->record,
      "write the frames between both parties to this new file; P0 writes those of its second session to FILE.2, "
      "and so on");
  c->add_option("--timeout", a->timeout, kTimeoutHelp)->default_val(60);
  c->add_option("--times", a->times, kTimesHelp);
  AddStreams(c, &a->streams);
  AddKeys(c, &a->keys);
  AddKernels(c, &a->kernels);
  AddBackend(c, &a->backend);
  AddPins(c, &a->pins);
}

CLI::Option* AddAudit(CLI::App* c, int* count) {
  return c->add_option("--audit", *count, "let P0 check this number of extra bundles, 0 to 65536 (default: 0)")
      ->check(CLI::Range(0, 1 << 16))
      ->option_text("N");
}

void AddAnswer(CLI::App* c, AnswerArgs* a) {
  AddParty(c, a);
  AddTurns(c, &a->turns, "jobs");
  c->add_option("--idle", a->idle, "seconds for which a session without a job stays, 1 to 86400")
      ->check(CLI::Range(1.0, 86400.0))
      ->default_val(600)
      ->option_text("S");
  AddAddress(c, "--listen", &a->listen, "address to listen on; port 0 takes a free one", AddressUse::kListen);
  c->add_flag("--once", a->once, "end when the first sessions have ended");
  c->add_option("--audit-memory", a->audit_memory,
                Str("megabytes of keys that the audits of all sessions may hold, 0 (no audits) to 1048576; suf "
                    "estimate --audit prints the "
                    "need of a text (default: ",
                    proto::kAuditMemory >> 20, ")"))
      ->check(CLI::Range(0, 1 << 20))
      ->default_val(int(proto::kAuditMemory >> 20))
      ->option_text("MB");
}

}  // namespace suf::apps
