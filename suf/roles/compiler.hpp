// The compiler makes a plan from a model and from texts that resemble the later ones. A plan contains everything public
// and no weight.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "suf/roles/model.hpp"

namespace suf::roles {

// A number that the compiler chooses by default, such as a scale or the size of tables.
using Setting = nn::Options::Setting;

// The calibration texts that the last Compile left out, by reason, and the number of those that it cut.
struct Unusable {
  struct Reason {
    std::string error;            // the error message of the first such text
    size_t count = 0, first = 0;  // how many texts; index of the first one, from 0
  };
  std::vector<Reason> reasons;
  size_t cut = 0;
};

// The compiler of plans for one model. Set and Variants change its defaults.
class Compiler {
 public:
  // `max_tokens` is the length of the longest text that a plan covers, by default the model's most_tokens(). The
  // model must outlive the compiler.
  explicit Compiler(const Model& model, std::optional<int> max_tokens = {});
  // Returns all settings with their defaults.
  static const std::vector<Setting>& Settings() { return nn::Options::Settings(); }
  // Changes a setting. Throws Cause::kInput if the name is unknown or the value out of range.
  void Set(const std::string& name, int value);
  // Sets the networks and machines that the plan is optimised for, with one variant for each (nn::Variant). The default
  // is lan. Compile refuses faulty ones.
  void Variants(std::vector<nn::Variant> variants) { variants_ = std::move(variants); }
  // Makes the table of embeddings public: data owners get it and look up rows themselves. P1 then sends no one-hot
  // rows. Compile refuses variants with tables of different scales.
  void PublishTable() { publish_ = true; }
  // Compiles a plan from texts in UTF-8; longer ones are cut. They determine the windows, and each one is simulated at
  // the end. `calibration` is the plan's note of their origin (hex). By default it is the SHA-256 of the texts, one per
  // line. `used`, if set, receives how many texts were usable. Throws Cause::kInput if none is. Throws Cause::kRefused
  // if a wire needs more bits than its ring may have, with the wire, bits, limit and setting. Takes minutes for a real
  // model.
  nn::Plan Compile(const std::vector<std::string>& texts, std::string calibration = {}, const Progress& progress = {},
                   size_t* used = nullptr);
  // Compiles a plan from token ids, as the model reads them.
  nn::Plan CompileIds(const std::vector<std::vector<int32_t>>& ids, std::string calibration,
                      const Progress& progress = {});
  // Returns the texts that the last Compile left out or cut.
  const Unusable& unusable() const { return unusable_; }
  // Returns the shifts that the last Compile fitted beside the plan. They are weights of P0. For each softmax they say
  // whether it has shifts, and why.
  const nn::Shifts& shifts() const { return shifts_; }
  // Returns the table of the last plan, if it is public.
  const std::optional<PublicTable>& table() const { return table_; }

 private:
  const Model& model_;
  int max_tokens_;
  nn::Options options_;
  std::vector<nn::Variant> variants_{{"lan", "lan"}};
  bool publish_ = false;
  nn::Shifts shifts_;
  std::optional<PublicTable> table_;
  Unusable unusable_;
};

}  // namespace suf::roles
