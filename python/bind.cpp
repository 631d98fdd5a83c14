// The module suf._suf: core.hpp and the program as Python objects. The only file that includes nanobind.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "apps/program.hpp"
#include "apps/role.hpp"
#include "python/core.hpp"
#include "suf/model/vocabulary.hpp"
#include "suf/service/receipts.hpp"

namespace nb = nanobind;
using namespace nb::literals;  // NOLINT: names of arguments

namespace suf::python {
namespace {

// Python's lock is free while this lives. Once the interpreter ends, a thread that takes the lock is ended inside it,
// in the middle of C++. So other threads then stop here for good.
class FreeLock {
 public:
  FreeLock() : state_(PyEval_SaveThread()) {}
  ~FreeLock() {
    ++returning_;
    if (ending_ && std::this_thread::get_id() != ender_) {
      --returning_;
      for (;;) pause();
    }
    PyEval_RestoreThread(state_);
    --returning_;
  }
  FreeLock(const FreeLock&) = delete;
  FreeLock& operator=(const FreeLock&) = delete;
  // Lets no other thread take the lock here any more. Returns when those that were about to have it.
  static void End() {
    ender_ = std::this_thread::get_id();
    ending_ = true;
    const FreeLock released;
    while (returning_) std::this_thread::yield();
  }

 private:
  static inline std::atomic<bool> ending_{false};
  static inline std::atomic<int> returning_{0};
  static inline std::thread::id ender_;
  PyThreadState* const state_;
};

// Python's str and bytes, as UTF-8.
using PlainText = nb::bytes;
std::string_view ViewOf(const PlainText& text) { return {text.c_str(), text.size()}; }

// Returns an error as an exception of suf._errors.
nb::object ExceptionOf(const std::exception_ptr& error) {
  const nb::module_ errors = nb::module_::import_("suf._errors");
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    static const char* const kNames[] = {"InputError", "PeerError", "RefusedError", "ResourceError"};
    nb::object made = errors.attr(kNames[int(e.cause())])(e.what());
    if (const auto* const refusal = dynamic_cast<const net::RefusalError*>(&e)) {
      made.attr("refusal") = net::Name(refusal->code());
      if (refusal->retry_s()) made.attr("retry_after") = refusal->retry_s();
    }
    return made;
  } catch (const Bug& e) {
    return errors.attr("Bug")(e.what());
  } catch (const std::exception& e) {
    return errors.attr("ResourceError")(e.what());
  }
}

// Returns the error of a run that failed behind the model owner's last frame. It belongs to the text, so the text does
// not run again.
nb::object OwnExceptionOf(const std::exception_ptr& error) {
  nb::object made = ExceptionOf(error);
  made.attr("own") = true;
  return made;
}

// Throws an exception of Python for one of ours.
void Translate(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const nb::python_error&) {
    throw;
  } catch (const nb::builtin_exception&) {
    throw;
  } catch (const Error&) {
  } catch (const Bug&) {
  }
  const nb::object made = ExceptionOf(error);
  PyErr_SetObject(made.type().ptr(), made.ptr());
}

