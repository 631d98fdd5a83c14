// What the processes of all three roles do first.
#pragma once
#include <string>
#include <vector>

#include "apps/commands.hpp"
#include "suf/net/tls.hpp"
#include "suf/proto/session.hpp"
#include "suf/roles/engine.hpp"

namespace suf::apps {

// Harden: no core dump, no debugger, and no swap where locking memory cannot make an allocation fail: memory holds
// keys.
void Harden();

// UseVariant: the kernels of --variant for this process, or the fastest where it is empty; said in the log. Before
// anything that runs one. Throws Cause::kInput for an unknown name, Cause::kResource where the processor lacks it.
void UseVariant(const char* command, const std::string& name);

// Own: the credentials in `certs` itself or its sub-folder of the role, with the pins of the command line. Throws
// Cause::kRefused when they are another role's, Cause::kInput when a pin is no key of another role.
net::Credentials Own(const char* command, const std::string& certs, Role role, const std::vector<std::string>& pins);

// Timeout: of --timeout, in seconds; throws Cause::kInput when it is below 0.1 or over a day.
net::Millis Timeout(double seconds);

// KeysOf: what --ahead and --witness say. Throws Cause::kResource where the store's disk cannot keep keys.
proto::Keys KeysOf(const KeysArgs& a, const store::Store& store);

// CallDealer: how the dealer at HOST:PORT is reached. Throws Cause::kInput when that is no address.
proto::DialDealer CallDealer(const net::Credentials& own, const std::string& where, net::Millis timeout);

// Host: the plan of a process on the backend that runs here.
class Host {
 public:
  // Throws what roles::LoadPlan throws. After UseVariant.
  explicit Host(const std::string& plan);
  roles::Engine& engine() { return engine_; }

 private:
  std::unique_ptr<pfss::Backend> backend_;
  roles::Engine engine_;
};

// KeepPages: from here on frames, chunks and bundles come and go by the megabyte: their pages are kept instead of
// fetched afresh each time. What loading left behind is given back first.
void KeepPages();

}  // namespace suf::apps
