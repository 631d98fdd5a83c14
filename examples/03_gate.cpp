// 03: your own gate. A gate is a struct: its fields are public parameters, kName is its name. Spec defines it on whole
// numbers, and Build emits it. Nothing else in the library needs to know it. Dealer, parties, schedule, costs and lint
// all read the output of Build.
//
// This one looks up any table of at most 2^10 entries at a private place: popcounts, S-boxes, prices.
#include <cstdio>

#include "examples/two_parties.hpp"
#include "suf/gates/gate.hpp"

using namespace suf;

namespace {

// y = table[x] in Z_{2^ring} for a wire x in Z_{2^k}, 2^k entries. Entries are in [0, 2^(bits - 2)). One flight to
// shares.
struct Lookup {
  static constexpr std::string_view kName = "lookup";
  gates::Ints table;
  int bits = 0;  // the ring in which an entry is opened
  int ring = 0;  // the ring of the result

  // Plain arithmetic without a call of Build, so tests compare two independent definitions.
  gates::Ints Spec(const gates::Ints& x) const {
    gates::Ints y;
    for (int64_t v : x) y.push_back(table[size_t(v) % table.size()]);
    return y;
  }

  // One emitting call per statement, so that every compiler numbers the nodes alike.
  gates::OwedWord Build(gates::Trace& t, const gates::Wire<gates::kPub>& x) const {
    // Both parties know x + r. The dealer sends shares of the one-hot vector of r; rotated by x + r it selects
    // table[x]. The result is +-table[x] in shares. The sign is the dealer's secret (the half-tree trick, which saves a
    // conversion).
    const pfss::Const c = t.constant(std::vector<uint64_t>(table.begin(), table.end()), {1, int64_t(table.size())});
    const compiler::Reading read = compiler::ReadTables(t, x, c);
    const pfss::Sh entry = At(read.values, 0);

    // To remove the sign, open +-table[x] under a mask, in a ring just wide enough,
    const gates::Wire<gates::kPub> opened = t.open(Low(entry, bits), "entry");

    // and multiply by the sign, known only to the dealer. opened = hat - mask is linear in words of the dealer. Words
    // sums public coefficients times dealer's words, and each word is dealt as narrow as possible.
    const compiler::Factor sign{.u = read.sign};
    compiler::WordSum y(t, ring);
    y.Add(compiler::Centred(opened), sign);
    return y.Done();  // shares, and a word that the dealer still owes: the caller decides how it is paid
  }

  // Per element, both bundles together: the one-hot vector of r and the sign. Then sign times top bit and sign times
  // value of the opening's mask.
  int64_t KeyBits() const { return int64_t(table.size()) + ring + (ring - bits) + ring; }
};
static_assert(gates::Gate<Lookup>);

}  // namespace

int main() {
  constexpr int kRing = 6;
  Lookup popcount{.bits = 5, .ring = 16};
  for (int v = 0; v < 1 << kRing; ++v) popcount.table.push_back(__builtin_popcount(unsigned(v)));

  // The test of a gate: every possible input, several times, so that masks differ. Then the cost by the closed form.
  gates::Ints x;
  for (int i = 0; i < 20 << kRing; ++i) x.push_back(i % (1 << kRing));
  examples::TwoParties two;
  const auto wire = two.Give(x, kRing);
  const std::vector<int64_t> y = two.Run(popcount.Build(two.t, wire));
  const int64_t want = int64_t(x.size()) * popcount.KeyBits();
  std::printf("%zu lookups in %d flights, %ld bits of key (closed form %ld)\n", x.size(), two.schedule->flights(),
              long(two.KeyBits()), long(want));
  const bool right = y == popcount.Spec(x) && two.KeyBits() == want;
  std::printf("%s\n", right ? "as it should be" : "WRONG");
  return right ? 0 : 1;
}
