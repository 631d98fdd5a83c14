// Times one flight over plain TCP, from one party's memory to the other's. The memory is a device's, by way of host
// buffers, or the host's own. The parties are two processes, or threads of this one.
//
//    flight_bench [BACKEND] [STREAMS] [DEVICE,DEVICE] [PARTIES]
//
// BACKEND: cuda or packed (default); PARTIES: processes (default) or threads. Prints one JSON line for each size: half
// of the median round trip, in microseconds. The bytes are compared after every round trip.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "bench/run_main.hpp"
#include "bench/tcp.hpp"
#include "suf/base/secret.hpp"
#if SUF_CUDA
#include "suf/exec/cuda/device.hpp"
#endif

namespace suf::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kSizes[] = {1 << 10, 64 << 10, 1 << 20}, kPiece = size_t{128} << 10;
constexpr int kTrips = 201;
constexpr size_t kStep = 4096;  // distance of consecutive messages in the random bytes

// The memory that holds a party's message. It is copied to and from the host piece by piece.
class Place {
 public:
  virtual ~Place() = default;
  // Begins to copy all pieces to the host.
  virtual void ToHost(uint8_t* to, size_t bytes) = 0;
  // Waits until this piece is copied; called in order.
  virtual void Await(size_t piece) = 0;
  // Copies a piece of `bytes` bytes at offset `at` back.
  virtual void FromHost(const uint8_t* from, size_t at, size_t bytes) = 0;
  virtual void Finish() {}
};

class HostPlace : public Place {
 public:
  void ToHost(uint8_t* to, size_t bytes) override {
    to_ = to;
    bytes_ = bytes;
  }
  void Await(size_t piece) override {
    const size_t at = piece * kPiece;
    std::copy_n(mine_.data() + at, std::min(kPiece, bytes_ - at), to_ + at);
  }
  void FromHost(const uint8_t* from, size_t at, size_t bytes) override { std::copy_n(from, bytes, mine_.data() + at); }

 private:
  uint8_t* to_ = nullptr;
  size_t bytes_ = 0;
  Bytes mine_ = Bytes(kSizes[2]);
};

#if SUF_CUDA
// Copies by the copy engine. Between kernels a copying kernel is as fast; alone it takes longer.
class DevicePlace : public Place {
 public:
  explicit DevicePlace(int device) {
    (void)exec::cuda::Find(device);
    exec::cuda::Use(device);
    exec::cuda::PinHostBuffers();
    queue_ = exec::cuda::DeviceStream(true);
    mine_ = exec::cuda::DeviceMemory(kSizes[2]);
    there_.resize(kSizes[2] / kPiece);
  }
  void ToHost(uint8_t* to, size_t bytes) override {
    for (size_t at = 0; at < bytes; at += kPiece) {
      exec::cuda::Download(to + at, mine_.data() + at, std::min(kPiece, bytes - at), queue_.stream());
      there_[at / kPiece].Record(queue_.stream());
    }
  }
  void Await(size_t piece) override { there_[piece].Wait(); }
  void FromHost(const uint8_t* from, size_t at, size_t bytes) override {
    exec::cuda::Upload(mine_.data() + at, from, bytes, queue_.stream());
  }
  void Finish() override { queue_.Wait(); }

 private:
  exec::cuda::DeviceStream queue_;
  exec::cuda::DeviceMemory mine_;
  std::vector<exec::cuda::Event> there_;  // of each piece
};
#endif

std::unique_ptr<Place> MakePlace(const std::string& backend, [[maybe_unused]] int device) {
  if (backend == "packed") return std::make_unique<HostPlace>();
#if SUF_CUDA
  if (backend == "cuda") return std::make_unique<DevicePlace>(device);
#endif
  Fail(Cause::kInput, "this benchmark has no backend ", backend, "; take packed, or cuda where it was built");
}

