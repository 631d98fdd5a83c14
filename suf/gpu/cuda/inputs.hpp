// The inputs of runs on a device.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "suf/gpu/cuda/groups/assemble.hpp"
#include "suf/ring/cuda/products.hpp"

namespace suf::gpu::cuda {

struct Instance;

// Inputs that stay on the device between runs, by name, until they have another version. Right operands of products
// stay as limbs, by name and ring. Thread-safe.
class DeviceWeightCache {
 public:
  using SharedMemory = std::shared_ptr<const exec::cuda::DeviceMemory>;
  // Returns the words of an input of `count` elements, uploading them if the version is new. `own` is the caller's
  // reference to the words before. If it is the only other one, the upload reuses that memory. `uploaded` receives the
  // host's words, which must stay until the stream has read them.
  SharedMemory Get(const std::string& name, const pfss::Io::Data& data, size_t count, const SharedMemory& own,
                   exec::cuda::StreamHandle s, std::shared_ptr<const void>* uploaded);
  // The limbs of a right operand.
  struct OperandLimbs {
    ring::cuda::Limbs form;
    SharedMemory planes;
  };
  // Returns the limbs of an input that is the right operand (depth, columns) of a product modulo 2^bits.
  OperandLimbs Limbs(const std::string& name, const pfss::Io::Data& data, int depth, int columns, int bits,
                     exec::cuda::StreamHandle s);
  int64_t bytes() const;

 private:
  mutable std::mutex m_;
  std::map<std::string, std::pair<uint64_t, SharedMemory>> words_;
  std::map<std::pair<std::string, int>, std::pair<uint64_t, OperandLimbs>> limbs_;
};

// Returns the form of an input that is assumed until its host states it.
InputForm FirstForm(const pfss::Trace& t, int i);

// Knows which memory of the cache the graphs of an instance read. It holds that memory until a later run replaces it.
class ResidentInputs {
 public:
  using SharedMemory = DeviceWeightCache::SharedMemory;
  using OperandLimbs = DeviceWeightCache::OperandLimbs;
  // Takes the inputs of grouping::ReadAsWords.
  explicit ResidentInputs(std::set<int> as_words) : as_words_(std::move(as_words)) {}
  bool IsReadAsWords(int input) const { return as_words_.count(input); }
  // Returns the words of an input, null before its first run.
  SharedMemory& Words(int input) { return words_[input]; }
  // Returns the limbs of a product's right operand.
  const OperandLimbs& Weight(int product) const { return weights_.at(product); }
  // Returns whether these are the limbs that a product reads.
  bool HasWeight(int product, const OperandLimbs& weight) const;
  void SetWeight(int product, const OperandLimbs& weight) { weights_[product] = weight; }

 private:
  std::set<int> as_words_;
  std::map<int, OperandLimbs> weights_;  // by product
  std::map<int, SharedMemory> words_;    // by input
};

// Feeds a run with inputs. It knows the host's data of each input. It brings an instance's copies up to date: the forms
// in its codes, the words, and the limbs of weights.
class InputFeed {
 public:
  InputFeed(const pfss::Schedule& s, Role role, Instance& instance, DeviceWeightCache& weights);
  // Records the forms of all inputs that are there before the inference, so that codes and kernels are made once.
  void TakeForms(pfss::Io& io);
  // Takes the inputs that a batch's instructions name, and the limbs of its weights.
  void Take(size_t b, pfss::Io& io);

 private:
  using Instruction = grouping::Instruction;
  const pfss::Node& node(int i) const { return s_.trace().node(i); }
  bool IsInput(const Instruction& ins) const;
  bool RecordForm(int i, const pfss::Io::Data& data);
  void TakeWeight(size_t b, int product);
  void TakeWords(int input);

  const pfss::Schedule& s_;
  const Role role_;
  Instance& in_;
  DeviceWeightCache& weights_;
  std::map<int, pfss::Io::Data> data_;                      // by node
  std::vector<std::shared_ptr<const void>> uploaded_ = {};  // words of this run
};

}  // namespace suf::gpu::cuda
