// The digest of a trace as a DAG: pure nodes in any order, PRG words, the dealer's words and messages in theirs. Two
// emissions with one DagDigest deal the same bundles and send the same frames; their Trace::digest may differ.
#pragma once
#include "suf/pfss/trace.hpp"

namespace suf::pfss {

// Of a closed trace. An input counts by who knows it, its shape, ring and tick, not by its name.
Hash DagDigest(const Trace& t);

}  // namespace suf::pfss
