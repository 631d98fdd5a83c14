// Settings of a part in a tokenizer.json, read strictly. Private to the module.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "suf/model/internal/config.hpp"
#include "suf/model/tokens/text.hpp"

namespace suf::model {

// Returns a flag of a part, or `absent` if the field is missing or null. Without `absent` the field must exist.
inline bool ReadFlag(const Fields& part, const char* field, std::optional<bool> absent = {}) {
  const json v = part.Value(field);
  if (v.is_null() && absent) return *absent;
  if (!v.is_boolean()) part.Refuse(field, "it must be true or false; ", kAnother);
  return v.get<bool>();
}

// Returns a text of a part, which has `least` to `most` code points.
inline std::u32string ReadPoints(const Fields& part, const char* field, size_t least, size_t most) {
  const json v = part.Value(field);
  std::u32string points;
  if (v.is_string()) points = Decode(v.get_ref<const std::string&>(), Str(field, " of ", part.file()));
  if (!v.is_string() || points.size() < least || points.size() > most)
    part.Refuse(field, "it must be a text of ", least, " to ", most, " characters; ", kAnother);
  return points;
}

// The most parts of a Sequence. A file with too many would make each text slow.
inline constexpr size_t kSequenceLimit = 32;

}  // namespace suf::model
