// Helpers for tests of store only: bundles of 4 tokens put into a store, and their files.
#pragma once
#include <fstream>

#include "suf/base/scratch_test.hpp"
#include "suf/store/witnessed_test.hpp"

namespace suf::store {

namespace fs = std::filesystem;
inline constexpr size_t kBody = kChunkBytes + 1000;

inline BundleHeader HeaderOf(uint64_t serial, const LaneId& lane = kLane) {
  BundleHeader h;
  h.job = JobOf(4);
  h.serial = serial;
  h.lane = lane;
  h.body_bytes = kBody;
  h.rho = RandomHash();
  h.pair = Share(Secret::Random());
  return h;
}

inline Bytes Put(Lane& s, uint64_t serial, bool to_disk) {
  BundleHeader h = HeaderOf(serial, s.id());
  auto in = s.Receive(h, Secret(Hash{5}), EvenBody(kBody), to_disk);
  Bytes body(kBody);
  RandomBytes(body);
  Sink sink(ChunkKey(h), EvenBody(kBody), [&](View c) { Add(in, c); });
  sink.Write(body);
  sink.Finish();
  in.Commit();
  return body;
}

inline Bundle Claim(Lane& s, uint64_t serial) { return s.Claim(serial, EvenBody(kBody)); }
inline Bundle Audit(Lane& s, uint64_t serial) { return s.Audit(serial, EvenBody(kBody)); }

// Claims and reads a bundle; burns it if that fails, as a session does.
inline Bytes Use(Lane& s, uint64_t serial) {
  try {
    return BodyOf(Claim(s, serial));
  } catch (const Error&) {
    s.Burn(serial);
    throw;
  }
}

inline std::vector<uint64_t> Serials(const Lane& s) {
  std::vector<uint64_t> v;
  for (const auto& h : s.Bundles()) v.push_back(h.serial);
  return v;
}

inline std::string FileOf(const std::string& dir, uint64_t serial, const LaneId& lane = kLane) {
  std::string d = std::to_string(serial);
  return LaneFolder(dir, lane) + "/bundles/" + std::string(20 - d.size(), '0') + d + "-0-0-4-0-1.bundle";
}

inline bool Says(const OneLane& s, const std::string& words) {
  for (const auto& n : s.notices)
    if (n.find(words) != std::string::npos) return true;
  return false;
}

inline void Flip(const std::string& path, long at) {  // negative: from the end
  std::fstream f(path, std::ios::in | std::ios::out | std::ios::binary);
  f.seekg(at, at < 0 ? std::ios::end : std::ios::beg);
  char c = char(f.get() ^ 1);
  f.seekp(at, at < 0 ? std::ios::end : std::ios::beg);
  f.put(c);
}

}  // namespace suf::store
