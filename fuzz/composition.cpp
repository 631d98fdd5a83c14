// Fuzzes the text of a composition. An accepted text prints as a text that prints the same. Its composition is checked
// with a small function for each name. With these functions printed, the text gives the same values.
#include "suf/gates/compose/composition.hpp"

#include "fuzz/fuzz.hpp"
#include "suf/func/text.hpp"

namespace {
using namespace suf;

// Returns a function of x that is 1 at 0, otherwise 0.
func::Function IsZero(const std::string&, bool, const gates::ValueType& x) {
  return func::ParseFunction(
      Str("suf f domain ", x.bits, " ring 16 outputs 1 degree 0\npiece 0 : 1\nend 1\nchannel signed 16 0 y\n"));
}
}  // namespace

SUF_FUZZ(composition) {
  const gates::CompositionText text = gates::ParseComposition(fuzz::TextOf(input));
  const std::string printed = gates::Print(text);
  std::string again;
  const bool is_read = fuzz::Quietly([&] { again = gates::Print(gates::ParseComposition(printed)); });
  SUF_CHECK(is_read && again == printed);
  const gates::Composition c(text, IsZero);
  const bool is_sound = fuzz::Quietly([&] {
    const gates::Composition d(gates::ParseComposition(gates::Print(c.text())));
    SUF_CHECK(d.values().size() == c.values().size());
    for (size_t i = 0; i < c.values().size(); ++i)
      SUF_CHECK(d.values()[i].name == c.values()[i].name && d.values()[i].type == c.values()[i].type &&
                d.values()[i].ring == c.values()[i].ring);
  });
  SUF_CHECK(is_sound);
}
