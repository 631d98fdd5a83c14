// Random rows of an index, for benches: they lean to one direction, as real embeddings do.
#pragma once
#include <cstdint>
#include <vector>

namespace suf::bench {

// A stream of 64-bit words (splitmix64).
struct RandomWords {
  uint64_t state;
  uint64_t Next() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
};

// Returns a vector of nearly normal numbers of variance 1.
inline std::vector<double> RandomVector(uint64_t seed, int64_t columns) {
  RandomWords words{seed * 0xd1342543de82ef95};
  std::vector<double> v(static_cast<size_t>(columns));
  for (double& x : v) {
    const uint64_t w = words.Next();  // the sum of four uniform numbers
    x = double((w & 0xffff) + (w >> 16 & 0xffff) + (w >> 32 & 0xffff) + (w >> 48)) / 37837 - 3.464;
  }
  return v;
}

// Returns such a vector plus `by` times the direction to which all of them lean.
inline std::vector<double> LeaningVector(uint64_t seed, double by, int64_t columns) {
  const std::vector<double> mean = RandomVector(~uint64_t{0}, columns);
  std::vector<double> v = RandomVector(seed, columns);
  for (size_t j = 0; j < v.size(); ++j) v[j] += by * mean[j];
  return v;
}

}  // namespace suf::bench
