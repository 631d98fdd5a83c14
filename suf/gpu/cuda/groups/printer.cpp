#include "suf/gpu/cuda/groups/printer.hpp"

#include <map>

#include "suf/base/error.hpp"

namespace suf::gpu::cuda {

using pfss::Op;

namespace {

class Printer {
 public:
  Printer(const GroupCodes& codes, const Base& base) : codes_(codes), base_(base) {}

  PrintedKernel Run(const GroupCode* group) {
    const GroupCode& g = *Host(group);
    std::string body;
    rows_ = Param(g.rows);
    count_ = g.rows;
    for (int k = 0; k < g.members; ++k) body += Member(Host(g.member)[k]);
    PrintedKernel out;
    out.text =
        Str("#include \"suf/gpu/cuda/groups/printed.cuh\"\nusing namespace suf::gpu::cuda;\n",
            "struct Params { Word w[", params_.size(), "]; };\n", "extern \"C\" __global__ void __launch_bounds__(",
            kPrintedThreads, ") ", kKernel, "(const __grid_constant__ Params p) {\n  const uint32_t rows = uint32_t(",
            rows_, "), at_ = blockIdx.x * ", kPrintedThreads, "u + threadIdx.x, base = at_ / 32 * 32;\n",
            "  const bool here = at_ < rows;\n  const uint32_t at = here ? at_ : rows - 1;\n",
            "  const int lanes = base < rows ? int(rows - base < 32 ? rows - base : 32) : 0;\n  (void)lanes;\n",
            "  Word f[", g.frame, "];\n", reads_, body, writes_, "}\n");
    out.params = std::move(params_);
    return out;
  }

 private:
  template <class T>
  const T* Host(const T* p) const {
    return reinterpret_cast<const T*>(codes_.bytes.data() + (reinterpret_cast<const uint8_t*>(p) - base_.codes));
  }

  // Adds a value that differs between similar groups.
  std::string Param(uint64_t v) {
    params_.push_back(v);
    return Str("p.w[", params_.size() - 1, "]");
  }
  // Returns the parameter with a value, and adds it if there is none. Places are shared, so that derived values are
  // computed once.
  std::string Shared(uint64_t v) {
    auto [it, fresh] = shared_.try_emplace(v);
    if (fresh) it->second = Param(v);
    return it->second;
  }
  // Returns a mask. The type of a mask of up to 32 bits shows the compiler that upper halves are not needed.
  std::string Masked(Word mask) { return mask >> 32 ? Param(mask) : Str("uint32_t(", Param(mask), ")"); }
  template <class T>
  std::string Address(const T* p) {
    return Param(reinterpret_cast<uint64_t>(p));
  }
  static std::string At(int64_t word) { return Str("f + ", word); }

  // Returns x / by for x below 2^31, as a multiplication (Granlund and Montgomery 1994, figure 4.1).
  std::string Divided(const std::string& x, int64_t by) {
    int log = 0;
    while ((int64_t{1} << log) < by) ++log;
    const uint64_t m =
        uint64_t(((((unsigned __int128)1 << log) - (unsigned __int128)(by)) << 32) / (unsigned __int128)(by)) + 1;
    return Str("Quotient(", x, ", uint32_t(", Shared(m), "), int(", Shared(uint64_t(log)), "))");
  }

  // Returns the text in which words are read from memory. While registers last, it precedes all computation, so that a
  // row waits only once. Otherwise it is `here`.
  std::string* Early(int words, int bytes, std::string* here) { return Lasts(&early_, words, bytes) ? &reads_ : here; }
  // Returns the text in which words are written. While registers last, it follows all computation, otherwise it is
  // `here`.
  std::string* Late(int words, int bytes, std::string* here) { return Lasts(&late_, words, bytes) ? &writes_ : here; }
  static bool Lasts(int* registers, int words, int bytes) { return (*registers -= words * (bytes > 4 ? 2 : 1)) >= 0; }

