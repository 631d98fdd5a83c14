// The graph of a plan for people: a table in the terminal, a drawing as SVG.
#pragma once
#include <string>
#include <vector>

#include "suf/nn/plan.hpp"

namespace suf::apps {

// Cells of a row a node, the first row is the head: its number, operator, place, inputs, form and rings of
// the first and the last length class.
std::vector<std::vector<std::string>> GraphRows(const nn::Plan& plan);

// Nodes in layers from top to bottom, coloured by operator; numbers of the last length class.
std::string Svg(const nn::Plan& plan);

// Text as SVG takes it.
std::string Escaped(const std::string& text);

}  // namespace suf::apps
