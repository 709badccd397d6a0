// SPDX-License-Identifier: Apache-2.0
#include <holt/fence.hpp>

#include <string>

namespace holt {

std::string Fence::padded() const {
  constexpr std::size_t width = 19;  // the digits of 2^63 - 1; no engine draws above it
  auto digits = std::to_string(value_);
  if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return digits;
}

}  // namespace holt
