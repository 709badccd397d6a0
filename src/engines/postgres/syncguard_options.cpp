// SPDX-License-Identifier: Apache-2.0
#include "engines/postgres/syncguard_options.hpp"

#include "engines/postgres/place_options.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holt::postgres {
namespace {

/// The server cuts longer names short, so two of them might be one table.
constexpr std::size_t longest_table = 63;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string table_of(std::string_view option, std::string const& value) {
  bool const plain = std::ranges::all_of(value, [](char c) { return is_letter(c) || is_digit(c); });
  if (value.empty() || value.size() > longest_table || !is_letter(value[0]) || !plain) {
    refuse_address(
        fmt::format("{} has 1 to {} letters a-z and A-Z, digits and _, and begins with no digit",
                    option, longest_table));
  }
  return value;
}

bool cleanup_of(std::string const& value) {
  if (value != "true" && value != "false") {
    refuse_address("cleanup_in_is_locked can only be true or false");
  }
  return value == "true";
}

}  // namespace

bool apply_syncguard_option(SyncguardOptions& options, std::string_view name,
                            std::string const& value) {
  if (name == "layout") {
    if (value != syncguard_layout) {
      refuse_address(fmt::format(
          "there is no layout \"{}\" on PostgreSQL (there is {}, and Holt's own without layout=)",
          value, syncguard_layout));
    }
    options.layout = value;
  } else if (name == "table_name") {
    options.locks = table_of(name, value);
  } else if (name == "fence_table_name") {
    options.counters = table_of(name, value);
  } else if (name == "cleanup_in_is_locked") {
    options.cleanup = cleanup_of(value);
  } else {
    return false;
  }
  options.said = true;
  return true;
}

void check_syncguard_options(SyncguardOptions const& options) {
  if (options.said && !options) {
    refuse_address(
        fmt::format("table_name, fence_table_name and cleanup_in_is_locked belong to a layout "
                    "(there is {}), and it names none",
                    syncguard_layout));
  }
  if (options.locks == options.counters) {
    refuse_address("table_name and fence_table_name must differ: counters are never deleted");
  }
}

std::string to_query(SyncguardOptions const& options) {
  SyncguardOptions const usual;
  auto text = fmt::format("layout={}", options.layout);
  if (options.locks != usual.locks) text += fmt::format("&table_name={}", options.locks);
  if (options.counters != usual.counters) {
    text += fmt::format("&fence_table_name={}", options.counters);
  }
  return text;
}

std::string syncguard_counter(Name const& name) {
  return std::string(syncguard_counter_start) + name.text();
}

}  // namespace holt::postgres
