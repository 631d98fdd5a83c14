// safetensors files (github.com/huggingface/safetensors, "Format"): u64 length, a JSON header, then the tensors' bytes.
// The reader checks every claim of the header against the file before it reads a tensor.
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

// One file that is being read. Every member throws Cause::kInput with an error message that names the file.
class Safetensors {
 public:
  // The dtype as the header spells it, the shape, and bytes [begin, end) of the file's data.
  struct TensorEntry {
    std::string dtype;
    Shape shape;
    uint64_t begin = 0, end = 0;
  };

  // Reads and checks the header: the length, the JSON, no name twice, and known dtypes. Shape times size must equal
  // each range. The ranges must cover the data exactly, with no hole and no overlap.
  explicit Safetensors(std::filesystem::path file);

  const std::map<std::string, TensorEntry>& tensors() const { return tensors_; }
  bool Has(const std::string& name) const { return tensors_.contains(name); }
  // The bytes before the data.
  uint64_t header_bytes() const { return data_; }
  // Returns an F32, F16 or BF16 tensor, widened exactly, row-major. Refuses one that is missing, not of that shape or
  // not finite.
  std::vector<float> Floats(const std::string& name, const Shape& shape);
  // Returns an I64 tensor likewise.
  std::vector<int64_t> Integers(const std::string& name, const Shape& shape);

 private:
  const TensorEntry& Find(const std::string& name, const Shape& shape) const;
  void Read(const TensorEntry& tensor, void* out);

  std::filesystem::path file_;
  std::ifstream in_;
  uint64_t data_ = 0;  // offset of the tensors' bytes
  std::map<std::string, TensorEntry> tensors_;
};

// A tensor for WriteSafetensors: F32 or I64, row-major, with as many values as the shape says.
struct NewTensor {
  std::string name;
  Shape shape;
  std::variant<std::span<const float>, std::span<const int64_t>> values;
};

// The users that may read a new file: mode 0600, or 0666 less the umask.
enum class Readers { kOwner, kAll };

// Writes a file that Safetensors and Hugging Face read back. It replaces an older one whole or not at all.
void WriteSafetensors(const std::filesystem::path& file, std::span<const NewTensor> tensors,
                      Readers readers = Readers::kAll);

// Returns the float of the same value as an IEEE half. NaN payloads are kept.
float FloatFromHalf(uint16_t bits);
// Returns the float of the same value as a bfloat16. NaN payloads are kept.
float FloatFromBrain(uint16_t bits);

// Returns the text of a shape, "(384, 1536)".
std::string Spelled(const Shape& shape);

}  // namespace suf::model
