// Makes a link of fixed delay and rate between two network namespaces, for measurements. Each has a TUN device, and
// this process connects them, because some kernels have no sch_netem. Linux, as root.
//
//    link NETNS_A NETNS_B DELAY_US MBIT_PER_S QUEUE_MS LOSE    device "link0" in both, MTU 1500, until SIGINT, SIGTERM
//
// Packets leave in order at the rate and arrive DELAY_US later. A packet that would wait longer than QUEUE_MS is
// dropped, and so is every LOSE-th one (0: none). If the kernel left a packet unsegmented (up to 64 KB), it is billed
// as the segments on a real wire. It arrives with the last one. Prints a JSON line: packets, drops, lateness, CPU time.
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Nanos = std::chrono::nanoseconds;

// The header before each packet, because <linux/virtio_net.h> is not C++.
struct VirtioHeader {
  uint8_t flags, gso_type;  // 0: one segment
  uint16_t hdr_len, gso_size, csum_start, csum_offset;
};
static_assert(sizeof(VirtioHeader) == 10);

constexpr size_t kLargest = sizeof(VirtioHeader) + 65536;
constexpr int kEthernet = 38;  // bytes of a frame: preamble, header, checksum and gap
constexpr int kHeaders = 52;   // bytes of IPv4 and TCP with timestamps

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "link: %s (%s)\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

// Makes a device link0 in that namespace; the process returns to its own namespace.
int OpenTun(const char* netns) {
  int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  int there = open((std::string("/run/netns/") + netns).c_str(), O_RDONLY | O_CLOEXEC);
  if (home < 0 || there < 0 || setns(there, CLONE_NEWNET)) Die(std::string("cannot enter namespace ") + netns);
  int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  ifreq r{};
  std::strcpy(r.ifr_name, "link0");
  r.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
  if (fd < 0 || ioctl(fd, TUNSETIFF, &r) || ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4))
    Die("cannot make a TUN device");
  if (setns(home, CLONE_NEWNET)) Die("cannot leave the namespace");
  close(there);
  close(home);
  return fd;
}

// The bytes on the wire of a packet, which begins with its virtio header.
size_t WireBytes(const std::vector<char>& packet) {
  VirtioHeader h;
  std::memcpy(&h, packet.data(), sizeof h);
  size_t bytes = packet.size() - sizeof h, segments = 1;
  if (h.gso_type && h.gso_size && bytes > h.hdr_len) segments = (bytes - h.hdr_len + h.gso_size - 1) / h.gso_size;
  return bytes + (segments - 1) * kHeaders + segments * kEthernet;
}

// One direction of the link.
struct Way {
  int from, to;
  Nanos delay, patience;
  double nanos_per_byte;
  uint64_t lose;
  Clock::time_point idle{};  // when the wire has sent every packet so far
  std::deque<std::pair<Clock::time_point, std::vector<char>>> flying{};
  uint64_t seen = 0, packets = 0, bytes = 0, dropped = 0, refused = 0;
  std::vector<float> late_us{};

  // Reads at most `most` packets that arrived at `now`; false if there are no more.
  bool Take(Clock::time_point now, int most) {
    std::vector<char> buffer(kLargest);
    for (int i = 0; i < most; ++i) {
      ssize_t n = read(from, buffer.data(), buffer.size());
      if (n < ssize_t(sizeof(VirtioHeader))) return false;
      std::vector<char> packet(buffer.begin(), buffer.begin() + n);
      bool drop = idle - now > patience;
      if (!drop) {
        ++seen;
        drop = lose && seen % lose == 0;
      }
      if (drop) {
        ++dropped;
        continue;
      }
      size_t wire = WireBytes(packet);
      idle = std::max(idle, now) + Nanos(int64_t(double(wire) * nanos_per_byte));
      ++packets;
      bytes += wire;
      flying.emplace_back(idle + delay, std::move(packet));
    }
    return true;
  }
  // Writes the packets that are due; returns the time of the next one.
  Clock::time_point Give(Clock::time_point now) {
    for (; !flying.empty(); flying.pop_front()) {
      auto& [due, packet] = flying.front();
      if (due > now) return due;
      refused += write(to, packet.data(), packet.size()) < 0;
      if (late_us.size() < size_t{1} << 22) late_us.push_back(float(double((now - due).count()) / 1e3));
    }
    return Clock::time_point::max();
  }
};

double Quantile(std::vector<float>& v, double q) {
  if (v.empty()) return 0;
  auto at = v.begin() + long(double(v.size() - 1) * q);
  std::nth_element(v.begin(), at, v.end());
  return *at;
}

