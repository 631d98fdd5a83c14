// Runs the three roles as the product does (suf/roles), over real TLS and real stores. Each is a process of its own,
// with a fault at one frame.
#pragma once
#include "suf/net/credentials.hpp"
#include "suf/roles/internal/parts.hpp"
#include "tests/faults/faulty.hpp"

namespace suf::faults {

// The data that all cases share; made once, before any fork.
struct Setting {
  // far: the plan is one for a far link. receipts: P1 requests them. name: the backend. If the backend does not survive
  // a fork, only the roles that OnDevice names use it; the others use packed.
  Setting(const std::string& folder, bool far, bool receipts, std::string name);
  // Makes such a backend; called in the process of a role.
  void Adopt(Role role);
  const bool receipts;
  const std::string name;
  std::unique_ptr<pfss::Backend> backend;
  std::unique_ptr<roles::ModelEngine> engine;
  nn::QuantisedWeights weights;
  std::vector<int32_t> ids;
  std::vector<int64_t> y;  // results for ids, by the simulator
  proto::BundlePlan plan;
  std::unique_ptr<Credentials> own[kRoles];
  std::vector<Sent> reference;
};

// Whether a role uses a device in a case; opening one takes most of a second. All three do if there is no fault.
// Otherwise the party that must notice uses one. It is the peer of a party that dies or stops, or the receiver of a
// wrong frame.
bool OnDevice(const Fault& fault, Role role);

// One case.
struct Scene {
  Setting& setting;
  Board& board;
  const Pipe& pipe;
  std::string dir;
  Fault fault;
};

// Forks the role; returns its process id. Dealer and model owner run until they are killed.
int Start(const Scene& scene, Role role);

// The folder of a role's store.
inline std::string StoreOf(const Scene& s, Role r) { return s.dir + "/" + Name(r); }
// The file of the frames that a role sent.
inline std::string SentFile(const Scene& s, Role r) { return s.dir + "/" + Name(r) + ".sent"; }
// One dependent frame in a SentFile.
struct Entry {
  uint64_t serial = 0;
  uint16_t kind = 0, counts = 0;  // counts: so long that it is not the same by chance
  Hash hash{};
};
// The file of the frames themselves, of a scene without fault.
inline std::string FramesFile(const Scene& s, Role r) { return s.dir + "/" + Name(r) + ".frames"; }
std::vector<Sent> ReadFrames(const std::string& path);

// A record of a ledger, as it is in the file.
struct Record {
  uint64_t serial = 0;
  uint32_t kind = 0, zero = 0;
  uint8_t detail[24], check[24];
};
// Reads the ledgers of a store. A fault in the greeting may have made a second lane, whose ledger has no records.
std::vector<Record> ReadLedger(const std::string& store);

}  // namespace suf::faults
