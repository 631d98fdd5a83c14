// Cuts a text into grapheme clusters (Unicode Standard Annex 29) for Precompiled. Graphemes of up to 5 bytes are exact.
// Pairs of regional indicators are longer, so they are not joined. Private to the module.
#pragma once
#include "suf/model/tokens/parts.hpp"

namespace suf::model {

// Returns the end of the grapheme that begins at `at`.
size_t GraphemeEnd(PointsView text, size_t at);

}  // namespace suf::model
