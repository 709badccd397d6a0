// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/syncguard_options.hpp"

#include "engines/redis/query_options.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace holt::redis {
namespace {

constexpr auto names =
    std::to_array<std::string_view>({"layout", "prefix", "cleanup_in_is_locked"});

bool cleanup_of(std::string_view value) {
  if (value == "true") return true;
  if (value == "false") return false;
  refuse_layout(
      fmt::format("cleanup_in_is_locked={} is not possible, only true and false are", value));
}

}  // namespace

std::optional<SyncguardOptions> take_syncguard_options(std::string& url) {
  auto const found = take_query_options(url, names);
  if (found.empty()) return std::nullopt;
  auto const value = [&](std::string_view option, std::string_view otherwise) {
    auto const at = found.find(option);
    return at == found.end() ? std::string(otherwise) : at->second;
  };
  if (!found.contains("layout")) {
    refuse_layout(
        fmt::format("prefix and cleanup_in_is_locked belong to a layout (there are {}), and it "
                    "names none",
                    syncguard_layouts));
  }
  auto const* const layout = find_syncguard_layout(value("layout", {}));
  if (layout == nullptr) {
    refuse_layout(
        fmt::format("there is no layout \"{}\" (there are {}, poll, sovereign, and Holt's own "
                    "without layout=)",
                    value("layout", {}), syncguard_layouts));
  }
  return SyncguardOptions{layout, value("prefix", syncguard_prefix),
                          cleanup_of(value("cleanup_in_is_locked", "false"))};
}

std::string with_layout(std::string const& url, SyncguardOptions const& options) {
  return fmt::format("{}{}layout={}&prefix={}", url, url.contains('?') ? '&' : '?',
                     options.layout->name, query_text(options.prefix));
}

}  // namespace holt::redis
