// The three roles as the product runs them (suf/roles), over real TLS and real stores, each in a process of
// its own, with a fault at one frame.
#pragma once
#include "suf/net/credentials.hpp"
#include "suf/roles/internal/parts.hpp"
#include "tests/faults/faulty.hpp"

namespace suf::faults {

// What all cases share; made once, before anybody forks. far: the plan is one for a far link. name: of the
// backend; one that no fork survives is that of the roles that OnDevice names, the others compute with packed.
struct Setting {
  Setting(const std::string& folder, bool far, std::string name);
  // In the process of a role: such a backend.
  void Adopt(Role role);
  const std::string name;
  std::unique_ptr<pfss::Backend> backend;
  std::unique_ptr<roles::ModelEngine> engine;
  nn::Quantised weights;
  std::vector<int32_t> ids;
  std::vector<int64_t> y;  // of ids, by the simulator
  proto::BundlePlan plan;
  std::unique_ptr<Credentials> own[kRoles];
  std::vector<Sent> reference;
};

// Who computes on a device in a case, as a process takes most of a second to open one: all three where
// nothing goes wrong, else the party that is to notice: the peer of the one that dies or stops, or who is sent what is
// wrong.
bool OnDevice(const Fault& fault, Role role);

// One case.
struct Scene {
  Setting& setting;
  Board& board;
  const Pipe& pipe;
  std::string dir;
  Fault fault;
};

// Forks the role; its process id. Dealer and model owner run until they are killed.
int Start(const Scene& scene, Role role);

// StoreOf, SentFile: where a role keeps what it keeps.
inline std::string StoreOf(const Scene& s, Role r) { return s.dir + "/" + Name(r); }
inline std::string SentFile(const Scene& s, Role r) { return s.dir + "/" + Name(r) + ".sent"; }
// Of a SentFile, per dependent frame.
struct Entry {
  uint64_t serial = 0;
  uint16_t kind = 0, counts = 0;  // counts: long enough that it cannot be the same by chance
  Hash hash{};
};
// The frames themselves, of a scene without fault.
inline std::string FramesFile(const Scene& s, Role r) { return s.dir + "/" + Name(r) + ".frames"; }
std::vector<Sent> ReadFrames(const std::string& path);

// Of a ledger, read from its file as it is.
struct Record {
  uint64_t serial = 0;
  uint32_t fate = 0, zero = 0;
  uint8_t detail[24], check[24];
};
std::vector<Record> ReadLedger(const std::string& store);

}  // namespace suf::faults