// Tests one direction between two sockets, with its own clock: 1 byte/us, delay 5 ms, queue 3 ms.
int SelfTest() {
  int in[2], out[2];
  for (int* s : {in, out})
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, s)) Die("cannot make sockets");
  Way w{in[1], out[0], Nanos(5'000'000), Nanos(3'000'000), 1e3, 5};
  auto start = Clock::time_point{} + std::chrono::seconds(1);
  auto at = [&](int us) { return start + std::chrono::microseconds(us); };
  int failed = 0;
  auto expect = [&](const char* what, int64_t got, int64_t due) {
    if (got != due) {
      ++failed;
      std::printf("link: %s is %lld, not %lld\n", what, (long long)got, (long long)due);
    }
  };
  auto send = [&](char name, size_t bytes, uint8_t gso_type, uint16_t gso_size) {
    std::vector<char> packet(sizeof(VirtioHeader) + bytes, name);
    VirtioHeader h{0, gso_type, kHeaders, gso_size, 0, 0};
    std::memcpy(packet.data(), &h, sizeof h);
    expect("a packet written", write(in[0], packet.data(), packet.size()), int64_t(packet.size()));
  };
  auto arrived = [&] {
    std::string names;
    char packet[8192];
    for (ssize_t n; (n = read(out[1], packet, sizeof packet)) > 0;) names += packet[n - 1];
    return names;
  };
  // Five packets of 1000 us each: the last one finds more than 3 ms queued before it.
  for (char name : {'a', 'b', 'c', 'd', 'e'}) send(name, 1000 - kEthernet, 0, 0);
  expect("the queue's end", w.Take(at(0), 16), false);
  expect("packets dropped", int64_t(w.dropped), 1);
  for (int i : {0, 1, 2, 3}) {
    expect("the next arrival", (w.Give(at(5999 + i * 1000)) - at(6000 + i * 1000)).count(), 0);
    expect("packets too early", int64_t(arrived().size()), 0);
    w.Give(at(6000 + i * 1000));
    expect("the packet that arrives", arrived() == std::string(1, char('a' + i)), true);
  }
  // An idle wire starts at once; the fifth packet is lost; three segments of 1000 bytes are billed as three.
  send('f', 500, 0, 0);
  send('g', kHeaders + 3000, 1, 1000);
  w.Take(at(20000), 16);
  expect("packets dropped or lost", int64_t(w.dropped), 2);
  expect("the arrival of three segments", (w.Give(at(20000)) - at(25000 + 3 * (1000 + kHeaders + kEthernet))).count(),
         0);
  expect("bytes on the wire", int64_t(w.bytes), 4 * 1000 + 3 * (1000 + kHeaders + kEthernet));
  return failed != 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--self-test") return SelfTest();
  if (argc != 7) {
    std::fprintf(stderr, "usage: link NETNS_A NETNS_B DELAY_US MBIT_PER_S QUEUE_MS LOSE | link --self-test\n");
    return 2;
  }
  Nanos delay(std::atoll(argv[3]) * 1000), patience(std::atoll(argv[5]) * 1'000'000);
  double nanos_per_byte = 8e3 / std::atof(argv[4]);
  uint64_t lose = std::strtoull(argv[6], nullptr, 10);
  int a = OpenTun(argv[1]), b = OpenTun(argv[2]);
  Way ways[2] = {{a, b, delay, patience, nanos_per_byte, lose}, {b, a, delay, patience, nanos_per_byte, lose}};
  // Run before the measured processes: a late packet would make the link seem longer.
  sched_param first{2};
  if (sched_setscheduler(0, SCHED_FIFO, &first)) setpriority(PRIO_PROCESS, 0, -20);
  prctl(PR_SET_TIMERSLACK, 1);
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // the link ends with the process that started it
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  pollfd wait[3] = {{a, POLLIN, 0}, {b, POLLIN, 0}, {signalfd(-1, &ends, SFD_CLOEXEC), POLLIN, 0}};
  std::printf("link: ready\n");
  std::fflush(stdout);
  auto begin = Clock::now();
  for (bool more = false; !wait[2].revents;) {
    auto next = std::min(ways[0].Give(Clock::now()), ways[1].Give(Clock::now()));
    auto until = std::min(next, Clock::now() + std::chrono::milliseconds(500));
    Nanos rest = more ? Nanos(0) : std::max(Nanos(0), Nanos(until - Clock::now()));
    timespec t{0, rest.count()};
    if (ppoll(wait, 3, &t, nullptr) < 0) Die("cannot wait");
    more = false;
    for (int i : {0, 1})
      if (wait[i].revents) more |= ways[i].Take(Clock::now(), 16);
  }
  rusage use;
  getrusage(RUSAGE_SELF, &use);
  auto seconds = [](timeval t) { return double(t.tv_sec) + double(t.tv_usec) / 1e6; };
  std::printf("{\"wall_s\":%.3f,\"cpu_s\":%.3f", std::chrono::duration<double>(Clock::now() - begin).count(),
              seconds(use.ru_utime) + seconds(use.ru_stime));
  for (Way& w : ways)
    std::printf(
        ",\"%s\":{\"packets\":%llu,\"bytes\":%llu,\"dropped\":%llu,\"refused\":%llu,\"late_us\":[%.0f,%.0f,%.0f]}",
        &w == ways ? "a_to_b" : "b_to_a", (unsigned long long)w.packets, (unsigned long long)w.bytes,
        (unsigned long long)w.dropped, (unsigned long long)w.refused, Quantile(w.late_us, 0.5),
        Quantile(w.late_us, 0.99), Quantile(w.late_us, 1));
  std::printf("}\n");
}
