#include "apps/draw.hpp"

#include <algorithm>
#include <map>
#include <sstream>

#include "suf/base/error.hpp"

namespace suf::apps {

namespace {

constexpr const char* kForms[] = {"open", "map", "product"};

std::string FormOf(const nn::Plan& plan, const nn::GraphNode& n) {
  if (&n == plan.graph.nodes().back().get()) return "result";
  return kForms[int(plan.classes.back().ops[size_t(n.index)]->form)];
}

std::string Inputs(const nn::GraphNode& n) {
  std::string s;
  for (const nn::GraphNode* x : n.in) s += (s.empty() ? "" : " ") + std::to_string(x->index);
  return s;
}

// The layer of a node (one below its lowest input) and its column in it.
struct Place {
  int layer = 0, column = 0;
};
std::vector<Place> PlacesOf(const nn::Graph& g) {
  std::vector<Place> at(g.size());
  std::map<int, int> used;
  for (auto& n : g.nodes()) {
    Place& p = at[size_t(n->index)];
    for (const nn::GraphNode* x : n->in) p.layer = std::max(p.layer, at[size_t(x->index)].layer + 1);
    p.column = used[p.layer]++;
  }
  return at;
}

constexpr int kWidth = 300, kHeight = 44, kGapX = 30, kGapY = 26, kMargin = 20, kSide = 60;

// Returns the colour of an operator: fixed for one name, far apart for different ones.
std::string ColourOf(std::string_view name) {
  unsigned hash = 7;
  for (char c : name) hash = hash * 31 + unsigned(c);
  return Str("hsl(", hash * 47 % 360, ",55%,90%)");
}

}  // namespace

std::string Escaped(const std::string& text) {
  std::string s;
  for (char c : text)
    s += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : c == '"' ? "&quot;" : std::string(1, c);
  return s;
}

std::vector<std::vector<std::string>> GraphRows(const nn::Plan& plan) {
  const nn::Class &first = plan.classes.front(), &last = plan.classes.back();
  std::vector<std::vector<std::string>> rows{{"node", "operator", "where", "reads", "read as",
                                              Str("ring, n <= ", first.max_n), Str("ring, n <= ", last.max_n),
                                              "scale"}};
  for (auto& n : plan.graph.nodes()) {
    const nn::Operator &a = *first.ops[size_t(n->index)], &b = *last.ops[size_t(n->index)];
    rows.push_back({Str(n->index), std::string(n->op->Name()), nn::Graph::Where(*n), Inputs(*n), FormOf(plan, *n),
                    Str(a.ring), Str(b.ring), Str(b.scale)});
  }
  return rows;
}

std::string Svg(const nn::Plan& plan) {
  const nn::Class& c = plan.classes.back();
  const std::vector<Place> at = PlacesOf(plan.graph);
  int columns = 0, layers = 0;
  for (const Place& p : at) {
    columns = std::max(columns, p.column + 1);
    layers = std::max(layers, p.layer + 1);
  }
  auto left = [](const Place& p) { return kMargin + p.column * (kWidth + kGapX); };
  auto top = [](const Place& p) { return kMargin + p.layer * (kHeight + kGapY); };
  const int width = 2 * kMargin + columns * (kWidth + kGapX) + kSide, height = 2 * kMargin + layers * (kHeight + kGapY);
  std::ostringstream s;
  s << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width << "\" height=\"" << height << "\" viewBox=\"0 0 "
    << width << " " << height
    << "\" font-family=\"sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  for (auto& n : plan.graph.nodes())
    for (const nn::GraphNode* x : n->in) {
      const Place &from = at[size_t(x->index)], &to = at[size_t(n->index)];
      const int x0 = left(from) + kWidth / 2, y0 = top(from) + kHeight, x1 = left(to) + kWidth / 2, y1 = top(to);
      const bool near = to.layer == from.layer + 1;  // other edges bend round the nodes between, on the right
      const int bend = near ? 0 : kWidth / 2 + kGapX + std::min(kSide, 6 * (to.layer - from.layer));
      s << "<path d=\"M" << x0 << " " << y0 << " C" << x0 + bend << " " << y0 + kGapY << " " << x1 + bend << " "
        << y1 - kGapY << " " << x1 << " " << y1 << "\" fill=\"none\" stroke=\"#888\""
        << (near ? "" : " stroke-dasharray=\"4 3\"") << "/>\n";
    }
  for (auto& n : plan.graph.nodes()) {
    const Place& p = at[size_t(n->index)];
    const nn::Operator& op = *c.ops[size_t(n->index)];
    s << "<rect x=\"" << left(p) << "\" y=\"" << top(p) << "\" width=\"" << kWidth << "\" height=\"" << kHeight
      << "\" rx=\"6\" fill=\"" << ColourOf(n->op->Name()) << "\" stroke=\"#666\"/>\n<text x=\"" << left(p) + 10
      << "\" y=\"" << top(p) + 18 << "\" font-size=\"13\">" << n->index << "  " << Escaped(std::string(n->op->Name()))
      << "</text>\n<text x=\"" << left(p) + kWidth - 10 << "\" y=\"" << top(p) + 18
      << "\" font-size=\"12\" text-anchor=\"end\">" << Escaped(nn::Graph::Where(*n)) << "</text>\n<text x=\""
      << left(p) + 10 << "\" y=\"" << top(p) + 36 << "\" font-size=\"11\" fill=\"#555\">ring " << op.ring
      << " bits, scale 2^-" << op.scale << ", " << (op.one_row ? "1" : "n") << " x " << op.dim << ", "
      << FormOf(plan, *n) << "</text>\n";
  }
  s << "</svg>\n";
  return s.str();
}

}  // namespace suf::apps
