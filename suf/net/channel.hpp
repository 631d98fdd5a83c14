// The typed pipe between two roles: frames {u32 length, u16 kind, u16 sequence}, counted, hashed and recorded in one
// place. Transports add bytes only: an in-process pair (here) and TLS (tls.hpp). No TLS, no protocol knowledge.
#pragma once
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "suf/base/digest.hpp"
#include "suf/net/refusal.hpp"
#include "suf/net/tags.hpp"

namespace suf::net {

using Millis = std::chrono::milliseconds;
inline constexpr Millis kTimeout{60'000};
inline constexpr size_t kFrameHeader = 8;
inline constexpr size_t kMaxFrame = (size_t{1} << 32) - 1;
inline constexpr int kMostStreams = 16;      // TLS connections of a session
inline constexpr size_t kControlFrame = 64;  // payload of a MAC

// Kinds below kFirstRun belong to the sessions; an inference numbers its own from kFirstRun on.
enum Kind : uint16_t {
  kRefuse = 1,
  kHello,
  kWelcome,
  kSetupAsk,
  kChunk,
  kAnnounce,
  kChoice,
  kRequest,
  kGrant,
  kHeader,
  kClaim,
  kAck,
  kGo,
  kOfflineEnd,
  kOnlineEnd,
  kBye,
  kEnd,
  kAudit,
  kOpened,
  kVerdict,
  kWitness,
  kProbe,
  kLink,
  kJoin,
  kFirstRun = 0x100
};

// Where traffic is booked. kControl: hello, claim, MACs, bye; kSetup: W_hat; the other two as the schedule has
// them.
enum class Phase { kControl, kSetup, kOffline, kOnline };
inline constexpr int kPhases = 4;

// How far the peer has come. A stranger may make us hold 64 KiB; an accepted one, who said the right hello,
// 1 MiB beyond what he sent; for an engaged one we deal or compute, and a Listener that stops lets that end.
enum class Stage { kStranger, kAccepted, kEngaged, kOver };

struct Identity {
  Role role = Role::kDealer;
  Hash key{};  // SHA-256 of the public key (SubjectPublicKeyInfo)
};

// Payload and frame headers, without TLS.
struct Traffic {
  uint64_t frames_sent = 0, bytes_sent = 0, frames_received = 0, bytes_received = 0;
  Traffic& operator+=(const Traffic& o);
};

// A file of a channel's frames. After "SUFREC2\n", per frame: u8 1 = sent 0 = received, u8 role of the peer,
// u32 length, u16 kind, u16 sequence, then the payload; of frames from or to the dealer only the SHA-256 of the
// payload.
class Recorder {
 public:
  // Throws Cause::kResource when the file exists or cannot be made.
  explicit Recorder(const std::string& path);
  ~Recorder();
  void Add(bool sent, Role peer, View header, View payload);

 private:
  std::string path_;
  int fd_;
};

// One thread at a time. Each wait ends after timeout() with a sentence that names the silent peer
// (Cause::kPeer).
class Channel {
 public:
  Channel(Identity self, Identity peer, const Hash& exporter, Millis timeout);
  virtual ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  void Send(uint16_t kind, View payload);
  // The payload of the next frame. Another kind, a sequence gap, or more than `limit` bytes end the session; a
  // refusal of the peer throws its sentence.
  Bytes Recv(uint16_t kind, size_t limit) { return Next(kind, kind, limit).second; }
  // Recv of exactly that many bytes. RecvEither: where the peer chooses between two kinds; {kind, payload}.
  Bytes RecvExact(uint16_t kind, size_t bytes) { return RecvEither(kind, kind, bytes).second; }
  struct Due {
    uint16_t kind;
    size_t bytes;
  };
  std::pair<uint16_t, Bytes> RecvEither(Due a, Due b);
  std::pair<uint16_t, Bytes> RecvEither(uint16_t a, uint16_t b, size_t bytes) {
    return RecvEither(Due{a, bytes}, Due{b, bytes});
  }
  // Room for a frame of exactly that length which is due: its bytes go there as they come, whoever reads, also
  // while we write. Frames are posted in the order in which they are due, and before anything else is received.
  void Post(uint16_t kind, std::span<uint8_t> room) {
    posted_.push_back({kind, uint16_t(next_received_ + posted_.size()), room});
    Posting(posted_.back());
  }
  // Returns when so many bytes of the oldest posted frame are in its room; with all of them the frame is
  // received. Errors as Recv. RecvInto: Post and the whole frame; where it throws, nothing more goes into the room.
  void RecvUpTo(size_t bytes);
  void RecvInto(uint16_t kind, std::span<uint8_t> room);
  // Whatever is posted goes, as its rooms do: where anything is, the session is over.
  virtual void Unpost() { posted_.clear(); }
  // A frame whose first bytes are final before its last: bytes [0, bytes) of the payload may leave. Begins
  // the frame; nothing else may be sent until all of it is; each call has the same kind and payload.
  void SendUpTo(uint16_t kind, View payload, size_t bytes);
  // Returns when nothing of ours reads this memory any more: a payload that SendUpTo was given, which may
  // still be on its way; one that was sent, or received into it, is read for its tag after that.
  void Release(View memory);
  // waited: seconds that Recv was blocked, so far.
  double waited() const { return waited_; }
  // Tells the peer why the session ends; once, and never throws. Nothing can be sent afterwards.
  void Refuse(Refusal code) noexcept;
  // Whether the peer hung up, refused, or sent anything else than one frame of at most `due` bytes, which is
  // kept for Recv; 0: no frame at all is due. Looks, does not wait, and reads no further than that frame. Where nothing
  // is named: P1 may claim before P0 waits for it, everybody else who waits for us is silent.
  virtual bool PeerGone(size_t due) = 0;
  bool PeerGone() {
    return PeerGone(self_.role == Role::kModel && peer_.role == Role::kData ? kControlFrame : size_t{0});
  }
  // The peer came that far; it never goes back. Called by RecvHello, Send of what engages us, and Refuse.
  virtual void Reach(Stage) noexcept {}
  const Identity& self() const { return self_; }
  const Identity& peer() const { return peer_; }
  const char* peer_title() const { return Title(peer_.role); }
  // exporter: TLS exporter value of this connection, of all its streams; equal at both ends, of no other connection.
  const Hash& exporter() const { return exporter_; }
  Millis timeout() const { return timeout_; }
  void set_timeout(Millis t) { timeout_ = t; }

  Phase phase() const { return phase_; }
  void set_phase(Phase p) { phase_ = p; }
  const Traffic& traffic(Phase p) const { return traffic_[int(p)]; }
  // Running SHA-256 of the frames {sent, received}, headers included, refusals apart; of the frames of an
  // inference their tags enter, once TagFrames gave both directions keys that only the two ends know. Tags of long
  // frames are made in threads of the channel's own, one a direction, and waited for here.
  std::pair<Hash, Hash> Transcript();
  void TagFrames(const Hash& own, const Hash& peer);
  // set_transcript: off where nobody compares it (dealer links, whose chunks carry tags of their own).
  void set_transcript(bool on) { transcript_ = on; }
  // set_recorder: not owned; null = off.
  void set_recorder(Recorder* r) { recorder_ = r; }

 protected:
  // Blocked: runs f, which waits for the peer, and books how long.
  template <class F>
  auto Blocked(F&& f) {
    struct Book {
      double& sum;
      std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
      ~Book() { sum += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); }
    } book{waited_};
    return f();
  }
  struct Frame {
    uint16_t kind = 0, sequence = 0;
    Bytes payload;
  };
  // The whole frame is on its way when it returns. Take: the next frame, throwing as early as it can when it is
  // larger than limit. Linger: from now on the end of the
  // channel waits a little until the peer has read what was sent; what comes is thrown away.
  virtual void Put(View header, View payload) = 0;
  virtual Frame Take(size_t limit) = 0;
  // Of a frame, payload bytes [from, to) are on their way when it returns, or when Leave does; the header is
  // with the first. A transport that knows whole frames alone sends it with the last.
  virtual void PutUpTo(View header, View payload, size_t /*from*/, size_t to) {
    if (to == payload.size()) Put(header, payload);
  }
  // A frame that is due. Fill: waits until so many bytes of the oldest one are in its room, or until another
  // frame is found in its place, which it returns; the posted one's sequence is set when its header came.
  struct Posted {
    uint16_t kind = 0, sequence = 0;  // as due, until its header came
    std::span<uint8_t> room;
    size_t filled = 0;
    bool whole = false;
    bool Is(const Frame& f) const { return f.kind == kind && f.payload.size() == room.size(); }
  };
  std::deque<Posted> posted_;
  virtual std::optional<Frame> Fill(size_t bytes);
  virtual void Posting(const Posted&) {}
  // Nothing of this memory, which PutUpTo was given, is read any more; what was given later may still be on its
  // way. Who cannot send it says so at the next call.
  virtual void Leave(View /*memory*/) noexcept {}
  virtual void Linger() noexcept {}
  // What PeerGone makes of the first frame that nobody took yet.
  static bool GoneBy(const Frame& f, size_t due) { return f.kind == kRefuse || due == 0 || f.payload.size() > due; }
  // What lies under another channel, for one that wraps it.
  struct Under {
    Channel& ch;
    void Put(View header, View payload) { ch.Put(header, payload); }
    Frame Take(size_t limit) { return ch.Take(limit); }
    void Linger() noexcept { ch.Linger(); }
  };
  [[noreturn]] void TooLarge(uint64_t bytes, size_t limit);
  [[noreturn]] void WrongLength(uint16_t kind, size_t bytes, size_t due);
  [[noreturn]] void Silent(const char* doing);
  [[noreturn]] void Gone();
  // over: nothing more is said but a refusal.
  bool over() const { return over_; }
  static Bytes EncodeHeader(size_t length, uint16_t kind, uint16_t sequence);
  // Other connections to this one: from now on this is the exporter.
  void Bind(const Hash& exporter) { exporter_ = exporter; }
  // Of a frame found while an error was being handled.
  void ThrowIfRefusal(const Frame& f);

 private:
  std::pair<uint16_t, Bytes> Next(uint16_t a, uint16_t b, size_t limit);
  void CheckDue(const Frame& f, uint16_t a, uint16_t b);
  // Stays: whether the payload stays where it is until Release.
  void Book(bool sent, uint16_t kind, View header, View payload, bool stays = false);

  Identity self_, peer_;
  Hash exporter_;
  Millis timeout_;
  Phase phase_ = Phase::kControl;
  Traffic traffic_[kPhases];
  class Tagger;
  struct Direction {
    Sha256 frames;
    std::optional<ChunkTags> tags;
    std::unique_ptr<Tagger> tagger;  // from the first long frame on
    void Wait();                     // for tags of all frames so far
  };
  Direction sent_, received_;
  bool transcript_ = true, over_ = false;
  uint16_t next_sent_ = 0, next_received_ = 0;
  double waited_ = 0;
  Recorder* recorder_ = nullptr;
  std::optional<Bytes> sending_;     // the header of the frame that leaves by parts
  size_t length_ = 0, left_at_ = 0;  // of its payload: all, and what has left
  std::vector<View> leaving_;        // payloads that SendUpTo was given and that may not have left
};

// EndSession(channel, code, parts..): tells the peer the code and throws the sentence made of parts, with this
// cause.
template <class... T>
[[noreturn]] void EndSession(Channel& ch, Refusal code, Cause cause, const T&... parts) {
  ch.Refuse(code);
  Fail(cause, parts...);
}

// Guarded: runs f; when an exception leaves it, the peer is told (Refusal::kGaveUp unless a better code went before).
template <class F>
auto Guarded(Channel& ch, F&& f) {
  try {
    return f();
  } catch (...) {
    ch.Refuse(Refusal::kGaveUp);
    throw;
  }
}

// Two ends joined by queues, for tests and for roles in one process; the ends may live in two threads.
// When `stop` is requested, both hang up.
std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>> InProcessPair(Identity a, Identity b,
                                                                            Millis timeout = kTimeout,
                                                                            std::stop_token stop = {});

}  // namespace suf::net
