#include "suf/model/tokens/normalizers.hpp"

#include "suf/model/tokens/settings.hpp"

namespace suf::model {
namespace {

// The largest ratio of lengths that the parts of a file may have together. Published files reach 54.
constexpr size_t kGrowthLimit = 64;
constexpr int kNormalizerDepth = 3;  // Sequences in each other

class NormalizerSequence : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<NormalizerPtr> parts) : parts_(std::move(parts)) {}
  TextWord Apply(TextWord word) const override {
    for (const NormalizerPtr& part : parts_) word = part->Apply(std::move(word));
    return word;
  }

 private:
  std::vector<NormalizerPtr> parts_;
};

NormalizerPtr ReadNormalizerPart(const Fields& part, int depth, size_t* growth) {
  const std::string type = part.Text("type");
  size_t ratio = 1;
  NormalizerPtr read;
  if (type == "Sequence" && depth < kNormalizerDepth) {
    part.Only({"type", "normalizers"});
    std::vector<NormalizerPtr> parts;
    for (const Fields& one : part.List("normalizers", kSequenceLimit))
      parts.push_back(ReadNormalizerPart(one, depth + 1, growth));
    return std::make_unique<NormalizerSequence>(std::move(parts));
  }
  if (type == "BertNormalizer") read = ReadBert(part);
  if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD") read = ReadUnicodeForm(part);
  if (type == "Lowercase") read = ReadLowercase(part);
  if (type == "StripAccents") read = ReadStripAccents(part);
  if (type == "Strip") read = ReadStrip(part);
  if (type == "Prepend") read = ReadPrepend(part);
  if (type == "Nmt") read = ReadNmt(part);
  if (type == "Replace") read = ReadReplace(part, &ratio);
  if (type == "Precompiled") read = ReadPrecompiled(part, &ratio);
  if (type == "Sequence") part.Refuse("type", "and it is inside ", depth, " others; ", kAnother);
  if (!read) part.Refuse("type", "and this normalizer is not known here; ", kAnother);
  if (ratio > kGrowthLimit / *growth)
    part.Refuse("type", "and it may make a text ", *growth * ratio, " times as long; the limit is ", kGrowthLimit, "; ",
                kAnother);
  *growth *= ratio;
  return read;
}

}  // namespace

std::unique_ptr<const Normalizer> ReadNormalizer(const Fields& file, const char* field) {
  if (file.Null(field)) return nullptr;
  size_t growth = 1;
  return ReadNormalizerPart(file.Object(field, "a normalizer"), 0, &growth);
}

}  // namespace suf::model
