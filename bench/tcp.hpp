// A link of the benchmark, not of the product: frames of one inference over plain TCP, neither encrypted nor tagged.
// What a machine's sockets cost in themselves, and what a system without a protected channel is measured with.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "suf/run/party.hpp"

namespace suf::bench {

// Connected: `count` TCP connections over the loopback, their two ends, with TCP_NODELAY. Throws Cause::kResource.
std::array<std::vector<int>, 2> Connected(int count);
// Put, Get: all bytes of a blocking socket. Throw Cause::kPeer when it ends.
void Put(int socket, View bytes);
void Get(int socket, std::span<uint8_t> bytes);

// TcpLink: a frame is cut into chunks, each of which leaves as soon as it is final: of a long frame chunk by chunk over
// the sockets in turn, of another one all over the first. The caller moves those of the first socket itself, and reads
// while it cannot write; each other socket has a thread a direction. Who waits looks again and again before it sleeps,
// where there are cores to spare: waking up takes longer than a flight. Before a frame go its index and its bytes.
class TcpLink : public run::Link {
 public:
  // Takes the sockets over. seconds: after so long a silence Receive throws Cause::kPeer.
  explicit TcpLink(std::vector<int> sockets, double seconds = 60);
  ~TcpLink() override;
  void Send(int index, View payload, size_t bytes) override;
  void Post(int index, std::span<uint8_t> into) override;
  void Receive(int index, size_t bytes) override;
  void Release(View memory) override;
  double waited() const override { return waited_; }

 private:
  // kAside: from so many sockets on long frames are left to the threads' sockets: the caller computes.
  static constexpr size_t kAside = 4;
  struct Cut;
  void Moved();
  template <class F>
  void Wait(std::unique_lock<std::mutex>& l, const F& ready);
  struct In;
  struct Out;
  bool Pump();
  void Write(View bytes);
  void Through();
  void ReadThread(size_t socket);
  void WriteThread(size_t socket);
  void Stop();

  const std::vector<int> sockets_;
  const double seconds_;
  double waited_ = 0;
  std::mutex m_;
  std::condition_variable changed_;
  std::atomic<uint64_t> moves_{0};  // changes so far: who looks asks for them before he takes the lock
  bool closed_ = false;
  std::string failed_;                      // of a thread
  std::deque<std::shared_ptr<In>> posted_;  // not yet received
  uint64_t posts_ = 0;                      // so far
  // of the first socket: the frame that it reads, and where
  std::shared_ptr<In> reading_;
  uint64_t next_ = 0;
  size_t head_ = 0, at_ = 0;
  uint32_t header_[2] = {};
  std::shared_ptr<Out> sending_;
  uint64_t sends_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace suf::bench
