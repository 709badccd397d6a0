// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/page.hpp"

#include <holt/error.hpp>

#include <fmt/format.h>

namespace holt::sqlite {
namespace {

constexpr std::uint32_t max_page = 1000;

}  // namespace

/// The smallest text above the cursor is the cursor with a zero byte behind it.
std::string first_of_page(std::string const& prefix, std::string const& cursor) {
  if (cursor.empty() || cursor < prefix) return prefix;
  return cursor + '\0';
}

void check_page_size(std::uint32_t limit) {
  if (limit >= 1 && limit <= max_page) return;
  throw InvalidArgument(
      fmt::format("a page of {} entries is not possible: use 1 to {}", limit, max_page));
}

}  // namespace holt::sqlite
