// SPDX-License-Identifier: Apache-2.0
#include <holt/observer.hpp>

namespace holt {

std::string_view to_string(Observation::Operation operation) noexcept {
  using enum Observation::Operation;
  switch (operation) {
    case acquire:
      return "acquire";
    case release:
      return "release";
    case extend:
      return "extend";
    case is_locked:
      return "is-locked";
    case lookup:
      return "lookup";
    case lost:
      return "lost";
  }
  return "unknown";
}

std::string_view to_string(Observation::Result result) noexcept {
  return result == Observation::Result::ok ? "ok" : "fail";
}

std::string_view to_string(Observation::Reason reason) noexcept {
  using enum Observation::Reason;
  switch (reason) {
    case none:
      return "none";
    case locked:
      return "locked";
    case expired:
      return "expired";
    case not_found:
      return "not-found";
    case error:
      return "error";
  }
  return "unknown";
}

}  // namespace holt
