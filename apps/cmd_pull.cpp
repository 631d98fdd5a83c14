// The command `suf pull`.
#include <algorithm>
#include <iostream>
#include <optional>

#include "apps/commands.hpp"
#include "apps/log.hpp"
#include "apps/role.hpp"
#include "apps/show.hpp"
#include "suf/model/vocabulary.hpp"
#include "suf/roles/engine.hpp"
#include "suf/roles/public_table.hpp"
#include "suf/roles/pull.hpp"

namespace suf::apps {

namespace {

// Adds the option that helps to errors about a plan, not to refusals by the model owner.
roles::PulledFiles PullInto(const std::string& folder, net::Channel& p0, const std::optional<Hash>& expect) {
  try {
    return roles::Pull(p0, folder, expect);
  } catch (const net::RefusalError&) {
    throw;
  } catch (const Error& e) {
    if (e.cause() != Cause::kRefused) throw;
    throw Error(e.cause(), Str(e.what(), " (--expect HASH accepts a plan with this hash)"));
  }
}

}  // namespace

int RunPull(const PullArgs& a) {
  std::optional<Hash> expect;
  if (!a.expect.empty()) {
    const Bytes bytes = FromHex(a.expect, sizeof(Hash), "--expect");
    std::copy(bytes.begin(), bytes.end(), expect.emplace().begin());
  }
  const net::Credentials own = StartWithoutBackend("pull", Role::kData, a.certs, a.pins);
  const auto p0 = net::Dial(own, net::Address::Parse(a.connect), Role::kModel, Timeout(a.timeout));
  const roles::PulledFiles files = PullInto(a.out, *p0, expect);
  std::cout << "plan      " << Hex(files.hash) << "  " << files.plan.string() << "\n"
            << "tokenizer " << Hex(files.tokenizer_hash) << "  "
            << (files.tokenizer.empty() ? std::string("not at the model owner") : files.tokenizer.string()) << "\n";
  for (const auto& [hash, file] : files.indexes)
    std::cout << "index     " << Hex(hash) << "  " << file.string() << "\n";
  log::Info("pull: " + VocabularyOf(files.tokenizer_hash));
  if (files.tokenizer.empty())
    log::Warn("pull: the model owner does not have the tokenizer of its plan; ask it for that file");
  if (roles::LoadPlan(files.plan.string()).public_table())
    log::Warn(Str("pull: this plan has a public table of embeddings, which is not pulled; ask the model owner for ",
                  roles::TableFile(files.plan).filename().string()));
  return 0;
}

}  // namespace suf::apps
