// A digest of a trace that ignores the order of pure nodes. PRG words, key sections and messages keep their order. Two
// traces with the same DagDigest deal the same bundles and send the same frames; their Trace::digest may differ.
#pragma once
#include "suf/pfss/trace.hpp"

namespace suf::pfss {

// Returns the digest of a closed trace. An input enters with its knowers, shape, ring and tick, but not its name.
Hash DagDigest(const Trace& t);

}  // namespace suf::pfss
