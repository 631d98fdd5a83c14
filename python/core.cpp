#include "python/core.hpp"

#include <cmath>

#include "apps/role.hpp"
#include "suf/backends/all.hpp"
#include "suf/model/vocabulary.hpp"
#include "suf/net/certs.hpp"
#include "suf/net/tls.hpp"
#include "suf/ring/cpu.hpp"
#include "suf/roles/dial.hpp"
#include "suf/roles/index_folder.hpp"
#include "suf/roles/pull.hpp"

namespace suf::python {

bool SubmittedTexts::Wait(std::chrono::milliseconds time) const {
  std::unique_lock l(m_);
  return changed_.wait_for(l, time, [&] { return ended_ == results_.size(); });
}

size_t SubmittedTexts::ended() const {
  const std::lock_guard l(m_);
  return ended_;
}

size_t SubmittedTexts::Cancel() {
  const std::shared_ptr<roles::Lanes> lanes = lanes_.lock();
  size_t taken = 0;
  for (size_t i = 0; lanes && i < places_.size(); ++i) {
    if (!lanes->Cancel(first_ + i)) continue;
    End(places_[i], std::nullopt);
    ++taken;
  }
  return taken;
}

void SubmittedTexts::End(size_t text, std::optional<roles::LaneResult> result) {
  std::function<void()> over;
  {
    const std::lock_guard l(m_);
    results_[text] = std::move(result);
    if (++ended_ == results_.size()) over = std::move(over_);
    changed_.notify_all();
  }
  if (over) over();
}

void SubmittedTexts::Finish() {
  // another call may open the file now
  if (const auto file = std::move(file_)) file->Finish();
}

EncoderCore::EncoderCore(EncoderSettings settings) : settings_(std::move(settings)) {
  if (!settings_.kernels.empty()) ring::Choose(ring::VariantNamed(settings_.kernels));
  net::Credentials own = apps::CredentialsOf("this object", settings_.certs, Role::kData);
  for (const std::string& pin : settings_.pins) own.Pin(net::FromFingerprint(pin));
  backend_ = backends::Make(settings_.backend);
  home_ = std::make_unique<store::Home>(settings_.store);
  for (std::string& notice : home_->TakeNotices()) Note(std::move(notice));
  const roles::PulledFiles files = FilesFor(own);
  std::vector<nn::IndexPlan> indexes;
  if (settings_.search) indexes.push_back(roles::LoadIndexPlan(IndexPlanAmong(files)));
  engine_ = std::make_unique<roles::ModelEngine>(roles::LoadPlan(files.plan.string()), *backend_, roles::EmitTexts,
                                                 std::move(indexes));
  if (engine_->plan().public_table())
    engine_->UseTable(roles::PublicTable(
        settings_.table.empty() ? roles::TableFile(files.plan) : std::filesystem::path(settings_.table),
        engine_->plan()));
  engine_->MoveParts();
  engine_->KeepTraces(uint64_t(settings_.traces) << 20);
  tokenizer_ = roles::LoadTokenizer(files.tokenizer.string(), engine_->plan());
  if (model::KnownVocabulary(engine_->plan().tokenizer).empty())
    Note(
        "the tokenizer is none of the published ones; it decides how many tokens a text has, which the model owner "
        "sees");
  lanes_ = OpenLanes(own);
  own_ = std::make_unique<net::Credentials>(std::move(own));
}

EncoderCore::~EncoderCore() { Close(true); }

// Returns the plan and the tokenizer, pulled if they are not named. For a search without a named index plan it also
// returns those of the pull.
roles::PulledFiles EncoderCore::FilesFor(const net::Credentials& own) const {
  roles::PulledFiles files{.plan = settings_.plan, .tokenizer = settings_.vocabulary};
  const bool named = !settings_.plan.empty() && !settings_.vocabulary.empty();
  const bool searches = settings_.search && settings_.index_plan.empty();
  if (named && !searches) return files;
  std::optional<Hash> expect;
  if (!settings_.expect.empty()) {
    const Bytes hash = FromHex(settings_.expect, sizeof(Hash), "the expected hash");
    std::copy(hash.begin(), hash.end(), expect.emplace().begin());
  } else if (named) {
    expect = nn::PlanHash(roles::LoadPlan(settings_.plan));
  }
  const std::filesystem::path folder = roles::PullFolder(*home_);
  std::optional<roles::PulledFiles> pulled;
  try {
    pulled = roles::FindPulled(folder);
  } catch (const Error&) {  // damaged files are replaced by those of a known hash
    if (!expect) throw;
  }
  const bool lacks = !pulled || (expect && pulled->hash != *expect) ||
                     (settings_.vocabulary.empty() && pulled->tokenizer.empty()) ||
                     (searches && pulled->indexes.empty());
  if (lacks) {
    const auto p0 = net::Dial(own, net::Address::ParseList(settings_.connect).at(0), Role::kModel,
                              apps::Timeout(settings_.timeout), settings_.stop);
    pulled = roles::Pull(*p0, *home_, expect);
  }
  if (files.plan.empty()) files.plan = pulled->plan;
  if (files.tokenizer.empty()) files.tokenizer = pulled->tokenizer;
  if (files.tokenizer.empty())
    Fail(Cause::kInput, "the model owner does not have the tokenizer of its plan, whose SHA-256 is ",
         Hex(pulled->tokenizer_hash), "; ask it for the file, and name that");
  files.indexes = std::move(pulled->indexes);
  return files;
}

// Returns the file of the index plan that is named, or of the only one that was pulled.
std::string EncoderCore::IndexPlanAmong(const roles::PulledFiles& files) const {
  if (!settings_.index_plan.empty()) return settings_.index_plan;
  if (files.indexes.empty())
    Fail(Cause::kInput, "the model owner serves no index that can be searched; ask its operator for one");
  if (files.indexes.size() == 1) return files.indexes[0].second.string();
  std::string names;
  for (const auto& [hash, file] : files.indexes)
    names += Str(names.empty() ? "" : ", ", file.string(), " (index ", Hex(View(hash).first(4)), ")");
  Fail(Cause::kInput, "the model owner serves ", files.indexes.size(), " indexes: ", names,
       "; give one of these files as index_plan");
}

const roles::EngineIndex* EncoderCore::index() const {
  return engine_->indexes().empty() ? nullptr : engine_->indexes()[0].get();
}

std::shared_ptr<roles::Lanes> EncoderCore::OpenLanes(const net::Credentials& own) {
  const auto timeout = apps::Timeout(settings_.timeout);
  const std::vector<net::Address> servers = net::Address::ParseList(settings_.connect);
  proto::Dealers dealers = roles::DealersAt(own, net::Address::ParseList(settings_.dealer), timeout, settings_.streams);
  roles::Lanes::Options options{.parallel = std::max(settings_.parallel, int(dealers.size())),
                                .batch = index() ? 1 : nn::kMostTexts,
                                .servers = uint8_t(servers.size())};
  options.retry = net::Millis(int64_t(settings_.retry * 1000));
  options.retries = [this](const Error& e, net::Millis pause) {
    Note(Str(e.what(), "; tried again in ", pause.count(), " ms"));
  };
  options.client.variants = engine_->Allowed(settings_.variant);
  options.client.search = index();
  options.client.fetch = settings_.fetch;
  options.client.memory = apps::MemoryLimit(settings_.memory);
  options.client.keys.window = uint64_t(settings_.window) << 20;
  if (settings_.receipts) options.client.keys.receipts = [](const proto::Receipt&) {};
  options.client.waits = [this](uint32_t, uint32_t ms) { wait_ms_ = ms; };
  options.dial = [own, servers, timeout, streams = settings_.streams](std::stop_token stop, size_t server) {
    return net::Dial(own, servers[server], Role::kModel, timeout, std::move(stop), streams);
  };
  options.moves = [this](size_t, const Error& e) { Note(Str(e.what(), "; another of its processes is tried")); };
  options.opened = [this](const roles::DataOwner::Session& session) {
    for (const std::string& notice : session.notices()) Note(notice);
    const std::lock_guard l(m_);
    weights_ = session.weights();
  };
  return std::make_shared<roles::Lanes>(*engine_, *home_, std::move(dealers), std::move(options));
}

std::optional<Hash> EncoderCore::weights() const {
  const std::lock_guard l(m_);
  return weights_;
}

model::Ids EncoderCore::Tokenize(const roles::TextInput& text, size_t limit, bool cut) const {
  return roles::Encode(*tokenizer_, roles::RulesOf(engine_->plan()), text, limit, cut);
}

std::shared_ptr<SubmittedTexts> EncoderCore::Submit(std::vector<model::Ids> texts, int priority, int batch,
                                                    const std::string& resume, std::function<void()> over) {
  std::shared_ptr<roles::Lanes> lanes;
  {
    const std::lock_guard l(m_);
    lanes = lanes_;
  }
  if (!lanes) throw roles::LanesClosed(Cause::kInput, "this object is closed; make a new one");
  auto call = std::make_shared<SubmittedTexts>(texts.size());
  call->over_ = std::move(over);
  call->lanes_ = lanes;
  for (size_t i = 0; i < texts.size(); ++i) call->places_.push_back(i);
  if (!resume.empty()) {
    call->file_ = std::make_unique<roles::ResumeFile>(resume, hash(), texts);
    call->places_ = call->file_->Left();
    std::vector<model::Ids> left;
    for (const size_t i : call->places_) left.push_back(std::move(texts[i]));
    const size_t all = std::exchange(texts, std::move(left)).size();
    for (size_t i = 0; i < all; ++i) {
      if (!call->file_->Has(i)) continue;
      auto kept = call->file_->ResultOf(i);
      if (auto* const e = std::get_if<roles::Embedding>(&kept))
        call->End(i, std::move(*e));
      else
        call->End(i, roles::LateError{std::make_exception_ptr(std::get<Error>(kept))});
    }
  }
  if (texts.empty()) {
    if (call->results_.empty() && call->over_) std::exchange(call->over_, nullptr)();
    return call;
  }
  // first_ is set before any result, because the deliverer waits for the lock
  const std::lock_guard l(call->m_);
  call->first_ = lanes->SubmitAll(
      std::move(texts), priority,
      [this, call](size_t text, roles::LaneResult result) { Take(*call, call->places_[text], std::move(result)); },
      batch);
  return call;
}

// Takes the result of a text. With a file it is kept before it counts.
void EncoderCore::Take(SubmittedTexts& call, size_t text, roles::LaneResult result) noexcept {
  if (roles::ResumeFile* const file = call.file_.get()) try {
      if (const auto* const e = std::get_if<roles::Embedding>(&result)) {
        if (const auto of = weights()) file->UseWeights(*of);
        file->Add(text, *e);
      } else if (const auto* const late = std::get_if<roles::LateError>(&result)) {
        std::rethrow_exception(late->error);
      }
    } catch (const Error& e) {
      if (std::holds_alternative<roles::LateError>(result))
        file->AddError(text, e);
      else
        result = std::current_exception();
    } catch (...) {  // a bug stays the result of the text
    }
  call.End(text, std::move(result));
}

void EncoderCore::Probe(double seconds) const {
  const auto timeout = apps::Timeout(seconds);
  for (const auto& [addresses, role] :
       {std::pair(&settings_.connect, Role::kModel), {&settings_.dealer, Role::kDealer}}) {
    std::exception_ptr error;
    bool reached = false;
    for (const net::Address& address : net::Address::ParseList(*addresses)) try {
        net::Dial(*own_, address, role, timeout)->Refuse(net::Refusal::kGaveUp);
        reached = true;
        break;
      } catch (const Error&) {
        if (!error) error = std::current_exception();
      }
    if (!reached) std::rethrow_exception(error);
  }
}

void EncoderCore::Close(bool at_once) noexcept {
  std::shared_ptr<roles::Lanes> lanes;
  {
    const std::lock_guard l(m_);
    lanes = std::move(lanes_);
  }
  if (!lanes) return;
  std::stop_source stop;
  if (at_once) (void)stop.request_stop();
  try {
    lanes->Close(stop.get_token());
  } catch (...) {  // the texts have their errors
  }
  lanes.reset();
  home_.reset();  // another object may open the store, although calls still hold this one
}

void EncoderCore::Note(std::string notice) {
  const std::lock_guard l(m_);
  notices_.push_back(std::move(notice));
}

std::vector<std::string> EncoderCore::TakeNotices() {
  const std::lock_guard l(m_);
  return std::exchange(notices_, {});
}

}  // namespace suf::python
