// The opened wires of a run in one process, in clear: for people who watch a protocol, and for tests. Masks come from
// the dealer's trace, all other words from the frames. So it works with every backend, devices included.
#pragma once
#include <array>
#include <span>
#include <string>
#include <vector>

#include "suf/run/inputs.hpp"

namespace suf::run {

// A wire that was opened or given under a mask. Elements are in row-major order. A string of more than 64 bits takes
// words() words, the low one first; every other element takes one.
struct OpenedWire {
  std::string name, scope;  // the label of its messages, and the scope that opens it
  pfss::Ring ring;
  pfss::Shape shape;
  // clear = masked - mask; masked is the sum of `sent`, by party. A party that sends nothing has no words there. If one
  // party alone learns the masked value, no message has it, and clear and masked are empty.
  std::vector<uint64_t> clear, masked;
  std::array<std::vector<uint64_t>, 2> sent;

  int words() const { return ring.bits > 64 ? (ring.bits + 63) / 64 : 1; }
  int64_t count() const { return pfss::Size(shape); }
};

// Returns the wires in order of their opening, without those that no result needs. `frames` are PairRun::frame of the
// run. The dealer's backend, the secrets and `inputs` are the dealer's of that run; the secrets need both keys. The
// dealer deals the masks once more, and no party runs.
std::vector<OpenedWire> OpenedWires(const pfss::Schedule& schedule, pfss::Backend& dealer,
                                    const pfss::BundleSecrets& secrets, Inputs& inputs, std::span<const Bytes> frames);

}  // namespace suf::run
