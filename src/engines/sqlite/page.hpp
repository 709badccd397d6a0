// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small rules that leases and records share: pages of a listing, and spans of time.

#include <cstdint>
#include <string>

namespace holt::sqlite {

/// Where a listing starts: at `prefix`, or right behind `cursor` when that comes later.
[[nodiscard]] std::string first_of_page(std::string const& prefix, std::string const& cursor);

/// Throws InvalidArgument when a page of this size is not possible.
void check_page_size(std::uint32_t limit);

/// Sums of times must not overflow, whatever a caller thinks "for ever" is.
inline constexpr std::int64_t longest_ns = std::int64_t{1} << 60U;

}  // namespace holt::sqlite
