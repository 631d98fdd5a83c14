// For this room's tests: a protocol of one opening and one result.
#pragma once
#include "suf/pfss/ops.hpp"
#include "suf/pfss/schedule.hpp"

namespace suf::pfss {

// P1's x, scaled by a dealt word, opened, and revealed.
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
