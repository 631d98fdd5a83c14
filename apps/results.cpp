#include "apps/results.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/screen.hpp"
#include "apps/show.hpp"
#include "suf/model/safetensors.hpp"
#include "suf/roles/model.hpp"

namespace suf::apps {

using nlohmann::ordered_json;

namespace {

// Adds the result under the name of its kind, and the label of the highest of several scores.
void AddResult(const nn::About& about, const std::vector<float>& values, ordered_json* row) {
  (*row)[ResultName(about)] = values;
  if (about.result != nn::ResultKind::kScores || about.labels.size() < 2) return;
  const auto most = std::max_element(values.begin(), values.end());
  (*row)["label"] = about.labels[size_t(most - values.begin())];
}

// Returns the row of one text, without rounding the floats.
ordered_json EmbedRow(const roles::ModelEngine& engine, const TextLine& l, const roles::Embedding& d,
                      const std::vector<int64_t>& y) {
  const roles::EngineIndex* const index = d.hits ? engine.indexes().at(0).get() : nullptr;
  ordered_json row{{"schema", index ? "suf.search/1" : "suf.embed/1"}, {"i", l.i}};
  row["id"] = nullptr;  // RowOf inserts it
  row["n"] = l.n;
  row["serial"] = d.serial;
  if (d.texts > 1) row["texts"] = d.texts;  // bytes, keys and times are those of the whole batch
  row["plan"] = Hex(engine.hash());
  if (d.work) row["trace"] = Hex(d.work->trace.digest());
  row["variant"] = engine.variants()[d.variant].name;
  row["y"] = y;
  if (index) {
    row["index"] = Hex(index->hash);
    row["hits"] = HitsJson(index->index.search, nn::ScoreOfOne(index->whole), *d.hits, d.documents);
  } else {
    row["f"] = d.scale;
    AddResult(engine.plan().about, d.Values(), &row);
  }
  if (!d.work) {  // of an earlier run
    row["resumed"] = true;
    return row;
  }
  const pfss::Schedule& s = *d.work->schedule;
  row["flights"] = s.flights();
  row["frames"] = {s.frame_count(0, true), s.frame_count(1, true)};
  row["bytes"] = {{"p0", d.bytes.p0}, {"p1", d.bytes.p1}, {"p1_offline", d.bytes.p1_offline}, {"setup", d.bytes.setup}};
  row["key_bytes"] = {s.key_bytes(0), s.key_bytes(1)};
  // `ms` are one after another; `within_ms` are inside them: the dealer's work, and waits for keys
  row["ms"] = {{"fetch", d.fetch_ms}, {"ahead", d.ahead_ms}, {"online", d.times.total * 1e3}};
  row["within_ms"] = {{"deal", d.deal_ms}, {"keys", d.keys_ms}};
  row["rss_mb"] = {PeakRss()};
  row["at_s"] = d.at_s;
  row["times"]["p1"] = TimesJson(d.times);
  return row;
}

// Returns the line of a search without --json: its id, if it has one, and its hits.
std::string HitsLine(const TextLine& l, const ordered_json& row) {
  ordered_json line = ordered_json::object();
  if (l.id.empty())
    line["i"] = l.i;
  else
    line["id"] = nullptr;
  line["hits"] = row["hits"];
  return RowOf(line, l);
}

// Returns the line of one text for people.
std::string Said(const TextLine& l, const nn::About& about, const ordered_json& row) {
  const std::string name = ResultName(about);
  const auto& values = row[name];
  const std::string time =
      row.contains("ms") ? Str(Fixed(row["ms"]["online"].get<double>(), 0), " ms online") : "resumed";
  std::string begin =
      Str("line ", l.i + 1, ": ", Plural(l.n, "token"), ", serial ", row["serial"].get<uint64_t>(), ", ", time, ", ");
  if (values.size() == 1) return Str(begin, "score ", Fixed(values[0], 4));
  if (row.contains("label")) begin += Str(row["label"].get<std::string>(), ", ");
  const std::string whole = Str(begin, name, " [", FirstOf(values, 4), "]");
  const size_t columns = screen::Columns(STDOUT_FILENO);
  return !columns || whole.size() <= columns
             ? whole
             : Str(begin, "[", Fixed(values[0], 4), " .. ", Fixed(values.back(), 4), "]");
}

}  // namespace

ordered_json HitsJson(const nn::Search& search, double one, const std::vector<nn::SearchHit>& hits,
                      const std::vector<std::string>& documents) {
  ordered_json rows = ordered_json::array();
  for (size_t i = 0; i < hits.size(); ++i) {
    ordered_json hit{{"row", hits[i].row}};
    if (search.told == nn::ToldOfHits::kOrder) hit["rank"] = hits[i].rank;
    if (search.told == nn::ToldOfHits::kScores) hit["score"] = double(hits[i].score) / one;
    if (i < documents.size()) hit["document"] = documents[i];
    rows.push_back(std::move(hit));
  }
  return rows;
}

const char* ResultName(const nn::About& about) {
  return about.result == nn::ResultKind::kScores ? "scores" : "embedding";
}

ResultWriter::ResultWriter(const EmbedArgs& a, const roles::ModelEngine& engine)
    : a_(a), times_(a.times), engine_(engine), thread_([this] { Loop(); }) {}

ResultWriter::~ResultWriter() {
  if (thread_.joinable()) Close();
}

void ResultWriter::Add(TextResult done) {
  {
    std::lock_guard l(m_);
    queue_.push_back(std::move(done));
  }
  more_.notify_one();
}

void ResultWriter::Close() {
  {
    std::lock_guard l(m_);
    closed_ = true;
  }
  more_.notify_one();
  thread_.join();
}

void ResultWriter::End() {
  Close();
  if (failure_) std::rethrow_exception(failure_);
  if (a_.out.empty()) return;
  const int64_t rows = int64_t(index_.size());
  std::vector<model::NewTensor> tensors{
      {ResultName(engine_.plan().about), {rows, roles::ResultWidth(engine_.plan())}, std::span<const float>(values_)},
      {"line", {rows}, std::span<const int64_t>(index_)}};
  model::WriteSafetensors(a_.out, tensors, model::Readers::kOwner);
}

void ResultWriter::Loop() {
  // the session has priority if both need the processor
  setpriority(PRIO_PROCESS, id_t(gettid()), 19);
  try {
    for (;;) {
      std::vector<TextResult> now;
      {
        std::unique_lock l(m_);
        more_.wait(l, [this] { return closed_ || !queue_.empty(); });
        if (queue_.empty()) return;
        now.swap(queue_);
      }
      for (const TextResult& d : now) Write(d);
    }
  } catch (...) {
    failure_ = std::current_exception();
    stop_ = true;
  }
}

// Does as much work for a result of zero as for any other.
void ResultWriter::Write(const TextResult& d) {
  TextLine& l = *d.line;
  const nn::About& about = engine_.plan().about;
  ordered_json row;
  std::string said;
  if (d.embedding) {
    if (d.embedding->work && !d.embedding->place) times_.Add(d.embedding->serial, d.embedding->times);
    const std::vector<int64_t> y = d.embedding->Integers();
    int64_t any = about.result != nn::ResultKind::kUnit || d.embedding->hits;
    for (int64_t v : y) any |= v;
    row = EmbedRow(engine_, l, *d.embedding, y);
    if (any)
      said = a_.json ? RowOf(row, l) : d.embedding->hits ? HitsLine(l, row) : Said(l, about, row);
    else  // only P1 ever sees this
      l.error = "the pooled vector of this text is zero, so it has no direction and no embedding; change the text";
  }
  if (!l.error.empty()) {
    said = a_.json || !a_.index_plan.empty() ? ErrorRow(l) : Str("line ", l.i + 1, ": ", l.error);
  } else if (!a_.out.empty()) {
    index_.push_back(l.i);
    for (auto& v : row[ResultName(about)]) values_.push_back(v.get<float>());
  }
  std::cout << said << std::endl;
}

}  // namespace suf::apps