// Returns numbers as an array of numpy, which owns them.
template <class T>
nb::object ArrayOf(std::vector<T> values) {
  auto* const kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

// Returns a document of a hit. Bytes that are no UTF-8 are replaced, because an error would be that of all texts.
nb::object TextOf(const std::string& document) {
  return nb::steal(PyUnicode_DecodeUTF8(document.data(), Py_ssize_t(document.size()), "replace"));
}

// Returns the hits of a search as objects of suf.Hit.
nb::object HitsOf(const roles::EngineIndex& index, const roles::Embedding& e) {
  const nb::object hit = nb::module_::import_("suf._search").attr("Hit");
  const nn::ToldOfHits told = index.index.search.told;
  const double one = nn::ScoreOfOne(index.whole);
  nb::list hits;
  for (size_t i = 0; i < e.hits->size(); ++i) {
    const nn::SearchHit& h = (*e.hits)[i];
    const nb::object rank = told == nn::ToldOfHits::kOrder ? nb::cast(h.rank) : nb::none();
    const nb::object score = told == nn::ToldOfHits::kScores ? nb::cast(double(h.score) / one) : nb::none();
    hits.append(hit(h.row, rank, score, i < e.documents.size() ? TextOf(e.documents[i]) : nb::none()));
  }
  return hits;
}

nb::dict FactsOf(const roles::Embedding& e, const EncoderCore& core) {
  nb::dict facts;
  facts["serial"] = e.serial;
  facts["n"] = e.count;
  facts["texts"] = e.texts;
  facts["variant"] = core.variant(e.variant);
  if (!e.hits) facts["f"] = e.scale;
  facts["y"] = ArrayOf(e.Integers());
  facts["resumed"] = e.work == nullptr;
  if (!e.work) return facts;
  facts["trace"] = Hex(e.work->trace.digest());
  facts["flights"] = e.work->schedule->flights();
  nb::dict bytes, ms;
  bytes["p0"] = e.bytes.p0;
  bytes["p1"] = e.bytes.p1;
  bytes["p1_offline"] = e.bytes.p1_offline;
  bytes["setup"] = e.bytes.setup;
  facts["bytes"] = bytes;
  ms["fetch"] = e.fetch_ms;
  ms["ahead"] = e.ahead_ms;
  ms["online"] = e.times.total * 1e3;
  facts["ms"] = ms;
  nb::list receipts;
  for (const auto& receipt : {e.receipt, e.fetch_receipt})
    if (receipt) receipts.append(service::Encode(service::ReceiptLine{*receipt, e.place}));
  facts["receipts"] = receipts;
  return facts;
}

// The calls of one event loop that have ended, by number. `event` is an eventfd.
class EndedCalls {
 public:
  explicit EndedCalls(int event) : event_(event) {}
  void Add(uint64_t number) {
    {
      const std::lock_guard l(m_);
      numbers_.push_back(number);
    }
    const uint64_t one = 1;
    if (write(event_, &one, sizeof one) < 0) {  // the counter is full, so its reader wakes
    }
  }
  std::vector<uint64_t> Take() {
    const std::lock_guard l(m_);
    return std::exchange(numbers_, {});
  }

 private:
  const int event_;
  std::mutex m_;
  std::vector<uint64_t> numbers_;
};

// A call with the encoder that it needs.
struct BoundCall {
  std::shared_ptr<EncoderCore> core;
  std::shared_ptr<SubmittedTexts> texts;

  bool Wait(double seconds) const {
    const FreeLock released;
    return texts->Wait(std::chrono::milliseconds(int64_t(seconds * 1000)));
  }
  size_t Cancel() const {
    const FreeLock released;
    return texts->Cancel();
  }
  // Returns for each text (values or hits, facts), an exception, or None if it was taken back.
  nb::list Results(size_t count) const {
    texts->Finish();
    nb::list all;
    for (size_t i = 0; i < count; ++i) {
      const std::optional<roles::LaneResult>& result = texts->result(i);
      if (!result)
        all.append(nb::none());
      else if (const auto* const e = std::get_if<roles::Embedding>(&*result))
        all.append(nb::make_tuple(e->hits ? HitsOf(*core->index(), *e) : ArrayOf(e->Values()), FactsOf(*e, *core)));
      else if (const auto* const late = std::get_if<roles::LateError>(&*result))
        all.append(OwnExceptionOf(late->error));
      else
        all.append(ExceptionOf(std::get<std::exception_ptr>(*result)));
    }
    return all;
  }
};

// An encoder that opens in a thread, so that Ctrl-C can stop it.
class EncoderOpening {
 public:
  explicit EncoderOpening(EncoderSettings settings) {
    settings.stop = stop_.get_token();
    thread_ = std::thread([this, settings = std::move(settings)]() mutable {
      std::exception_ptr error;
      std::shared_ptr<EncoderCore> core;
      try {
        core = std::make_shared<EncoderCore>(std::move(settings));
      } catch (...) {
        error = std::current_exception();
      }
      const std::lock_guard l(m_);
      core_ = std::move(core);
      error_ = error;
      over_ = true;
      changed_.notify_all();
    });
  }
  ~EncoderOpening() {
    const FreeLock released;
    (void)stop_.request_stop();
    thread_.join();
  }
  bool Wait(double seconds) {
    const FreeLock released;
    std::unique_lock l(m_);
    return changed_.wait_for(l, std::chrono::duration<double>(seconds), [&] { return over_; });
  }
  std::shared_ptr<EncoderCore> Take() {
    const std::lock_guard l(m_);
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return std::move(core_);
  }

 private:
  std::stop_source stop_;
  std::mutex m_;
  std::condition_variable changed_;
  bool over_ = false;
  std::shared_ptr<EncoderCore> core_;
  std::exception_ptr error_;
  std::thread thread_;
};

// The encoder of a process. A forked child has none of its threads, so it must not end them.
struct BoundEncoder {
  std::shared_ptr<EncoderCore> core;
  pid_t made_by = getpid();

  ~BoundEncoder() {
    if (getpid() != made_by) {
      (void)new std::shared_ptr<EncoderCore>(std::move(core));  // lost on purpose
      return;
    }
    const FreeLock released;
    core.reset();
  }
  EncoderCore& Here() const {
    if (getpid() != made_by)
      Fail(Cause::kInput, "this object belongs to process ", made_by,
           ", of which this one is a child; make a new one "
           "here, with a store of its own");
    if (!core) Fail(Cause::kInput, "this object is closed; make a new one");
    return *core;
  }
};

std::vector<model::Ids> Tokenize(const BoundEncoder& e,
                                 const std::vector<std::pair<PlainText, std::optional<PlainText>>>& texts,
                                 const PlainText& prompt, size_t limit, bool cut) {
  const EncoderCore& core = e.Here();
  const FreeLock released;  // a text may be long
  std::vector<model::Ids> all;
  for (size_t i = 0; i < texts.size(); ++i) try {
      roles::TextInput text{.first = ViewOf(texts[i].first), .second = {}, .prompt = ViewOf(prompt)};
      if (texts[i].second) text.second = ViewOf(*texts[i].second);
      all.push_back(core.Tokenize(text, limit, cut));
    } catch (const Error& x) {
      throw Error(x.cause(), texts.size() == 1 ? std::string(x.what())
                                               : Str("text ", i + 1, " of ", texts.size(), ": ", x.what()));
    }
  return all;
}

BoundCall Submit(const BoundEncoder& e, const std::vector<std::vector<int32_t>>& ids, int priority, int batch,
                 const std::string& resume, const std::shared_ptr<EndedCalls>& ended, uint64_t number) {
  EncoderCore& core = e.Here();
  std::vector<model::Ids> texts;
  for (const auto& row : ids) texts.emplace_back(row.begin(), row.end());
  const FreeLock released;
  std::function<void()> over;
  if (ended) over = [ended, number] { ended->Add(number); };
  return {e.core, core.Submit(std::move(texts), priority, batch, resume, std::move(over))};
}

nb::dict AboutOf(const BoundEncoder& e) {
  const nn::Plan& plan = e.Here().plan();
  const roles::EngineIndex* const index = e.Here().index();
  static const char* const kForms[] = {"single", "pair", "either"};
  nb::dict about, prompts;
  for (const nn::Prompt& p : plan.about.prompts)
    prompts[nb::str(p.name.c_str(), p.name.size())] = nb::str(p.text.c_str(), p.text.size());
  about["plan"] = Hex(e.Here().hash());
  about["tokenizer"] = Hex(plan.tokenizer);
  about["published"] = std::string(model::KnownVocabulary(plan.tokenizer));
  about["dimension"] = plan.width();
  about["min_tokens"] = plan.min_tokens;
  about["max_tokens"] = plan.max_tokens;
  about["longest"] = plan.about.longest;
  about["scores"] = plan.about.result == nn::ResultKind::kScores;
  about["unit"] = !index && plan.about.result == nn::ResultKind::kUnit;
  about["texts"] = kForms[int(plan.about.texts)];
  about["labels"] = plan.about.labels;
  about["similarity"] = plan.about.similarity;
  about["prompts"] = prompts;
  about["default_prompt"] = index ? index->index.text : plan.about.default_prompt;
  if (index) {
    about["index"] = Hex(index->hash);
    about["k"] = index->index.search.k;
  }
  return about;
}

}  // namespace