// Sends one message.
void SendFrom(Place& place, TcpLink& link, int index, exec::HostBuffer& room, size_t bytes) {
  const View payload = room.view().first(bytes);
  place.ToHost(room.span().data(), bytes);
  for (size_t at = 0; at < bytes; at += kPiece) {
    place.Await(at / kPiece);
    link.Send(index, payload, std::min(at + kPiece, bytes));
  }
}
void ReceiveInto(Place& place, TcpLink& link, int index, exec::HostBuffer& room, size_t bytes) {
  for (size_t at = 0; at < bytes; at += kPiece) {
    const size_t piece = std::min(kPiece, bytes - at);
    link.Receive(index, at + piece);
    place.FromHost(room.view().data() + at, at, piece);
  }
}

// Runs all round trips of P0, or of P1. P1's reply follows the received message in the device's order, as in a step.
// The host does not wait in between. P0 reports its times to `told`.
void Fly(size_t me, TcpLink& link, Place& place,
         const std::function<void(size_t bytes, std::vector<double> us)>& told) {
  exec::HostBuffer out(kSizes[2]), in(kSizes[2]);
  Bytes random(me ? 0 : kSizes[2] + kStep * kTrips);  // made in advance: threads sleep if nothing moves for 1 ms
  RandomBytes(random);
  int index = 0;
  bool warm = false;
  for (size_t bytes : {kSizes[1], kSizes[0], kSizes[1], kSizes[2]}) {  // the first trips wake a device
    std::vector<double> us;
    for (int trip = 0; trip < kTrips; ++trip, index += 2) {
      if (me) {
        link.Post(index, in.span().first(bytes));
        ReceiveInto(place, link, index, in, bytes);
        SendFrom(place, link, index + 1, out, bytes);
        continue;
      }
      const View sent = View(random).subspan(kStep * size_t(trip), bytes);
      Bytes back(bytes);
      place.FromHost(sent.data(), 0, bytes);
      place.Finish();
      link.Post(index + 1, in.span().first(bytes));
      const auto begin = Clock::now();
      SendFrom(place, link, index, out, bytes);
      ReceiveInto(place, link, index + 1, in, bytes);
      place.Finish();
      if (trip) us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / 2);
      place.ToHost(back.data(), bytes);
      for (size_t at = 0; at < bytes; at += kPiece) place.Await(at / kPiece);
      if (!std::equal(sent.begin(), sent.end(), back.begin())) Fail(Cause::kRefused, "a message came back altered");
    }
    if (!me && std::exchange(warm, true)) told(bytes, std::move(us));
  }
  link.Release(out.view());
}

int Main(int argc, char** argv) {
  const std::string backend = argc > 1 ? argv[1] : "packed", devices = argc > 3 ? argv[3] : "0,0";
  const int streams = argc > 2 ? std::stoi(argv[2]) : 1;
  const std::string parties = argc > 4 ? argv[4] : "processes";
  if (parties != "processes" && parties != "threads")
    Fail(Cause::kInput, "parties are processes or threads; got ", parties);
  auto ends = Connected(streams);
  const auto fly = [&](size_t me) {
    TcpLink link(ends[me]);
    const auto place = MakePlace(backend, std::stoi(me ? devices.substr(devices.find(',') + 1) : devices));
    Fly(me, link, *place, [&](size_t bytes, std::vector<double> us) {
      std::sort(us.begin(), us.end());
      std::cout << nlohmann::ordered_json{{"bench", "flight"},  {"backend", backend}, {"link", "tcp"},
                                          {"streams", streams}, {"devices", devices}, {"parties", parties},
                                          {"bytes", bytes},     {"trips", us.size()}, {"us", us[us.size() / 2]},
                                          {"us_best", us[0]}}
                       .dump()
                << std::endl;
    });
  };
  if (parties == "threads") {
    std::exception_ptr error;
    std::thread other([&] {
      try {
        fly(1);
      } catch (...) {
        error = std::current_exception();
      }
    });
    fly(0);
    other.join();
    if (error) std::rethrow_exception(error);
    return 0;
  }
  const pid_t child = fork();  // before any thread or device use
  const size_t me = child ? 0 : 1;
  for (int s : ends[1 - me]) close(s);
  if (!child) prctl(PR_SET_PDEATHSIG, SIGKILL);
  fly(me);
  if (me) _exit(0);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace
}  // namespace suf::bench

int main(int argc, char** argv) { return suf::bench::RunMain(suf::bench::Main, argc, argv); }
