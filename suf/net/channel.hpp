// A typed pipe between two roles: frames {u32 length, u16 kind, u16 sequence}, counted, hashed and recorded in one
// place. Transports only add bytes: an in-process pair (here) and TLS (tls.hpp). This file knows neither TLS nor the
// protocol.
#pragma once
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "suf/base/digest.hpp"
#include "suf/net/refusal.hpp"
#include "suf/net/signature.hpp"
#include "suf/net/tags.hpp"

namespace suf::net {

using Millis = std::chrono::milliseconds;
inline constexpr Millis kTimeout{60'000};
inline constexpr Millis kPeerPoll{50};  // a thread that waits for something else polls the peer so often
inline constexpr size_t kFrameHeader = 8;
inline constexpr size_t kMaxFrame = (size_t{1} << 32) - 1;
inline constexpr int kMostStreams = 16;      // the most TLS connections of a session
inline constexpr size_t kControlFrame = 64;  // payload of a MAC, in bytes

// The kind of a frame. Those below kFirstRun belong to the sessions; an inference numbers its own from kFirstRun on.
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
  kWait,
  kStay,
  kPull,
  kCatalogue,
  kFile,
  kSegments,
  kFirstRun = 0x100
};

// The phase of a session, for traffic counts. Hello, claim, MACs and bye count as kControl, W_hat as kSetup. The
// schedule assigns the frames of an inference to kOffline or kOnline.
enum class Phase { kControl, kSetup, kOffline, kOnline };
inline constexpr int kPhases = 4;

// The state of a peer. A stranger may make us hold 64 KiB. An accepted peer sent the right hello, and may make us
// hold 1 MiB beyond the bytes that it sent. For an engaged peer we deal or compute, or it waits for that. A Listener
// that stops waits for the end of that. A session that stays after its work is accepted again: it idles, and a Listener
// that stops drops it.
enum class PeerState { kStranger, kAccepted, kEngaged, kOver };

struct Identity {
  Role role = Role::kDealer;
  Hash key{};  // SHA-256 of the public key (SubjectPublicKeyInfo)
};

// Counts of frames and bytes: payloads and frame headers, without TLS.
struct Traffic {
  uint64_t frames_sent = 0, bytes_sent = 0, frames_received = 0, bytes_received = 0;
  Traffic& operator+=(const Traffic& o);
};

// A file of a channel's frames. It begins with "SUFREC2\n". A frame is u8 1 = sent 0 = received, u8 role of the peer,
// u32 length, u16 kind, u16 sequence, then the payload. Frames from or to the dealer have the SHA-256 of the payload
// instead.
class Recorder {
 public:
  // Throws Cause::kResource if the file exists or cannot be made.
  explicit Recorder(const std::string& path);
  ~Recorder();
  void Add(bool sent, Role peer, View header, View payload);

