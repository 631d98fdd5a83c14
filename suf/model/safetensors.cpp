#include "suf/model/safetensors.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "suf/base/bytes.hpp"
#include "suf/base/json.hpp"
#include "suf/model/internal/files.hpp"
#include "suf/model/tokenizer.hpp"

namespace suf::model {
namespace {

using nlohmann::json;

constexpr uint64_t kHeaderLimit = 100'000'000;  // bytes, as in the reference reader
constexpr size_t kDimensionLimit = 8;
constexpr const char* kAgain = "fetch or export it again";

const std::map<std::string, uint64_t>& DtypeBytes() {
  static const std::map<std::string, uint64_t> bytes = {
      {"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"I64", 8}, {"I32", 4},
      {"I16", 2}, {"I8", 1},  {"U64", 8}, {"U32", 4},  {"U16", 2},     {"U8", 1},      {"BOOL", 1}};
  return bytes;
}

template <class... T>
[[noreturn]] void Bad(const std::filesystem::path& file, const T&... parts) {
  Fail(Cause::kInput, file.string(), " is not a sound safetensors file: ", parts..., "; ", kAgain);
}

uint64_t Natural(const std::filesystem::path& file, const std::string& name, const json& v) {
  if (!v.is_number_unsigned()) Bad(file, "tensor ", name, " has a shape or range that is not of whole numbers >= 0");
  return v.get<uint64_t>();
}

// Returns one tensor of the header, with its fields checked against each other and against `size` bytes of data.
Safetensors::TensorEntry Entry(const std::filesystem::path& file, const std::string& name, const json& v,
                               uint64_t size) {
  if (!v.is_object() || v.size() != 3 || !v.contains("dtype") || !v.contains("shape") || !v.contains("data_offsets")) {
    Bad(file, "tensor ", name, " must have dtype, shape and data_offsets and nothing else");
  }
  const json &dtype = v["dtype"], &shape = v["shape"], &range = v["data_offsets"];
  if (!dtype.is_string() || !DtypeBytes().contains(dtype.get<std::string>())) {
    Bad(file, "tensor ", name, " is of the unknown type ",
        Quoted(dtype.is_string() ? dtype.get<std::string>() : dtype.dump(-1, ' ', true)));
  }
  if (!shape.is_array() || shape.size() > kDimensionLimit) {
    Bad(file, "tensor ", name, " must have a list of at most ", kDimensionLimit, " dimensions");
  }
  Safetensors::TensorEntry t{dtype.get<std::string>(), {}, 0, 0};
  uint64_t bytes = DtypeBytes().at(t.dtype);
  for (const json& dimension : shape) {
    const uint64_t n = Natural(file, name, dimension);
    if (n > uint64_t(INT64_MAX) || __builtin_mul_overflow(bytes, n, &bytes)) {
      Bad(file, "tensor ", name, " has more than 2^64 bytes");
    }
    t.shape.push_back(int64_t(n));
  }
  if (!range.is_array() || range.size() != 2) Bad(file, "tensor ", name, " must have two data_offsets");
  t.begin = Natural(file, name, range[0]);
  t.end = Natural(file, name, range[1]);
  if (t.begin > t.end || t.end > size) {
    Bad(file, "tensor ", name, " lies at bytes ", t.begin, " to ", t.end, " of ", size, " bytes of data");
  }
  if (t.end - t.begin != bytes) {
    Bad(file, "tensor ", name, " of type ", t.dtype, " and shape ", Spelled(t.shape), " takes ", bytes,
        " bytes, its range has ", t.end - t.begin);
  }
  return t;
}

void CheckCover(const std::filesystem::path& file, const std::map<std::string, Safetensors::TensorEntry>& tensors,
                uint64_t size) {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const auto& [name, t] : tensors) ranges.emplace_back(t.begin, t.end);
  std::sort(ranges.begin(), ranges.end());
  uint64_t at = 0;
  for (auto [begin, end] : ranges) {
    if (begin < at) Bad(file, "two tensors overlap at byte ", begin, " of the data");
    if (begin > at) Bad(file, "no tensor owns bytes ", at, " to ", begin, " of the data");
    at = end;
  }
  if (at != size) Bad(file, "no tensor owns bytes ", at, " to ", size, " of the data");
}

}  // namespace

std::string Spelled(const Shape& shape) {
  std::string s = "(";
  for (size_t i = 0; i < shape.size(); ++i) s += (i ? ", " : "") + std::to_string(shape[i]);
  return s + ")";
}

Safetensors::Safetensors(std::filesystem::path file) : file_(std::move(file)) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file_, error)) {
    Fail(Cause::kInput, "there is no file ", file_.string(), "; name a model directory that has it");
  }
  const uint64_t size = std::filesystem::file_size(file_, error);
  in_.open(file_, std::ios::binary);
  if (error || !in_) Fail(Cause::kInput, file_.string(), " cannot be read; check its permissions");
  std::string start(std::min<uint64_t>(size, kStandInBytes), '\0');
  in_.read(start.data(), std::streamsize(start.size()));
  RefuseStandIn(start, file_);
  in_.seekg(0);
  uint64_t length = 0;
  if (size < sizeof length) Bad(file_, "it is ", size, " bytes long, the least is ", sizeof length);
  in_.read(reinterpret_cast<char*>(&length), sizeof length);
  if (length > kHeaderLimit) Bad(file_, "its header claims ", length, " bytes, the limit is ", kHeaderLimit);
  if (length > size - sizeof length) {
    Bad(file_, "its header claims ", length, " bytes, the file has ", size - sizeof length, " after the length");
  }
  std::string text(length, '\0');
  if (!in_.read(text.data(), std::streamsize(length))) Bad(file_, "its header cannot be read");
  if (text.empty() || text[0] != '{') Bad(file_, "its header does not begin with {");
  data_ = sizeof length + length;
  const json header = ReadJson(text, {file_.string() + " is not a sound safetensors file: its header", kAgain});
  for (const auto& [name, v] : header.items()) {
    if (name != "__metadata__") {
      tensors_[name] = Entry(file_, Quoted(name), v, size - data_);
    } else if (!v.is_object() || !std::all_of(v.begin(), v.end(), [](const json& s) { return s.is_string(); })) {
      Bad(file_, "its __metadata__ is not a map of strings");
    }
  }
  CheckCover(file_, tensors_, size - data_);
}

