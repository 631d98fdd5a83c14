// The model owner's model in memory, and what the roles read from a plan about it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "suf/model/tokenizer.hpp"
#include "suf/nn/shift.hpp"
#include "suf/nn/weights.hpp"
#include "suf/roles/engine.hpp"

namespace suf::roles {

// A directory with config.json, model.safetensors and vocab.txt or tokenizer.json, read once. Private: the model
// owner alone has one.
class Model {
 public:
  // Throws Cause::kInput, naming the file and what is wrong in it.
  explicit Model(const std::filesystem::path& folder);
  ~Model();
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;

  // The whole numbers that P0 computes with, checked against the plan's hard certificates. Throws
  // Cause::kRefused when the plan was made for another shape, or for weights so much smaller that a certificate does
  // not hold for these. Takes seconds.
  nn::Quantised Quantise(const nn::Plan& plan, const Progress& progress = {}) const;
  // P0's weights beside the model's, which the compiler fitted with a plan whose softmaxes have no maximum.
  // UseShifts: as they come from Compiler::shifts. ReadShifts: of `file`, which WriteShifts made beside that plan;
  // nothing where the plan reads none. Throws Cause::kInput for a file of another plan.
  void UseShifts(const nn::Shifts& shifts);
  void ReadShifts(const std::filesystem::path& file, const nn::Plan& plan);
  // What the float model makes of a text: the yardstick for an integer result. (ResultWidth), Euclidean norm 1
  std::vector<double> Embed(std::span<const int32_t> ids) const;
  const std::filesystem::path& folder() const { return folder_; }
  // Token ids are below it.
  int64_t vocabulary() const;
  // Tokens of the shortest text.
  int min_tokens() const;
  // Returns the one file that a data owner needs beside the plan: vocab.txt, or tokenizer.json if that says more. "":
  // the directory has neither.
  const std::filesystem::path& vocabulary_file() const;
  // Returns the most tokens of a text that the directory's files allow, and the field that says so. 0: any number.
  std::pair<int64_t, std::string> longest() const;

 private:
  friend class Compiler;
  struct State;
  std::filesystem::path folder_;
  std::unique_ptr<State> state_;
};

// Where the shifts of a plan lie unless a person says otherwise: plan.json has plan.shifts.safetensors.
std::filesystem::path ShiftsFile(const std::filesystem::path& plan);
// A file that its owner alone may read; nothing where there is none.
void WriteShifts(const std::filesystem::path& file, const nn::Shifts& shifts, const nn::Plan& plan);

// Values of one embedding. ResultScale: a value v of a result means v / 2^scale.
int64_t ResultWidth(const nn::Plan& plan);
int ResultScale(const nn::Plan& plan);
// Token ids are below it.
int64_t VocabularySize(const nn::Plan& plan);
// The model's public shape in words.
std::string ShapeOf(const nn::Plan& plan);
// Wires of all length classes by kind of certificate: hard ones hold for every text, calibrated ones on
// texts like those of the calibration.
struct Certified {
  int hard = 0, calibrated = 0;
};
Certified CertifiedOf(const nn::Plan& plan);
// Ring width, in bits, of the wires in each length class: rows of cells, the first row is the head.
std::vector<std::vector<std::string>> RingsOf(const nn::Plan& plan);

// What the search for a cheap plan chose in each length class, the next best and how much slower that is:
// rows of cells, the first row is the head; the head alone where nothing was searched.
std::vector<std::vector<std::string>> ChoicesOf(const nn::Plan& plan);

// Of the plan's vocabulary, a vocab.txt or tokenizer.json. Throws Cause::kRefused when the plan was made
// for another one: how many tokens a text has, which the model owner sees, follows from it.
model::Tokenizer LoadTokenizer(const std::string& vocabulary, const nn::Plan& plan);

}  // namespace suf::roles