 private:
  std::string path_;
  int fd_;
};

// One end of a session between two roles. Used by one thread at a time. Each wait ends after timeout() with an error
// message that names the silent peer (Cause::kPeer).
class Channel {
 public:
  Channel(Identity self, Identity peer, const Hash& exporter, Millis timeout);
  virtual ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  void Send(uint16_t kind, View payload);
  // Returns the payload of the next frame. Ends the session if it has another kind, a sequence gap, or more than
  // `limit` bytes. If the peer refused, throws the error of that refusal.
  Bytes Recv(uint16_t kind, size_t limit) { return Next(kind, kind, limit).second; }
  // Receives a frame of exactly `bytes` bytes. Errors as in Recv.
  Bytes RecvExact(uint16_t kind, size_t bytes) { return RecvEither(kind, kind, bytes).second; }
  // A kind of frame that the peer may send, and the exact length of its payload.
  struct DueFrame {
    uint16_t kind;
    size_t bytes;
  };
  // Receives a frame of either kind, as the peer chooses. Returns {kind, payload}.
  std::pair<uint16_t, Bytes> RecvEither(DueFrame a, DueFrame b);
  std::pair<uint16_t, Bytes> RecvEither(uint16_t a, uint16_t b, size_t bytes) {
    return RecvEither(DueFrame{a, bytes}, DueFrame{b, bytes});
  }
  // Receives a frame of either kind, of at most `limit` bytes. Returns {kind, payload}.
  std::pair<uint16_t, Bytes> RecvEitherUpTo(uint16_t a, uint16_t b, size_t limit) { return Next(a, b, limit); }
  // Posts the buffer of a due frame, which must have exactly its length. Bytes go there as they arrive, during any read
  // and also while we write. Frames are posted in the order in which they are due, and before any other frame is
  // received.
  void Post(uint16_t kind, std::span<uint8_t> buffer) {
    posted_.push_back({kind, uint16_t(next_received_ + posted_.size()), buffer});
    OnPost(posted_.back());
  }
  // Returns when the first `bytes` bytes of the oldest posted frame are in its buffer. If these are all of it, the
  // frame is received. Errors as in Recv.
  void RecvUpTo(size_t bytes);
  // Posts a buffer and receives the whole frame. If it throws, nothing more is written into the buffer.
  void RecvInto(uint16_t kind, std::span<uint8_t> buffer);
  // Withdraws all posted frames, so that their buffers may be freed. An in-process channel can still receive these
  // frames. Over TLS a frame that had begun to arrive is lost, and with several streams so are all long frames. The
  // call that receives a lost frame ends the session.
  virtual void Unpost() { posted_.clear(); }
  // Sends a frame whose first bytes are final before its last: bytes [0, bytes) of the payload may leave. The first
  // call begins the frame, and nothing else may be sent before its end. Each call passes the same kind and payload.
  void SendUpTo(uint16_t kind, View payload, size_t bytes);
  // Returns when the channel no longer reads this memory. A payload passed to SendUpTo may still be on its way. A
  // payload that was sent, or received into this memory, may still be read for its tag.
  void Release(View memory);
  // Returns the seconds for which Recv was blocked so far.
  double waited() const { return waited_; }
  // Reports to the peer why the session ends, and after how many seconds it may return (0: none). Works once and never
  // throws. Nothing can be sent afterwards.
  void Refuse(Refusal code, uint32_t retry_s = 0) noexcept;
  // Returns the code of our refusal, if there was one.
  std::optional<Refusal> refusal() const { return refusal_; }
  // Whether the peer hung up, refused, or sent anything but one frame of at most `due` bytes. That frame is kept for
  // Recv. If `due` is 0, no frame at all is due. Polls without waiting, and reads no further than that frame.
  virtual bool PeerGone(size_t due) = 0;
  // Polls with the usual limit. P1 may send its claim before P0 waits for it. All other peers send nothing while they
  // wait for us.
  bool PeerGone() {
    return PeerGone(self_.role == Role::kModel && peer_.role == Role::kData ? kControlFrame : size_t{0});
  }
  // Sets the peer's state. Called by RecvHello, by Send for a frame that engages us, and by Refuse. A session that
  // begins to idle calls it with kAccepted again, between two frames. This frees buffers, threads and unused stack,
  // which the next long frame takes again.
  virtual void Advance(PeerState state) noexcept;
  // Hangs up, from any thread: the peer finds the end of the session behind our last whole frame. A call of the
  // channel's own thread that waits throws Cause::kPeer at once, as does every later one. The caller reports the
  // reason.
  virtual void HangUp() noexcept = 0;
  // Whether the peer has a loopback address.
  virtual bool IsLocal() const { return false; }
  const Identity& self() const { return self_; }
  const Identity& peer() const { return peer_; }
  const char* peer_title() const { return Title(peer_.role); }
  // Sets our own key, and the peer's certificates as Signer::certificates has ours. The TLS handshake sets both; an
  // in-process channel has none.
  void SetSigner(std::shared_ptr<const Signer> own, std::string peer_certificates) {
    signer_ = std::move(own);
    peer_certificates_ = std::move(peer_certificates);
  }
  // Returns our own key; null if there is none.
  const Signer* signer() const { return signer_.get(); }
  const std::string& peer_certificates() const { return peer_certificates_; }
  // Returns the TLS exporter value of this connection and all its streams. It is equal at both ends and differs from
  // that of every other connection.
  const Hash& exporter() const { return exporter_; }
  Millis timeout() const { return timeout_; }
  void set_timeout(Millis t) { timeout_ = t; }

  Phase phase() const { return phase_; }
  void set_phase(Phase p) { phase_ = p; }
  const Traffic& traffic(Phase p) const { return traffic_[int(p)]; }
  // Returns the running SHA-256 of the frames {sent, received}, with headers but without refusals. After TagFrames, the
  // frames of an inference enter by their tags. The channel's own threads, one per direction, tag long frames; this
  // call waits for them.
  std::pair<Hash, Hash> Transcript();
  // Tags the frames of inferences from now on. Only the two ends know the keys of the two directions.
  void TagFrames(const Hash& own, const Hash& peer);
  // Turns the transcript on or off. It is off on dealer links: their transcripts are not compared, and their chunks
  // carry tags.
  void set_transcript(bool on) { transcript_ = on; }
  // Sets the recorder, which is not owned. Null turns recording off.
  void set_recorder(Recorder* r) { recorder_ = r; }