  // Declares variables into which words are read.
  std::vector<std::string> Fresh(int words, std::string* where) {
    std::vector<std::string> out;
    for (int w = 0; w < words; ++w) {
      out.push_back(Name("v"));
      *where += Str("  Word ", out.back(), ";\n");
    }
    return out;
  }
  // Returns a word of a register for the text `where`, which writes it. If that text is not `here`, the word is copied,
  // because the register may be reused before.
  std::string Held(int at, const std::string* where, std::string* here) {
    if (where == here) return Str("f[", at, "]");
    const std::string v = Name("s");
    *here += Str("  const Word ", v, " = f[", at, "];\n");
    return v;
  }

  // Returns the element of a piece at place `x`, which is the name of a variable.
  std::string Element(const PieceCode& p, const std::string& x, std::string* before, const std::string& pad) {
    if (p.from.splat) return "0";
    const AxisCode* const axes = Host(p.axes);
    if (p.many == 0) return Str("uint32_t(", Shared(uint64_t(p.offset)), ")");
    if (p.many == 1 && axes[0].stride == 1)
      return p.offset ? Str(x, " + uint32_t(", Shared(uint64_t(p.offset)), ")") : x;
    std::string local = x;
    const std::string at = Name("e");
    *before += Str(pad, "uint32_t ", at, " = uint32_t(", Shared(uint64_t(p.offset)), ");\n");
    for (int d = p.many; d-- > 0;) {
      const std::string stride = Str("uint32_t(", Shared(uint64_t(axes[d].stride)), ")");
      if (d == 0) {
        *before += Str(pad, at, " += ", local, " * ", stride, ";\n");
        break;
      }
      const std::string next = Name("n");
      *before += Str(pad, "const uint32_t ", next, " = ", Divided(local, axes[d].extent), ";\n");
      *before += Str(pad, at, " += (", local, " - ", next, " * uint32_t(", Shared(uint64_t(axes[d].extent)), ")) * ",
                     stride, ";\n");
      local = next;
    }
    return at;
  }

  std::string Name(const char* stem) { return Str(stem, names_++); }

  static std::string TypeOf(int bytes, bool is_signed) {
    return Str(is_signed ? "int" : "uint", 8 * std::min(bytes, 8), "_t");
  }

  // Reads words of an element of an array into variables.
  std::string Read(const MemoryArray& a, const std::string& element, std::span<const std::string> to,
                   const std::string& pad) {
    std::string out;
    if (a.splat) {  // the same for all rows
      for (size_t w = 0; w < to.size(); ++w)
        out += Str(pad, to[w], " = ", Param(Host(reinterpret_cast<const Word*>(a.data))[w]), ";\n");
      return out;
    }
    const std::string base = Name("a");
    const std::string address = Address(a.data);
    out += Str(pad, "const uint8_t* const ", base, " = ",
               a.indirect ? Str("*reinterpret_cast<const uint8_t* const*>(", address, ")")
                          : Str("reinterpret_cast<const uint8_t*>(", address, ")"),
               ";\n");
    if (a.indirect) {  // one text serves any form of the host's words
      SUF_CHECK(to.size() == 1);
      return out + Str(pad, to[0], " = TakeInput(", base, ", ", element, ", int(",
                       Param(a.bytes | uint64_t(a.is_signed) << 8), "));\n");
    }
    for (size_t w = 0; w < to.size(); ++w)
      out += Str(pad, to[w], " = Take<", TypeOf(int(a.bytes), a.is_signed), ", ", a.bytes, ">(", base, ", ", element,
                 ", ", w, ");\n");
    return out;
  }

