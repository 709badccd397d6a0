// SPDX-License-Identifier: Apache-2.0
#include <holt/diagnosis.hpp>

#include <algorithm>

namespace holt {

std::string_view to_string(FindingStatus status) noexcept {
  switch (status) {
    case FindingStatus::ok:
      return "ok";
    case FindingStatus::info:
      return "info";
    case FindingStatus::warn:
      return "warn";
    case FindingStatus::fail:
      return "fail";
  }
  return "?";
}

FindingStatus worst(std::vector<Finding> const& findings) noexcept {
  auto status = FindingStatus::ok;
  for (auto const& finding : findings) status = std::max(status, finding.status);
  return status;
}

}  // namespace holt