 protected:
  // Runs f, which waits for the peer, and adds its duration to waited().
  template <class F>
  auto Blocked(F&& f) {
    struct WaitTimer {
      double& sum;
      std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
      ~WaitTimer() { sum += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); }
    } timer{waited_};
    return f();
  }
  struct ReceivedFrame {
    uint16_t kind = 0, sequence = 0;
    Bytes payload;
  };
  // Sends a whole frame, all of which is on its way on return.
  virtual void Put(View header, View payload) = 0;
  // Returns the next frame. If it is larger than `limit`, throws as early as possible.
  virtual ReceivedFrame Take(size_t limit) = 0;
  // Sends payload bytes [from, to) of a frame; the header goes with the first. They are on their way when this returns,
  // or when AwaitSent does. A transport that sends only whole frames sends it with the last bytes.
  virtual void PutUpTo(View header, View payload, size_t /*from*/, size_t to) {
    if (to == payload.size()) Put(header, payload);
  }
  // A due frame and its buffer.
  struct PostedFrame {
    uint16_t kind = 0, sequence = 0;  // as due, until its header arrived
    std::span<uint8_t> buffer;
    size_t filled = 0;
    bool whole = false;
    bool Is(const ReceivedFrame& f) const { return f.kind == kind && f.payload.size() == buffer.size(); }
  };
  std::deque<PostedFrame> posted_;
  // Waits until `bytes` bytes of the oldest posted frame are in its buffer. Returns another frame if one is found in
  // its place. Sets the posted frame's sequence when its header arrives.
  virtual std::optional<ReceivedFrame> Fill(size_t bytes);
  virtual void OnPost(const PostedFrame&) {}
  // Waits until this memory, which was passed to PutUpTo, is no longer read. Memory passed later may still be on its
  // way. If the memory cannot be sent, the next call reports it.
  virtual void AwaitSent(View /*memory*/) noexcept {}
  // Makes the channel's destructor wait a little, until the peer has read everything sent. Incoming frames are
  // discarded.
  virtual void Linger() noexcept {}
  // Whether this frame, the first one not yet received, means for PeerGone that the peer is gone.
  static bool MeansGone(const ReceivedFrame& f, size_t due) {
    return f.kind == kRefuse || due == 0 || f.payload.size() > due;
  }
  // Protected operations of another channel, for a channel that wraps it.
  struct WrappedChannel {
    Channel& ch;
    void Put(View header, View payload) { ch.Put(header, payload); }
    ReceivedFrame Take(size_t limit) { return ch.Take(limit); }
    void Linger() noexcept { ch.Linger(); }
  };
  [[noreturn]] void FailTooLarge(uint64_t bytes, size_t limit);
  [[noreturn]] void FailWrongLength(uint16_t kind, size_t bytes, size_t due);
  [[noreturn]] void FailSilent(const char* doing);
  [[noreturn]] void FailGone();
  // Notes that HangUp was called, for FailGone. Thread-safe.
  void NoteHangUp() noexcept { hung_up_ = true; }
  bool hung_up() const { return hung_up_; }
  // Whether the session is over, so that only a refusal may still be sent.
  bool over() const { return over_; }
  static Bytes EncodeHeader(size_t length, uint16_t kind, uint16_t sequence);
  // Replaces the exporter by one that binds other connections to this one.
  void Bind(const Hash& exporter) { exporter_ = exporter; }
  // Throws the error of a refusal if the frame is one.
  void ThrowIfRefusal(const ReceivedFrame& f);

 private:
  std::pair<uint16_t, Bytes> Next(uint16_t a, uint16_t b, size_t limit);
  void CheckDue(const ReceivedFrame& f, uint16_t a, uint16_t b);
  // Counts, records and hashes a frame. `stays` says that the payload stays in place until Release.
  void RecordFrame(bool sent, uint16_t kind, View header, View payload, bool stays = false);

  Identity self_, peer_;
  std::shared_ptr<const Signer> signer_;
  std::string peer_certificates_;
  Hash exporter_;
  Millis timeout_;
  Phase phase_ = Phase::kControl;
  Traffic traffic_[kPhases];
  class Tagger;
  struct Direction {
    Sha256 frames;
    std::optional<ChunkTags> tags;
    std::unique_ptr<Tagger> tagger;  // made for the first long frame
    void AwaitTags();                // waits for the tags of all frames so far
  };
  Direction sent_, received_;
  bool transcript_ = true, over_ = false;
  std::optional<Refusal> refusal_;
  std::atomic<bool> hung_up_{false};
  uint16_t next_sent_ = 0, next_received_ = 0;
  double waited_ = 0;
  Recorder* recorder_ = nullptr;
  std::optional<Bytes> sending_;     // the header of the frame that is sent by parts
  size_t length_ = 0, left_at_ = 0;  // of its payload: all bytes, and those that left
  std::vector<View> leaving_;        // payloads of SendUpTo that may not have left yet
};

// Reports the code to the peer and throws an error with this cause and the joined parts.
template <class... T>
[[noreturn]] void EndSession(Channel& ch, Refusal code, Cause cause, const T&... parts) {
  ch.Refuse(code);
  Fail(cause, parts...);
}

// Runs f. If an exception leaves it, reports Refusal::kGaveUp to the peer, unless a better code went before.
template <class F>
auto Guarded(Channel& ch, F&& f) {
  try {
    return f();
  } catch (...) {
    ch.Refuse(Refusal::kGaveUp);
    throw;
  }
}

// Returns two ends joined by queues, for tests and for roles in one process. The ends may live in two threads. If
// `stop` is requested, both hang up.
std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>> InProcessPair(Identity a, Identity b,
                                                                            Millis timeout = kTimeout,
                                                                            std::stop_token stop = {});

}  // namespace suf::net
