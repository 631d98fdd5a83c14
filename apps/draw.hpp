// Shows the graph of a plan: as a table for the terminal, or as SVG.
#pragma once
#include <string>
#include <vector>

#include "suf/nn/plan/plan.hpp"

namespace suf::apps {

// Returns a table with a row for each node: number, operator, place, inputs, form, rings, scale. The rings are those of
// the first and the last length class. The first row is the head.
std::vector<std::vector<std::string>> GraphRows(const nn::Plan& plan);

// Draws the nodes in layers from top to bottom, coloured by operator. Rings and scales are those of the last length
// class.
std::string Svg(const nn::Plan& plan);

// Escapes text for SVG.
std::string Escaped(const std::string& text);

}  // namespace suf::apps
