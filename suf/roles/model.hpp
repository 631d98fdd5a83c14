// The model owner's model in memory, and the facts about a model that a plan has.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "suf/model/tokenizer.hpp"
#include "suf/nn/plan/softmax_shift.hpp"
#include "suf/nn/read/weights.hpp"
#include "suf/roles/engine.hpp"
#include "suf/roles/text_rules.hpp"

namespace suf::roles {

// A model that was read from a directory with config.json, model.safetensors, and vocab.txt or tokenizer.json. It is
// private: only the model owner has one.
class Model {
 public:
  // Reads the directory once. Throws Cause::kInput, with the file and its fault.
  explicit Model(const std::filesystem::path& folder);
  ~Model();
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;

  // Returns the integers that P0 computes with, checked against the plan's hard certificates. Throws Cause::kRefused if
  // the plan is for another shape. Throws the same if it was made for so much smaller weights that a certificate does
  // not hold for these. Takes seconds.
  nn::QuantisedWeights Quantise(const nn::Plan& plan, const Progress& progress = {}) const;
  // Takes the shifts of Compiler::shifts. They are weights of P0 beside the model's, which the compiler fitted with a
  // plan whose softmaxes have no maximum.
  void UseShifts(const nn::Shifts& shifts);
  // Reads the shifts from `file`, which WriteShifts made beside that plan. Does nothing if the plan has no shifts.
  // Throws Cause::kInput if the file is missing or is for another plan.
  void ReadShifts(const std::filesystem::path& file, const nn::Plan& plan);
  // Returns the float model's result for a text, the yardstick for an integer result. It has ResultWidth values.
  std::vector<double> Embed(std::span<const int32_t> ids) const;
  const std::filesystem::path& folder() const { return folder_; }
  // Returns the texts that the model takes.
  TextRules rules() const;
  // Returns the meaning of its result, its prompts and its labels.
  const nn::About& about() const;
  // Returns the number of tokens of the shortest text.
  int min_tokens() const;
  // Returns the default limit of a plan's texts: 256 tokens, or fewer if the model computes no longer ones.
  int most_tokens() const;
  // Returns the one file that a data owner needs beside the plan: vocab.txt, or tokenizer.json if that says more. Empty
  // if the directory has neither.
  const std::filesystem::path& vocabulary_file() const;
  // Whether the directory lacks that file, and its text is built from separate files (model::TokenizerJson).
  bool vocabulary_built() const;
  // Returns that file's text. Throws Cause::kInput if the directory has no such file.
  std::string vocabulary_text() const;
  // Returns the tokenizer of that text. Throws likewise.
  model::Tokenizer tokenizer() const;
  // Returns the field with about().longest, such as "tokenizer_config.json: model_max_length".
  const std::string& longest_said_by() const;

 private:
  friend class Compiler;
  struct State;
  std::filesystem::path folder_;
  std::unique_ptr<State> state_;
};

// Returns the default file for the shifts of a plan: plan.shifts.safetensors for plan.json.
std::filesystem::path ShiftsFile(const std::filesystem::path& plan);
// Returns the file for a tokenizer that is built: plan.tokenizer.json for plan.json.
std::filesystem::path TokenizerFile(const std::filesystem::path& plan);
// Writes a file that only its owner may read. Writes nothing if there are no shifts.
void WriteShifts(const std::filesystem::path& file, const nn::Shifts& shifts, const nn::Plan& plan);

// Returns the number of values of an embedding.
int64_t ResultWidth(const nn::Plan& plan);
// Returns the scale of results: a value v means v / 2^scale.
int ResultScale(const nn::Plan& plan);
// Returns the size of the plan's vocabulary; ids of tokens of type 0 are below it.
int64_t VocabularySize(const nn::Plan& plan);
// Describes the model's public shape in words.
std::string ShapeOf(const nn::Plan& plan);
// The numbers of wires, over all length classes, by kind of certificate. Hard ones hold for every text, calibrated ones
// for texts like those of the calibration.
struct CertificateCounts {
  int hard = 0, calibrated = 0;
};
// Counts the wires of a plan.
CertificateCounts CertifiedOf(const nn::Plan& plan);
// Returns a table of the ring width, in bits, of each wire in each length class. The first row is the header.
std::vector<std::vector<std::string>> RingsOf(const nn::Plan& plan);

// Returns a table of the search's choices in each length class, with the runner-up and how much slower that is. The
// first row is the header. It is the only one if nothing was searched.
std::vector<std::vector<std::string>> ChoicesOf(const nn::Plan& plan);

// Loads the plan's vocabulary, a vocab.txt or tokenizer.json. Throws Cause::kRefused if the plan was made for another
// one. The vocabulary determines how many tokens a text has, and the model owner sees that number.
model::Tokenizer LoadTokenizer(const std::string& vocabulary, const nn::Plan& plan);

}  // namespace suf::roles