  std::string Fetch(const OperandCode& o) {
    if (o.from == OperandCode::kCopied)
      return Str("  row::Reduce(", At(o.made), ", ", o.planes * o.words, ", ", Masked(o.mask), ", ", At(o.at), ");\n");
    const std::string mask = Masked(o.mask);
    const PieceCode* const pieces = Host(o.map.pieces);
    std::string out;
    for (int q = 0; q < o.planes; ++q) {
      std::string* const early = Early(o.words, int(pieces[0].from.bytes), &out);
      const std::vector<std::string> to = Fresh(o.words, early);
      const std::string x = q ? Name("x") : "at";
      if (q) *early += Str("  const uint32_t ", x, " = at + ", q, "u * rows;\n");
      if (o.map.many == 1) {
        const std::string element = Element(pieces[0], x, early, "  ");
        *early += Read(pieces[0].from, element, to, "  ");
      } else {
        FromPieces(o.map, x, to, early);
      }
      for (int w = 0; w < o.words; ++w)
        out += Str("  f[", o.at + q * o.words + w, "] = ", to[size_t(w)], " & ", mask, ";\n");
    }
    return out;
  }
  // Reads from the piece that c selects, with x = (outer, c, inner).
  void FromPieces(const MapCode& map, const std::string& x, std::span<const std::string> to, std::string* out) {
    const PieceCode* const pieces = Host(map.pieces);
    const std::string whole = Name("h"), rest = Name("i"), outer = Name("o"), c = Name("c");
    const std::string inner = Shared(uint64_t(map.inner)), len = Shared(uint64_t(map.len));
    *out += Str("  const uint32_t ", whole, " = ", Divided(x, map.inner), ", ", rest, " = ", x, " - ", whole,
                " * uint32_t(", inner, ");\n");
    *out += Str("  const uint32_t ", outer, " = ", Divided(whole, map.len), ", ", c, " = ", whole, " - ", outer,
                " * uint32_t(", len, ");\n");
    std::string begin = "0";
    for (int k = 0; k < map.many; ++k) {
      const std::string end = Shared(uint64_t(pieces[k].end)), local = Name("l");
      *out += k + 1 < map.many ? Str("  ", k ? "else " : "", "if (", c, " < uint32_t(", end, ")) {\n") : "  else {\n";
      *out += Str("    const uint32_t ", local, " = (", outer, " * uint32_t(", end, " - ", begin, ") + ", c,
                  " - uint32_t(", begin, ")) * uint32_t(", inner, ") + ", rest, ";\n");
      const std::string element = Element(pieces[k], local, out, "    ");
      *out += Read(pieces[k].from, element, to, "    ") + "  }\n";
      begin = end;
    }
  }

  std::string Member(const MemberCode& m) {
    std::string out;
    std::vector<std::string> in;
    const OperandCode* const operands = Host(m.operand);
    for (int j = 0; j < m.operands; ++j) {
      const OperandCode& o = operands[j];
      if (o.from == OperandCode::kCopied || o.from == OperandCode::kLoaded) out += Fetch(o);
      in.push_back(o.from == OperandCode::kTable ? Str("reinterpret_cast<const Word*>(", Address(o.table), ")")
                                                 : At(o.at));
    }
    out += Value(m, in, operands);
    if (m.kept) Store(m, m.kept, m.kept_bytes, &out);
    return out;
  }
  // Stores a member's planes in an array, one element per row, if registers last after all computation.
  void Store(const MemberCode& m, const uint8_t* to, int bytes, std::string* out) {
    std::string* const late = Late(m.planes * m.words, bytes, out);
    const std::string address = Address(to);
    std::string give = "  if (here) {\n";
    for (int q = 0; q < m.planes; ++q)
      for (int w = 0; w < m.words; ++w)
        give += Str("    Give<", TypeOf(bytes, false), ", ", bytes, ">(", address, ", ", Place(q), ", ", w, ", ",
                    Held(m.at + q * m.words + w, late, out), ");\n");
    *late += give + "  }\n";
  }
  static std::string Place(int plane) { return plane ? Str("at + ", plane, "u * rows") : "at"; }
  // Returns whether a message is an array of whole elements.
  static bool IsArray(const MemberCode& m, const uint8_t* at) {
    return (m.bits == 8 || m.bits == 16 || m.bits == 32 || m.bits == 64) &&
           reinterpret_cast<uint64_t>(at) % uint64_t(m.bits / 8) == 0;
  }