const Safetensors::TensorEntry& Safetensors::Find(const std::string& name, const Shape& shape) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    Fail(Cause::kInput, file_.string(), " has no tensor ", Quoted(name), "; export the model with all its weights");
  }
  if (found->second.shape != shape) {
    Fail(Cause::kInput, file_.string(), ": tensor ", Quoted(name), " has shape ", Spelled(found->second.shape),
         ", not ", Spelled(shape), "; use the config.json that belongs to these weights");
  }
  return found->second;
}

void Safetensors::Read(const TensorEntry& tensor, void* out) {
  in_.clear();
  in_.seekg(std::streamoff(data_ + tensor.begin));
  if (!in_.read(static_cast<char*>(out), std::streamsize(tensor.end - tensor.begin))) {
    Bad(file_, "it became shorter while it was read");
  }
}

std::vector<float> Safetensors::Floats(const std::string& name, const Shape& shape) {
  const TensorEntry& t = Find(name, shape);
  const uint64_t bytes = t.end - t.begin;
  std::vector<float> out;
  if (t.dtype == "F32") {
    out.resize(bytes / sizeof(float));
    Read(t, out.data());
  } else if (t.dtype == "F16" || t.dtype == "BF16") {
    std::vector<uint16_t> half(bytes / sizeof(uint16_t));
    Read(t, half.data());
    out.resize(half.size());
    std::transform(half.begin(), half.end(), out.begin(), t.dtype == "F16" ? FloatFromHalf : FloatFromBrain);
  } else {
    Fail(Cause::kInput, file_.string(), ": tensor ", Quoted(name), " is of type ", t.dtype,
         ", weights must be F32, F16 or BF16; convert it to F32");
  }
  if (!std::all_of(out.begin(), out.end(), [](float v) { return std::isfinite(v); }))
    Fail(Cause::kInput, file_.string(), ": tensor ", Quoted(name),
         " holds a value that is not finite; write the file again");
  return out;
}

std::vector<int64_t> Safetensors::Integers(const std::string& name, const Shape& shape) {
  const TensorEntry& t = Find(name, shape);
  if (t.dtype != "I64") {
    Fail(Cause::kInput, file_.string(), ": tensor ", Quoted(name), " is of type ", t.dtype,
         ", integers must be I64; convert it to I64");
  }
  std::vector<int64_t> out((t.end - t.begin) / sizeof(int64_t));
  Read(t, out.data());
  return out;
}

void WriteSafetensors(const std::filesystem::path& file, std::span<const NewTensor> tensors, Readers readers) {
  json header = {{"__metadata__", {{"format", "pt"}}}};  // transformers refuses a file that does not say so
  std::vector<std::span<const std::byte>> blobs;
  uint64_t at = 0;
  for (const NewTensor& t : tensors) {
    const auto bytes = std::visit([](auto v) { return std::as_bytes(v); }, t.values);
    const bool floats = t.values.index() == 0;
    uint64_t want = floats ? sizeof(float) : sizeof(int64_t);
    for (int64_t n : t.shape) want *= uint64_t(n);
    SUF_CHECK(want == bytes.size());
    SUF_CHECK(!header.contains(t.name));
    header[t.name] = {{"dtype", floats ? "F32" : "I64"}, {"shape", t.shape}, {"data_offsets", {at, at + want}}};
    blobs.push_back(bytes);
    at += want;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the tensors start aligned
  const uint64_t length = text.size();
  std::string all(reinterpret_cast<const char*>(&length), sizeof length);
  all += text;
  all.reserve(all.size() + at);
  for (auto b : blobs) all.append(reinterpret_cast<const char*>(b.data()), b.size());
  WriteWhole(file, {all}, readers == Readers::kOwner ? 0600 : 0666);
}

float FloatFromBrain(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

float FloatFromHalf(uint16_t bits) {
  const uint32_t sign = uint32_t(bits >> 15) << 31, exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float small = float(fraction) * 0x1p-24f;  // zero and subnormals
  return sign ? -small : small;
}

}  // namespace suf::model
