// A protocol of one opening and one result, for tests of this module.
#pragma once
#include "suf/pfss/ops.hpp"
#include "suf/pfss/schedule.hpp"

namespace suf::pfss {

// The trace of a protocol in which P1 gives x and a word 3 r is dealt. A test adds to it and reveals a result.
struct Little {
  Trace t;
  SharedWire<kPub> x = t.give<1>(t.input<kP1>("x", {4}, 12, 0), 12, "x");
  Dealt word = t.deal(Lift(x.r) * 3, 20);

  Schedule Close(Sh y) {
    t.reveal<1>(y);
    t.close();
    return Schedule(t);
  }
};

}  // namespace suf::pfss
