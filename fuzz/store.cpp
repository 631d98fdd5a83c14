// Fuzzes the files of a store and of the dealer's state. The first byte chooses the file. It also says whether
// checksums are corrected first, as an attacker with access to the disk can do.
#include "fuzz/fuzz.hpp"
#include "suf/store/dealer_state.hpp"
#include "suf/store/home.hpp"

namespace {
using namespace suf;
using fuzz::Folder, fuzz::Pull, fuzz::PullBytes, fuzz::ReadFrom, fuzz::WriteTo;

constexpr store::LaneId kLane{19};
std::string LaneOf(const std::string& dir) { return dir + "/lanes/" + Hex(kLane); }

// {u32 length, preamble, its hash} as ChunkFile writes it, then the rest of the input.
Bytes Signed(View input) {
  View preamble = PullBytes(input, Pull<uint16_t>(input));
  Writer w;
  w.Put(uint32_t(preamble.size()));
  w.Raw(preamble);
  w.Raw(HashOf({preamble}));
  w.Raw(input);
  return w.Take();
}

// Checks that a store that opens does so again, and that no spent serial is forgotten.
void CheckReopens(const std::string& dir) {
  uint64_t floor = 0;
  {
    store::Home home(dir);
    const auto s = home.Open({}, kLane);
    floor = s->ledger().floor();
    for (const auto& h : s->Bundles()) SUF_CHECK(h.serial > floor);
    for (auto [serial, fate] : s->ledger().LastRecords())
      SUF_CHECK(fate == store::RecordKind::kBurnt && serial <= floor);
  }
  store::Home home(dir);
  const auto s = home.Open({}, kLane);
  SUF_CHECK(s->ledger().floor() >= floor && !s->ledger().keys_lost());
}

void LedgerFile(const std::string& dir, View input, int mode) {
  { (void)store::Home(dir).Open({}, kLane); }
  Bytes file = mode == 0 ? Bytes{} : ReadFrom(LaneOf(dir) + "/ledger");
  for (uint64_t i = 0; !input.empty(); ++i) {
    View body = PullBytes(input, mode == 2 ? 40 : input.size());
    file.insert(file.end(), body.begin(), body.end());
    Hash check = HashOf({View(reinterpret_cast<uint8_t*>(&i), 8), body});
    if (mode == 2) file.insert(file.end(), check.begin(), check.begin() + 24);
  }
  WriteTo(LaneOf(dir) + "/ledger", file);
  CheckReopens(dir);
}

void SerialFile(const std::string& dir, View input, bool sign) {
  SUF_CHECK(!mkdir(dir.c_str(), 0700));
  Bytes file(input.begin(), input.end());
  Hash check = HashOf({View(file).first(std::min<size_t>(8, file.size()))});
  if (sign) {
    file.resize(8);
    file.insert(file.end(), check.begin(), check.end());
  }
  WriteTo(dir + "/serial", file);
  store::DealerState state(dir);
  uint64_t first = state.Reserve(2), second = state.Reserve(1);
  SUF_CHECK(second == first + 2 && second > first);
}

// Puts the input into a bundle file that the store wrote.
void BundleFile(const std::string& dir, View file) {
  {
    store::Home begun(dir);
    const auto lane = begun.Open({}, kLane);
    store::BundleHeader h;
    h.serial = 7;
    h.lane = kLane;
    h.body_bytes = 8;
    auto in = lane->Receive(h, Secret(Hash{1}), store::EvenBody(8), true);
    Writer chunk;
    chunk.Raw(net::ChunkTags(store::ChunkKey(h)).Next(Bytes(8)));
    chunk.Raw(Bytes(8));
    std::copy(chunk.bytes().begin(), chunk.bytes().end(), in.NextBuffer().begin());
    in.MarkFilled();
    in.Commit();
  }
  WriteTo(LaneOf(dir) + "/bundles/00000000000000000007-0-0-0-0-1.bundle", file);
  store::Home home(dir);
  const auto s = home.Open({}, kLane);
  for (const auto& h : s->Bundles()) {
    SUF_CHECK(h.serial == 7);
    fuzz::Quietly([&] {
      s->BeginWitness(7, {});
      s->EndWitness(7, 0);
      (void)s->Claim(7, store::EvenBody(8)).keys->Section(0);
    });
    SUF_CHECK(s->Bundles().empty() && s->ledger().floor() == 7);
  }
}

void SetupFile(const std::string& dir, View file) {
  store::Home s(dir);
  WriteTo(dir + "/" + Hex(Hash{1}) + ".w_hat", file);
  auto setup = s.LoadSetup(Hash{2}, Hash{1}, 8);
  SUF_CHECK(!setup || setup->size() == 8);
}
}  // namespace

SUF_FUZZ(store) {
  Folder folder;
  std::string dir = folder / "s";
  int mode = Pull<uint8_t>(input) % 10;
  if (mode < 3) return LedgerFile(dir, input, mode);
  if (mode < 5) return SerialFile(dir, input, mode == 4);
  if (mode < 7) return BundleFile(dir, mode == 6 ? Signed(input) : Bytes(input.begin(), input.end()));
  if (mode < 9) return SetupFile(dir, mode == 8 ? Signed(input) : Bytes(input.begin(), input.end()));
  store::Home s(dir);
  WriteTo(dir + "/model.pin", input);
  WriteTo(dir + "/secret", input);
  (void)s.Pin({Role::kModel, Hash{1}});
  (void)s.LongLivedSecret("secret");
}
