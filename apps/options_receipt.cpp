// The options of `suf receipt`.
#include <CLI/CLI.hpp>

#include "apps/options.hpp"

namespace suf::apps {

void AddReceipts(CLI::App* app, ReceiptCommands* all, int* status) {
  auto* group = app->add_subcommand("receipt", "check or show the receipts that suf embed --receipts wrote");
  group->require_subcommand(1);
  constexpr const char* kFileHelp = "file of receipts";
  auto* check = group->add_subcommand(
      "check", "verify every line with nothing but the CA: both signatures, both certificates, the order of serials");
  ReceiptCheckArgs* c = &all->check;
  check->add_option("file", c->file, kFileHelp)->required()->type_name("FILE");
  check->add_option("--ca", c->ca, "the CA's certificate, ca.pem of either role (default: ca.pem)")->type_name("FILE");
  check->callback([=] { *status = RunReceiptCheck(*c); });
  auto* show = group->add_subcommand("show", "print a line in words, without a check");
  ReceiptShowArgs* s = &all->show;
  show->add_option("file", s->file, kFileHelp)->required()->type_name("FILE");
  show->add_option("--line", s->line, "number of the line, from 1 (default: 1)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  show->add_option("--to", s->to,
                   "also write signed texts, signatures and certificates to this folder, as openssl reads them")
      ->type_name("DIR");
  show->callback([=] { *status = RunReceiptShow(*s); });
}

}  // namespace suf::apps
