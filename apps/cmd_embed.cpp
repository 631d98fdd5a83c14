// Command: embed.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>

#include "apps/log.hpp"
#include "apps/results.hpp"
#include "apps/role.hpp"
#include "apps/show.hpp"
#include "apps/texts.hpp"
#include "suf/model/safetensors.hpp"
#include "suf/model/vocabulary.hpp"
#include "suf/roles/data_owner.hpp"
#include "suf/roles/model.hpp"

namespace suf::apps {

namespace {

using Clock = std::chrono::steady_clock;

// Texts: the call's texts as ids.
std::vector<Line> Texts(const EmbedArgs& a, const nn::Plan& plan) {
  auto lines = ReadTexts(a.source);
  if (!a.source.ids.empty()) {
    TokenizeAll(nullptr, LimitsOf(plan, a.truncate), &lines);
    return lines;
  }
  if (a.vocab.empty()) Fail(Cause::kInput, "texts need the vocabulary of the plan's model; name it with --vocab");
  const auto tokenizer = roles::LoadTokenizer(a.vocab, plan);
  // it decides how many tokens a text has, which the model owner sees
  const bool known = !model::KnownVocabulary(plan.tokenizer).empty();
  (known ? log::Info : log::Warn)("embed: " + VocabularyOf(plan.tokenizer));
  TokenizeAll(&tokenizer, LimitsOf(plan, a.truncate), &lines);
  return lines;
}

// Embed: the usable lines over one session; what became of each line goes to results, in order. Returns false if it
// ended early because nobody reads them.
bool Embed(roles::DataOwner::Session& session, std::vector<Line>& lines, Results& results, std::optional<Bar>& bar) {
  std::vector<Line*> usable;
  std::vector<model::Ids> texts;
  for (Line& l : lines)
    if (l.error.empty()) usable.push_back(&l), texts.push_back(std::move(l.ids));
  auto next = lines.begin();
  auto pass = [&](const Line* until) {  // the lines before, which could not be used
    for (; next != lines.end() && &*next != until; ++next) results.Add({.line = &*next});
  };
  const auto begun = Clock::now();
  const size_t done = session.Run(std::move(texts), [&](size_t text, roles::Embedding e) {
    bar.reset();
    pass(usable[text]);
    results.Add({.line = usable[text], .embedding = std::move(e)}), ++next;
  });
  bar.reset();
  if (done < usable.size()) {
    log::Info(Str("embed: stdout takes no more results; ", done, " of ", usable.size(), " texts are done"));
    return false;
  }
  session.End();
  pass(nullptr);
  const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  const size_t sentences = usable.size();
  log::Info(Str("embed: ", sentences, sentences == 1 ? " sentence in " : " sentences in ", Fixed(seconds, 2), " s, ",
                Fixed(double(sentences) / seconds, 2), " a second"));
  return true;
}

}  // namespace

int RunEmbed(const EmbedArgs& a) {
  Harden();
  UseKernels("embed", a.kernels);
  auto own = Own("embed", a.certs, Role::kData, a.pins);
  const auto backend = RoleBackend("embed", a.backend);
  roles::ModelEngine engine(roles::LoadPlan(a.plan), *backend);
  engine.MoveParts();
  if (!a.times.empty()) engine.MeasureScopes();
  auto lines = Texts(a, engine.plan());  // before anybody hears of them
  CheckOutput();
  Results results(a, engine);
  const auto usable = std::count_if(lines.begin(), lines.end(), [](auto& l) { return l.error.empty(); });
  if (!usable) {
    for (auto& l : lines) results.Add({.line = &l});
    results.End();
    return Finish(lines);
  }
  // a row of floats and the number of its line
  const uint64_t row = uint64_t(roles::ResultWidth(engine.plan())) * sizeof(float) + sizeof(int64_t);
  if (!a.out.empty()) model::ProbeSafetensors(a.out, 1024 + uint64_t(usable) * row);
  store::Store store(a.store);
  UsesFolder("embed", "store", a.store);
  Warn("embed", store.notices());
  std::unique_ptr<net::Recorder> recorder;
  if (!a.record.empty()) recorder = std::make_unique<net::Recorder>(a.record);
  const auto timeout = Timeout(a.timeout);
  std::optional<Bar> bar;
  roles::DataOwner::Options options{.keys = KeysOf(a.keys, store), .one_by_one = a.one_by_one, .audits = a.audit};
  options.variants = engine.Allowed(a.variant);
  options.progress = [&](size_t text, double done, const std::string& what) {
    if (!bar) bar.emplace(Str("text ", text + 1, " of ", usable));
    bar->At(done, what);
  };
  options.audited = [] { log::Info("embed: the model owner audited a bundle and found nothing wrong"); };
  options.stop = [&] { return results.Stop(); };
  roles::DataOwner owner(engine, store, CallDealer(own, a.dealer, timeout, a.streams), std::move(options));
  bool whole = false;
  {  // the model owner sees when the connection ends: not only when all is written
    auto ch = net::Dial(own, net::Address::Parse(a.connect), Role::kModel, timeout, {}, a.streams);
    ch->set_recorder(recorder.get());
    roles::DataOwner::Session session(owner, *ch);
    Warn("embed", session.notices());
    if (const auto& link = session.link())
      log::Info(Str("embed: the link has a round trip of ", Fixed(double(link->trip_us) / 1e3, 2), " ms and ",
                    Fixed(double(link->rate) / 1e6, 0), " Mb/s; each text takes the cheapest variant for it"));
    KeepPages();
    whole = Embed(session, lines, results, bar);
  }
  results.End();
  if (!whole) throw OutputError(EPIPE);
  return Finish(lines);
}

}  // namespace suf::apps
