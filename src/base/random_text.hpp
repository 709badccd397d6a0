// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random numbers as text that is safe in names, files and URLs.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace holt {

/// The bytes in the URL-safe alphabet of RFC 4648, without padding.
[[nodiscard]] std::string base64url(std::span<std::byte const> bytes);

/// 128 random bits, 22 characters; calls `random` twice for 64 bits each.
[[nodiscard]] std::string random_token(std::function<std::uint64_t()> const& random);

/// 96 random bits behind the time, 26 characters: those made about the same time stand together in
/// an index, where those that are random alone would each be on a page of their own. They sort by
/// their milliseconds, which start over after 139 years; what stands before the '.' is the same for
/// 128 of them.
[[nodiscard]] std::string timed_token(std::chrono::system_clock::time_point when,
                                      std::function<std::uint64_t()> const& random);

}  // namespace holt
