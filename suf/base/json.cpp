#include "suf/base/json.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace suf {

namespace {

// Longer whole numbers are replaced before parsing: the parser refuses those above the largest double, which has 309
// digits.
constexpr size_t kLongNumber = 300;

bool InNumber(char c) { return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'; }

// Returns the number that begins at `start`.
std::string_view NumberAt(std::string_view json, size_t start) {
  size_t end = start;
  while (end < json.size() && InNumber(json[end])) ++end;
  return json.substr(start, end - start);
}

bool IsWhole(std::string_view number) { return number.find_first_of("+.eE") == number.npos; }

// Replaces whole numbers that are too long for the parser by 0 and spaces, so that places stay the same.
std::string WithoutLongNumbers(std::string_view json) {
  std::string out(json);
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] == '"') {
      while (++i < out.size() && out[i] != '"') i += out[i] == '\\';
    } else if (out[i] == '-' || (out[i] >= '0' && out[i] <= '9')) {
      const std::string_view number = NumberAt(json, i);
      const size_t first = number[0] == '-';
      const bool valid = number.size() > first && (number[first] != '0' || number.size() == first + 1) &&
                         number.find('-', first) == number.npos;
      if (number.size() > kLongNumber && IsWhole(number) && valid) {
        std::fill_n(out.begin() + std::ptrdiff_t(i), number.size(), ' ');
        out[i] = '0';
      }
      i += number.size() - 1;
    }
  }
  return out;
}

// An iterator over a text that reports how much of it the parser has read.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, const char** read) : at_(at), read_(read) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    *read_ = ++at_;
    return *this;
  }
  bool operator==(const Cursor& o) const { return at_ == o.at_; }
  bool operator!=(const Cursor& o) const { return at_ != o.at_; }

 private:
  const char* at_;
  const char** read_;
};

// Adds a member, whose name is new, to an object and returns its value.
nlohmann::json& Member(nlohmann::json::object_t& object, std::string name, nlohmann::json value) {
  return object.emplace(std::move(name), std::move(value)).first->second;
}
nlohmann::ordered_json& Member(nlohmann::ordered_json::object_t& object, std::string name,
                               nlohmann::ordered_json value) {
  // emplace of the ordered map would compare the name with every other one
  auto& members = static_cast<nlohmann::ordered_json::object_t::Container&>(object);
  return members.emplace_back(std::move(name), std::move(value)).second;
}

// Builds a value from the parser's events, and refuses the texts that ReadJson refuses.
template <class Json>
class Builder {
 public:
  Builder(std::string_view json, const JsonText& text) : json_(json), text_(text) {}

  // `parsed` is the text without its long whole numbers.
  Json Read(std::string_view parsed) {
    begin_ = read_ = parsed.data();
    (void)Json::sax_parse(Cursor(begin_, &read_), Cursor(begin_ + parsed.size(), &read_), this);
    return std::move(root_);
  }

  bool null() { return Put(nullptr); }
  bool boolean(bool x) { return Put(x); }
  bool number_integer(typename Json::number_integer_t x) { return PutWhole(x); }
  bool number_unsigned(typename Json::number_unsigned_t x) { return PutWhole(x); }
  bool number_float(typename Json::number_float_t x, const std::string& token) {
    if (IsWhole(token)) Note();
    return Put(x);
  }
  bool string(std::string& x) { return Put(std::move(x)); }
  bool binary(typename Json::binary_t&) { return false; }  // not in texts

  bool start_object(size_t) { return Open(Json::object()); }
  bool start_array(size_t) { return Open(Json::array()); }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }
  bool key(std::string& name) {
    if (!names_.back().insert(name).second)
      Refuse("has the name ", Quoted(name), " twice in one object, at ", Place(Offset()));
    name_ = std::move(name);
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception& e) {
    constexpr int kOverflow = 406;  // one of nlohmann's ids
    if (e.id == kOverflow) Refuse("has a number above 1.8e308, at ", Place(position));
    Refuse("is not JSON text", position > json_.size() ? ": it ends too early" : " at " + Place(position));
    return false;
  }

 private:
  template <class... T>
  [[noreturn]] void Refuse(const T&... parts) const {
    Fail(text_.cause, text_.what, " ", parts..., "; ", text_.remedy);
  }

  size_t Offset() const { return size_t(read_ - begin_); }

  // Returns the place of the last of `read` bytes.
  std::string Place(size_t read) const {
    const std::string_view before = json_.substr(0, read ? read - 1 : 0);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const std::string_view on = before.substr(before.rfind('\n') + 1);
    const auto column = std::count_if(on.begin(), on.end(), [](char c) { return (uint8_t(c) & 0xc0) != 0x80; }) + 1;
    return json_.find('\n') == json_.npos ? Str("column ", column) : Str("line ", line, ", column ", column);
  }

  // Notes the whole number that was just read. The parser has read one more character, unless the text ends there.
  void Note() {
    if (!text_.wholes || open_.size() != 1 || !open_[0]->is_object()) return;
    size_t start = Offset();
    while (start > 0 && !InNumber(json_[start - 1])) --start;
    while (start > 0 && InNumber(json_[start - 1])) --start;
    (*text_.wholes)[name_] = NumberAt(json_, start);
  }

  Json& Add(Json value) {
    if (open_.empty()) return root_ = std::move(value);
    Json& parent = *open_.back();
    if (parent.is_object())
      return Member(parent.template get_ref<typename Json::object_t&>(), std::move(name_), std::move(value));
    return parent.template get_ref<typename Json::array_t&>().emplace_back(std::move(value));
  }
  bool Put(Json value) {
    Add(std::move(value));
    return true;
  }
  bool PutWhole(Json value) {
    Note();
    return Put(std::move(value));
  }

  bool Open(Json value) {
    if (open_.size() == size_t(kJsonDepth)) Refuse("nests deeper than ", kJsonDepth, " levels, at ", Place(Offset()));
    open_.push_back(&Add(std::move(value)));
    names_.emplace_back();
    return true;
  }
  bool Close() {
    open_.pop_back();
    names_.pop_back();
    return true;
  }

  std::string_view json_;
  const JsonText& text_;
  const char *begin_ = nullptr, *read_ = nullptr;
  Json root_;
  std::vector<Json*> open_;                   // objects and lists around the next value
  std::vector<std::set<std::string>> names_;  // the names seen in each of them
  std::string name_;                          // the name of the next value
};

template <class Json>
Json Read(std::string_view json, const JsonText& text) {
  Builder<Json> builder(json, text);
  return builder.Read(text.wholes ? WithoutLongNumbers(json) : json);
}

}  // namespace

nlohmann::json ReadJson(std::string_view json, const JsonText& text) { return Read<nlohmann::json>(json, text); }

nlohmann::ordered_json ReadOrderedJson(std::string_view json, const JsonText& text) {
  return Read<nlohmann::ordered_json>(json, text);
}

}  // namespace suf
