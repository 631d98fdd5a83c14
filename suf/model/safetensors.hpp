// safetensors files (github.com/huggingface/safetensors, "Format"): u64 length, a JSON header, then the tensors' bytes.
// The reader believes nothing: every claim of the header is checked against the file before a tensor is read.
#pragma once
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace suf::model {

using Shape = std::vector<int64_t>;

// One open file. Every member throws Cause::kInput with a sentence that names the file.
class Safetensors {
 public:
  // Dtype as the header spells it; bytes [begin, end) of the file's data.
  struct Tensor {
    std::string dtype;
    Shape shape;
    uint64_t begin = 0, end = 0;
  };

  // Opens and checks: the length, the JSON, no name twice, known dtypes, shape times size equal to each range, and
  // ranges that cover the data exactly, with no hole and no overlap.
  explicit Safetensors(std::filesystem::path file);

  const std::map<std::string, Tensor>& tensors() const { return tensors_; }
  bool Has(const std::string& name) const { return tensors_.contains(name); }
  // An F32, F16 or BF16 tensor, widened exactly, row-major; refused when missing, not of that shape or not
  // finite.
  std::vector<float> Floats(const std::string& name, const Shape& shape);
  // The same for I64.
  std::vector<int64_t> Integers(const std::string& name, const Shape& shape);

 private:
  const Tensor& Find(const std::string& name, const Shape& shape) const;
  void Read(const Tensor& tensor, void* out);

  std::filesystem::path file_;
  std::ifstream in_;
  uint64_t data_ = 0;  // where the tensors' bytes start
  std::map<std::string, Tensor> tensors_;
};

// What WriteSafetensors stores; F32 or I64, row-major, shape's product values.
struct NewTensor {
  std::string name;
  Shape shape;
  std::variant<std::span<const float>, std::span<const int64_t>> values;
};

// Who may read a new file: mode 0600, or 0666 less the umask.
enum class Readers { kOwner, kAll };

// A file that Safetensors and Hugging Face read back; replaces an older one whole or not at all.
void WriteSafetensors(const std::filesystem::path& file, std::span<const NewTensor> tensors,
                      Readers readers = Readers::kAll);

// FloatFromHalf, FloatFromBrain: the float of the same value as an IEEE half or a bfloat16; NaN payloads kept.
float FloatFromHalf(uint16_t bits);
float FloatFromBrain(uint16_t bits);

// "(384, 1536)".
std::string Spelled(const Shape& shape);

}  // namespace suf::model