NB_MODULE(_suf, m) {
  nb::set_leak_warnings(false);  // an interpreter that ends with a call in it
  nb::register_exception_translator(Translate);
  m.attr("version") = SUF_VERSION;
  m.def("harden", [] { apps::Harden(); });
  m.def("end", [] { FreeLock::End(); });
  m.def(
      "main",
      [](std::vector<std::string> words, std::vector<std::string> self) {
        std::vector<char*> argv;
        for (std::string& word : words) argv.push_back(word.data());
        argv.push_back(nullptr);
        const FreeLock released;
        return apps::RunProgram(int(words.size()), argv.data(), std::move(self));
      },
      "words"_a, "self"_a);
  nb::class_<EndedCalls>(m, "EndedCalls").def(nb::init<int>(), "event"_a).def("take", &EndedCalls::Take);
  nb::class_<BoundCall>(m, "Call")
      .def("wait", &BoundCall::Wait, "seconds"_a)
      .def("cancel", &BoundCall::Cancel)
      .def("ended", [](const BoundCall& c) { return c.texts->ended(); })
      .def("results", &BoundCall::Results, "count"_a);
  nb::class_<BoundEncoder>(m, "Core")
      .def("about", AboutOf)
      .def("weights",
           [](const BoundEncoder& e) {
             const auto weights = e.Here().weights();
             return weights ? Hex(*weights) : std::string();
           })
      .def("notices", [](const BoundEncoder& e) { return e.Here().TakeNotices(); })
      .def("tokenize", Tokenize, "texts"_a, "prompt"_a, "limit"_a, "cut"_a)
      .def("submit", Submit, "ids"_a, "priority"_a, "batch"_a, "resume"_a, "ended"_a = nb::none(), "number"_a = 0)
      .def("wait_ms", [](const BoundEncoder& e) { return e.Here().wait_ms(); })
      .def(
          "probe",
          [](const BoundEncoder& e, double seconds) {
            const EncoderCore& core = e.Here();
            const FreeLock released;
            core.Probe(seconds);
          },
          "seconds"_a)
      .def(
          "close",
          [](BoundEncoder& e, bool at_once) {
            if (!e.core || getpid() != e.made_by) return;
            const std::shared_ptr<EncoderCore> core = std::move(e.core);
            const FreeLock released;
            core->Close(at_once);
          },
          "at_once"_a);
  nb::class_<EncoderOpening>(m, "Opening")
      .def("wait", &EncoderOpening::Wait, "seconds"_a)
      .def("take", [](EncoderOpening& o) { return BoundEncoder{o.Take()}; });
  m.def(
      "open",
      [](std::string connect, std::string dealer, std::string certs, std::string store, std::string plan,
         std::string vocabulary, std::string table, std::string index_plan, std::string expect,
         std::vector<std::string> pins, std::string variant, std::string backend, std::string kernels, int parallel,
         int streams, int64_t memory, double timeout, double retry, bool receipts, bool search, bool fetch) {
        return new EncoderOpening({.connect = std::move(connect),
                                   .dealer = std::move(dealer),
                                   .certs = std::move(certs),
                                   .store = std::move(store),
                                   .plan = std::move(plan),
                                   .vocabulary = std::move(vocabulary),
                                   .table = std::move(table),
                                   .index_plan = std::move(index_plan),
                                   .expect = std::move(expect),
                                   .pins = std::move(pins),
                                   .variant = std::move(variant),
                                   .backend = std::move(backend),
                                   .kernels = std::move(kernels),
                                   .parallel = parallel,
                                   .streams = streams,
                                   .memory = memory,
                                   .timeout = timeout,
                                   .retry = retry,
                                   .receipts = receipts,
                                   .search = search,
                                   .fetch = fetch});
      },
      nb::kw_only(), "connect"_a, "dealer"_a, "certs"_a, "store"_a, "plan"_a, "vocabulary"_a, "table"_a, "index_plan"_a,
      "expect"_a, "pins"_a, "variant"_a, "backend"_a, "kernels"_a, "parallel"_a, "streams"_a, "memory"_a, "timeout"_a,
      "retry"_a, "receipts"_a, "search"_a, "fetch"_a);
}

}  // namespace suf::python