  // Returns a call of a row function, the text of its name and arguments given.
  template <class... Parts>
  static std::string Call(const Parts&... parts) {
    return "  row::" + Str(parts...) + ");\n";
  }
  // Returns the assignment of a row function's result to a member's one word.
  template <class... Parts>
  static std::string Assign(const MemberCode& m, const Parts&... parts) {
    return Str("  f[", m.at, "] = row::", parts..., ");\n");
  }
  template <class... Parts>
  std::string AssignMasked(const MemberCode& m, const Parts&... parts) {
    return Str("  f[", m.at, "] = row::", parts..., ") & ", Masked(m.mask), ";\n");
  }
  static int WordsOf(const MemberCode& m) { return m.planes * m.words; }
  int64_t Attr(const MemberCode& m, int k) const { return Host(m.attrs)[k]; }

  // Returns the computation of a member from its operands `in`.
  std::string Value(const MemberCode& m, const std::vector<std::string>& in, const OperandCode* operands) {
    if (m.receives) return IsArray(m, m.in) ? ReceivedArray(m) : ReceivedString(m);
    if (m.op == Op::kRand) return Drawn(m);
    if (m.emits) return Emitted(m, in[0]);
    if (m.copies >= 0)
      return Call("Reduce(", in[size_t(m.copies)], ", ", WordsOf(m), ", ", Masked(m.mask), ", ", At(m.at));
    return Arithmetic(m, in, operands);
  }
  std::string ReceivedArray(const MemberCode& m) {
    std::string out;
    for (int q = 0; q < m.planes; ++q) {
      std::string* const early = Early(1, m.bits / 8, &out);
      const std::vector<std::string> v = Fresh(1, early);
      *early += Read({m.in, uint32_t(m.bits / 8)}, Place(q), v, "  ");
      out += Str("  f[", m.at + q, "] = ", v[0], ";\n");
    }
    return out;
  }
  // The string may begin within a word. If it is short enough, places are words of 32 bits.
  std::string ReceivedString(const MemberCode& m) {
    std::string out;
    const uint64_t skip = reinterpret_cast<uint64_t>(m.in) % 8;
    const std::string from = Address(m.in - skip), bits = Param(uint64_t(m.bits)), first = Shared(8 * skip);
    const char* const wide = (count_ * uint64_t(m.planes) * uint64_t(m.bits) + 64) >> 32 ? "uint64_t" : "uint32_t";
    for (int q = 0; q < m.planes; ++q)
      for (int w = 0; w < m.words; ++w) {  // all words but the last are whole
        std::string* const early = Early(1, m.bits > 32 ? 8 : 4, &out);
        const std::string v = Fresh(1, early)[0];
        *early += Str("  ", v, " = Read", m.bits <= 32 ? "Short" : "Word", "(reinterpret_cast<const uint",
                      m.bits <= 32 ? 32 : 64, "_t*>(", from, "), (", wide, "(at) + ", q, "u * ", wide, "(rows)) * ",
                      wide, "(", bits, ") + ", wide, "(", first, ") + ", 64 * w, ", ",
                      w + 1 < m.words ? "~Word{0}" : Masked(row::LowBits(m.bits - 64 * w)), ");\n");
        out += Str("  f[", m.at + q * m.words + w, "] = ", v, ";\n");
      }
    return out;
  }
  std::string Drawn(const MemberCode& m) {
    std::string out;
    const std::string top = Masked(row::LowBits(row::TopBits(m.bits)));
    for (int q = 0; q < m.planes; ++q) {
      std::string* const early = Early(m.words, int(m.drawn.bytes), &out);
      const std::vector<std::string> words = Fresh(m.words, early);
      *early += Read(m.drawn, Place(q), words, "  ");
      for (int w = 0; w < m.words; ++w)
        out += Str("  f[", m.at + q * m.words + w, "] = ", words[size_t(w)], w + 1 < m.words ? "" : " & " + top, ";\n");
    }
    return out;
  }
  std::string Emitted(const MemberCode& m, const std::string& in) {
    std::string out = Call("Reduce(", in, ", ", WordsOf(m), ", ", Masked(m.mask), ", ", At(m.at));
    if (IsArray(m, m.out)) {
      Store(m, m.out, m.bits / 8, &out);
      return out;
    }
    const std::string bits = Param(uint64_t(m.bits)), address = Address(m.out);
    for (int q = 0; q < m.planes; ++q) {
      const int x = m.at + q * m.words;
      std::string* const late = m.words == 1 ? Late(1, m.bits > 32 ? 8 : 4, &out) : &out;
      const std::string pack =
          m.words == 1 ? Str("  PackShort(", Held(x, late, &out)) : Str("  PackLong(", At(x), ", ", m.words);
      // The warp's first row is a multiple of eight. So are the rows of a plane that another plane follows.
      *late += Str(pack, ", int(", bits, "), lanes, reinterpret_cast<uint8_t*>(", address, ") + uint64_t(base / 8 + ",
                   q, "u * (rows / 8)) * uint32_t(", bits, "));\n");
    }
    return out;
  }

