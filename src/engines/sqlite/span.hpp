// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums of times must not overflow, whatever a caller thinks "for ever" is.

#include <cstdint>

namespace holt::sqlite {

inline constexpr std::int64_t longest_ns = std::int64_t{1} << 60U;

}  // namespace holt::sqlite
