#include "suf/service/internal/libpq.hpp"

#include <dlfcn.h>

#include "suf/base/error.hpp"

namespace suf::service {
namespace {

constexpr const char* kLibrary = "libpq.so.5";

LibPq Load() {
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  const auto find = [&](const char* name) {
    void* const found = library ? dlsym(library, name) : nullptr;
    if (!found)
      Fail(Cause::kResource, "counts in PostgreSQL need the library ", kLibrary,
           ", and this machine lacks it; install it (Debian: libpq5), or count in the store");
    return found;
  };
  LibPq pq;
#define SUF_LIBPQ_LOAD(name) pq.name = reinterpret_cast<decltype(pq.name)>(find(#name));
  SUF_LIBPQ(SUF_LIBPQ_LOAD)
#undef SUF_LIBPQ_LOAD
  return pq;
}

}  // namespace

const LibPq& Pq() {
  static const LibPq loaded = Load();
  return loaded;
}

}  // namespace suf::service
