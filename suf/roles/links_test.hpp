// Helpers for tests of roles: three roles in one process. Each conversation has a thread and a channel in memory.
#pragma once
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "suf/roles/dealer.hpp"
#include "suf/roles/server.hpp"

namespace suf::roles {

inline constexpr net::Identity kId[] = {{Role::kModel, {12}}, {Role::kData, {13}}, {Role::kDealer, {11}}};

class Links {
 public:
  explicit Links(std::optional<Dealer>& dealer, const net::Identity& id = kId[int(Role::kDealer)])
      : dealer_(dealer), id_(id) {}
  ~Links() { Join(); }
  // Returns a function that connects a party to the dealer.
  proto::DialDealer Dial(Role role) {
    return [this, role](std::stop_token stop) {
      auto [near, far] = net::InProcessPair(kId[int(role)], id_, net::kTimeout, std::move(stop));
      std::lock_guard l(m_);
      links_.emplace_back([this, ch = std::move(far)]() mutable {
        try {
          dealer_->Handle(*ch);
        } catch (const Error&) {
        }
        ch.reset();
      });
      return std::move(near);
    };
  }
  // Runs P0 in a thread and `p1` here. Throws the error of p1; that of P0 is in `served`.
  void Talk(Server& p0, const std::function<void(net::Channel&)>& p1) {
    auto [near, far] = net::InProcessPair(kId[int(Role::kData)], kId[int(Role::kModel)]);
    served.reset();
    std::thread serve([&, ch = std::move(far)]() mutable {
      try {
        p0.Serve(*ch);
      } catch (const Error& e) {
        served = e;
      }
      ch.reset();
    });
    std::exception_ptr error;
    try {
      p1(*near);
    } catch (...) {
      error = std::current_exception();
    }
    near.reset();
    serve.join();
    Join();
    if (error) std::rethrow_exception(error);
  }
  std::optional<Error> served;

 private:
  void Join() {
    for (auto& t : links_) t.join();
    links_.clear();
  }
  std::optional<Dealer>& dealer_;
  const net::Identity id_;
  std::mutex m_;
  std::vector<std::thread> links_;
};

}  // namespace suf::roles
