#include "suf/base/foreign.hpp"

#include <cstring>
#include <new>
#include <system_error>
#include <typeinfo>

#include "suf/base/error.hpp"

namespace suf {

std::string Message(const std::exception& e) {
  if (dynamic_cast<const Error*>(&e) || dynamic_cast<const Bug*>(&e)) return e.what();
  if (dynamic_cast<const std::bad_alloc*>(&e)) return "out of memory; use a shorter text or a larger machine";
  if (auto* s = dynamic_cast<const std::system_error*>(&e);
      s && (s->code().category() == std::system_category() || s->code().category() == std::generic_category()))
    return Str("the operating system refused a request (", std::strerror(s->code().value()),
               "); free memory, descriptors or threads, then start again");
  return Str("internal error: an exception of type ", typeid(e).name(), " was not handled; please report it");
}

}  // namespace suf