  std::string Arithmetic(const MemberCode& m, const std::vector<std::string>& in, const OperandCode* operands) {
    const std::string to = At(m.at);
    const int many = WordsOf(m);
    switch (m.op) {
      case Op::kAdd:
      case Op::kSub:
        if (m.strings) return Call("ExclusiveOr(", in[0], ", ", in[1], ", ", many, ", ", to);
        return Call(m.op == Op::kAdd ? "Plus(" : "Minus(", in[0], ", ", in[1], ", ", many, ", ", Masked(m.mask), ", ",
                    to);
      case Op::kMul:
        return Call("Times(", in[0], ", ", in[1], ", ", many, ", ", Masked(m.mask), ", ", to);
      case Op::kShl:
      case Op::kShr:
        return Call(m.op == Op::kShl ? "ShiftLeft(" : "ShiftRight(", in[0], ", int(", Param(uint64_t(Attr(m, 0))),
                    "), ", many, ", ", Masked(m.mask), ", ", to);
      case Op::kLow:
      case Op::kLift:
      case Op::kBroadcast:
        return Call("Reduce(", in[0], ", ", many, ", ", Masked(m.mask), ", ", to);
      case Op::kBits:
        return Call("Reduce(", in[0], ", ", many, ", ", Masked(row::LowBits(m.bits)), ", ", to);
      case Op::kUnit:
        return Assign(m, "Unit(*(", in[0], "), at % uint32_t(", Param(uint64_t(Attr(m, 0))), ")");
      case Op::kSum: {
        std::string sum = Str("  f[", m.at, "] = (");
        for (int q = 0; q < operands[0].planes; ++q) sum += Str(q ? " + " : "", "(", in[0], ")[", q, "]");
        return sum + Str(") & ", Masked(m.mask), ";\n");
      }
      default:
        return OfStrings(m, in);
    }
  }
  // Operations on bit strings, and reads of tables by them.
  std::string OfStrings(const MemberCode& m, const std::vector<std::string>& in) {
    const std::string to = At(m.at);
    const int many = WordsOf(m), table = m.table;
    switch (m.op) {
      case Op::kHot:
        return Call("Hot(*(", in[0], "), ", m.bits, ", ", to);
      case Op::kPoint:
        return Assign(m, "Point(", in[0], ", ", table, ", *(", in[1], ")");
      case Op::kRotate:
        return Call("Rotate(", in[0], ", ", table, ", *(", in[1], "), ", Attr(m, 0), ", ", to);
      case Op::kAbove:
        return Call("Above(", in[0], ", ", table, ", *(", in[1], "), reinterpret_cast<const int64_t*>(",
                    Address(m.attrs), "), ", m.many, ", ", to);
      case Op::kDense:
        return Str("  f[", m.at, "] = row::Dense(", in[0], ", ", table, ", *(", in[1], "), ", in[2], ") & ",
                   Masked(row::LowBits(m.bits)), ";\n");
      case Op::kSelect:
      case Op::kSelectX:
        return Call(m.op == Op::kSelect ? "Select(" : "SelectX(", in[0], ", ", table, ", *(", in[1], "), ", in[2], ", ",
                    many, ", ", Masked(m.mask), ", ", to);
      case Op::kDot:
        return AssignMasked(m, "Dot(", in[0], ", ", Attr(m, 0), ", ", in[1], ", ", m.length);
      case Op::kLess:
        return Call("Less(*(", in[0], "), reinterpret_cast<const int64_t*>(", Address(m.attrs), "), ", m.many, ", ",
                    to);
      case Op::kUnbits:
        return Call("Unbits(", in[0], ", ", many, ", ", to);
      case Op::kMix:
        return Call("Mix(", in[0], ", ", (table + 63) / 64, ", ", in[1], ", ", m.bits, ", ", to);
      default:
        return OfDigits(m, in);
    }
  }
  // Digits of numbers, their monomials and their borrows. Loops are printed step by step, so that the compiler knows
  // the sizes.
  std::string OfDigits(const MemberCode& m, const std::vector<std::string>& in) {
    const std::string to = At(m.at);
    std::string out;
    switch (m.op) {
      case Op::kDigits: {
        const std::string z = Name("z");
        out += Str("  Word ", z, " = *(", in[0], "), ", z, "_ = 0;\n");
        for (int j = 0; j < m.many; ++j)
          out += Str("  ", z, "_ |= row::Digit(", z, ", ", in[size_t(j) + 1], ", ", Attr(m, j), ", ", j, "), ", z,
                     " >>= ", Attr(m, j), ";\n");
        return out + Str("  f[", m.at, "] = ", z, "_;\n");
      }
      case Op::kMono:
        if (Attr(m, 0) == 0) return Call("Mono(*(", in[0], "), 0, ", to);
        out = Str("  f[", m.at, "] = 1, f[", m.at + 1, "] = *(", in[0], ") & 1;\n");
        for (int64_t d = 1; d < Attr(m, 0); ++d) out += Call("MonoGrow(*(", in[0], "), ", d, ", ", to);
        return out + Call("MonoLast(*(", in[0], "), ", Attr(m, 0), ", ", to);
      case Op::kMonoX:
        return Call("MonoX(*(", in[0], "), ", Attr(m, 0), ", ", to);
      case Op::kBorrowA: {
        const std::string sum = Name("s");
        out = Str("  Word ", sum, " = 0;\n");
        for (int64_t j = 0; j < Attr(m, 0); ++j)
          out += Str("  ", sum, " = row::BorrowGrow<", j, ">(*(", in[0], "), ", sum, ", ", in[size_t(j) + 1], ");\n");
        return out + Str("  f[", m.at, "] = ", sum, " & ", Masked(m.mask), ";\n");
      }
      case Op::kBorrowX: {
        const std::string groups = Name("g");
        if (in.size() == 2) return Assign(m, "BorrowX(*(", in[0], "), *(", in[1], "), nullptr, ", Attr(m, 0));
        std::string list;
        for (size_t j = 2; j < in.size(); ++j) list += (list.empty() ? "" : ", ") + in[j];
        out = Str("  const Word* const ", groups, "[] = {", list, "};\n");
        return out + Assign(m, "BorrowX(*(", in[0], "), *(", in[1], "), ", groups, ", ", Attr(m, 0));
      }
      case Op::kBorrowAt0:
        return AssignMasked(m, "BorrowAt0(*(", in[0], "), ", Attr(m, 0));
      default:
        SUF_CHECK(false);
        return "";
    }
  }

  const GroupCodes& codes_;
  const Base& base_;
  std::string reads_, writes_;
  int early_ = 64, late_ = 48;  // registers that are left for them
  std::string rows_;
  uint64_t count_ = 0;  // of rows
  std::vector<Word> params_;
  std::map<uint64_t, std::string> shared_;
  int names_ = 0;
};

}  // namespace

PrintedKernel Print(const GroupCodes& codes, const Base& base, size_t instruction) {
  return Printer(codes, base).Run(codes.groups[instruction]);
}

}  // namespace suf::gpu::cuda
