#include "apps/options.hpp"

#include <CLI/CLI.hpp>

#include "suf/base/error.hpp"
#include "suf/net/tls.hpp"
#include "suf/proto/session.hpp"
#include "suf/store/bundle.hpp"

namespace suf::apps {

void AddWindow(CLI::App* c, int* megabytes, const char* what) {
  c->add_option("--key-window", *megabytes, Str(what, " (at least what the plan needs, which suf estimate prints)"))
      ->check(CLI::Range(1, 1 << 20))
      ->default_val(int(store::kKeyWindow >> 20))
      ->option_text("MB");
}

void AddStreams(CLI::App* c, int* streams) {
  c->add_option("--streams", *streams,
                "TLS connections of a session, which share its long frames; the least of what both ends say; worth it "
                "where one core cannot encrypt as fast as the network takes (default: 1)")
      ->check(CLI::Range(1, net::kMostStreams))
      ->option_text("N");
}

namespace {

// Of both parties.
void AddKeys(CLI::App* c, KeysArgs* keys) {
  c->add_option("--ahead", keys->ahead,
                "keep the keys of up to so many texts of one length in the store, where the dealer and the other party "
                "do so, too; they lie on disk in clear (default: none, keys are in memory only)")
      ->check(CLI::Range(0, 1 << 16))
      ->option_text("N");
  c->add_option("--witness", keys->witness,
                "tell the dealer which keys are about to be used, so that a store or machine that was rolled back is "
                "noticed: disk, those from the store; or always, those in memory, too (default: disk)")
      ->check(CLI::IsMember({"disk", "always"}))
      ->option_text("disk|always");
  AddWindow(c, &keys->window, "megabytes of keys that come before the text that they are for asks for them");
}

}  // namespace

void AddPins(CLI::App* c, std::vector<std::string>* pins) {
  c->add_option("--pin", *pins, "take no other key of that role (as suf certs --show prints it); may be repeated")
      ->allow_extra_args(false);
}

void AddShifts(CLI::App* c, std::string* file) {
  c->add_option("--shifts", *file,
                "weights that suf compile fitted with the plan, which stay with the model (default: beside the plan, "
                "PLAN.shifts.safetensors)");
}

void AddVariant(CLI::App* c, std::string* variant) {
  c->add_option("--variant", *variant, "a variant of the plan (default: its first; suf plan show lists them)");
}

void AddAddress(CLI::App* c, const char* name, std::string* address, const char* help, bool listens) {
  const auto wrong = [listens](const std::string& text) -> std::string {
    try {
      (void)(listens ? net::Address::ParseListening(text) : net::Address::Parse(text));
      return {};
    } catch (const Error& e) {
      return e.what();
    }
  };
  c->add_option(name, *address, help)->required()->check(CLI::Validator(wrong, ""));
}

void AddKernels(CLI::App* c, std::string* kernels) {
  c->add_option("--kernels", *kernels, "kernels: portable, avx2 or avx512 (default: the fastest that runs here)");
}

void AddBackend(CLI::App* c, BackendArgs* backend, const char* help) {
  c->add_option("--backend", backend->name,
                help
                    ? help
                    : "what computes: auto, cuda, packed, clear or rows (default: auto, which is cuda where there is a "
                      "device that it can use, else packed)");
  c->add_option("--device", backend->device,
                "the NVIDIA device of --backend cuda or auto, as the driver numbers them (default: 0)")
      ->check(CLI::Range(0, 1 << 16))
      ->option_text("N");
}

void AddParty(CLI::App* c, PartyArgs* a, const char* other, const char* own) {
  c->add_option("--plan", a->plan, "plan file")->required();
  c->add_option("--certs", a->certs, Str("the ", own, "'s folder of suf certs, or its parent"))->required();
  AddAddress(c, "--dealer", &a->dealer, "where the dealer listens");
  c->add_option("--store", a->store, "directory of bundles, ledger and long-lived secrets")->required();
  c->add_option("--record", a->record, Str("write the frames with the ", other, " to this new file"));
  c->add_option("--timeout", a->timeout, "seconds to wait for a silent peer")->default_val(60);
  c->add_option("--times", a->times,
                "write to this file where the time went, a JSON line an inference; measures each operator on a device, "
                "which takes longer");
  AddStreams(c, &a->streams);
  AddKeys(c, &a->keys);
  AddKernels(c, &a->kernels);
  AddBackend(c, &a->backend);
  AddPins(c, &a->pins);
}

CLI::Option* AddAudit(CLI::App* c, int* count) {
  return c->add_option("--audit", *count, "let P0 open and check so many bundles more than are needed")
      ->check(CLI::Range(0, 1 << 16))
      ->option_text("N");
}

void AddAnswer(CLI::App* c, AnswerArgs* a) {
  AddParty(c, a, kDataOwner, kModelOwner);
  AddAddress(c, "--listen", &a->listen, "where to listen; port 0 takes a free one", true);
  c->add_flag("--once", a->once, "end after one session");
  c->add_option("--audit-memory", a->audit_memory,
                "megabytes of whole keys that a data owner's --audit may make us hold (0: no audits; suf estimate "
                "--audit prints what a text takes)")
      ->check(CLI::Range(0, 1 << 20))
      ->default_val(int(proto::kAuditMemory >> 20))
      ->option_text("MB");
}

}  // namespace suf::apps
