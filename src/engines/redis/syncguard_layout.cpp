// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/syncguard_layout.hpp"

#include "base/random_text.hpp"
#include "engines/redis/key_scan.hpp"

#include <holt/error.hpp>

#include <fmt/format.h>

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

namespace holt::redis {
namespace {

constexpr std::size_t longest_key = 1000;
/// ":id:" and a lock id.
constexpr std::size_t index_reserve = 26;
constexpr std::string_view index_start = "id:";
constexpr std::string_view counter_start = syncguard_counter_start;
constexpr std::size_t lock_id_size = 22;

[[noreturn]] void too_long(std::string_view prefix) {
  throw InvalidArgument(
      fmt::format("the prefix of {} bytes leaves no room for a key of {} bytes: use a shorter one",
                  prefix.size(), longest_key));
}

std::string joined(std::string_view prefix, std::string_view rest) {
  std::string key;
  key.reserve(prefix.size() + 1 + rest.size());
  key.append(prefix);
  if (!prefix.empty()) key += ':';
  return key.append(rest);
}

std::string_view without_colons(std::string_view prefix) {
  auto const last = prefix.find_last_not_of(':');
  return last == std::string_view::npos ? std::string_view() : prefix.substr(0, last + 1);
}

/// The first 128 bits of SHA-256.
std::string short_hash(std::string_view text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<unsigned char const*>(text.data()), text.size(), digest.data());
  return base64url(std::as_bytes(std::span(digest)).first<16>());
}

/// Calls `unit` with each unit of UTF-16 of the text.
template <class Unit>
void each_utf16(std::string_view text, Unit const& unit) {
  for (std::size_t i = 0; i < text.size();) {
    auto const lead = static_cast<unsigned char>(text[i]);
    std::size_t const size = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    std::uint32_t point = size == 1 ? lead : lead & (0xFFU >> (size + 1));
    for (std::size_t k = 1; k < size && i + k < text.size(); ++k) {
      point = (point << 6U) | (static_cast<unsigned char>(text[i + k]) & 0x3FU);
    }
    i += size;
    if (point < 0x10000) {
      unit(point);
    } else {
      unit(0xD800 + ((point - 0x10000) >> 10U));
      unit(0xDC00 + ((point - 0x10000) & 0x3FFU));
    }
  }
}

std::size_t utf16_size(std::string_view text) {
  std::size_t size = 0;
  each_utf16(text, [&](std::uint32_t) { ++size; });
  return size;
}

std::string key_today(std::string_view prefix, std::string_view key) {
  return syncguard_key(prefix, key, longest_key, index_reserve);
}

/// The first revision counts UTF-16, keeps nothing in reserve, and leaves a colon where it stands.
std::string key_first(std::string_view prefix, std::string_view key) {
  std::string head(prefix);
  if (!head.empty() && !head.ends_with(':')) head += ':';
  auto whole = head + std::string(key);
  if (utf16_size(whole) <= longest_key) return whole;
  whole = head + syncguard_hash(key);
  if (utf16_size(whole) > longest_key) too_long(prefix);
  return whole;
}

// Fences of 19 digits are drawn in Lua too, whose numbers are exact up to 2^53 only: beyond that
// the first revision would give the same one twice.
constexpr auto layouts = std::to_array<SyncguardLayout>({
    {.name = "syncguard", .key = key_today, .of_whole_key = true, .fences = syncguard_fences},
    {.name = "syncguard-19",
     .key = key_first,
     .of_whole_key = false,
     .fences = {.digits = 19,
                .last = Fence(9'000'000'000'000'000),
                .warn_above = Fence(900'000'000'000'000)}},
});

}  // namespace

SyncguardLayout const* find_syncguard_layout(std::string_view name) {
  auto const* const found = std::ranges::find(layouts, name, &SyncguardLayout::name);
  return found == layouts.end() ? nullptr : found;
}

std::string syncguard_key(std::string_view prefix, std::string_view key, std::size_t limit,
                          std::size_t reserve) {
  if (key.empty()) throw InvalidArgument("a key cannot be empty");
  prefix = without_colons(prefix);
  auto const fits = [&](std::size_t size) { return size + reserve <= limit; };
  if (!fits(prefix.size() + (prefix.empty() ? 0 : 1))) too_long(prefix);
  auto whole = joined(prefix, key);
  if (fits(whole.size())) return whole;
  whole = joined(prefix, short_hash(whole));
  if (!fits(whole.size())) too_long(prefix);
  return whole;
}

std::string syncguard_hash(std::string_view key) {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  std::uint32_t third = 0;
  each_utf16(key, [&](std::uint32_t unit) {
    first = first * 31 + unit;
    second = second * 127 + unit * 3;
    third = third * 2047 + unit * 7;
  });
  return fmt::format("{:08x}{:08x}{:08x}", first, second, third);
}

SyncguardKeys::SyncguardKeys(SyncguardLayout const& layout, std::string prefix)
    : layout_(&layout), prefix_(std::move(prefix)) {
  if (prefix_.contains("fence:") || prefix_.ends_with("fence")) {
    throw InvalidArgument("the prefix \"" + prefix_ +
                          "\" is refused, as by SyncGuard: it must not hold \"fence:\" or end with "
                          "\"fence\", the start of counters' keys");
  }
  head_ = lock("x");
  head_.pop_back();
  std::string const longest_name(Name::max_bytes, 'x');
  never_cut_ = lock(longest_name).ends_with(longest_name);
  static_cast<void>(index(std::string(lock_id_size, 'x')));  // throws when there is no room for it
}

void SyncguardKeys::check(Name const& name) const {
  for (auto const start : {index_start, counter_start}) {
    if (!name.text().starts_with(start)) continue;
    throw InvalidArgument(
        fmt::format("the name \"{}\" is not possible with layout={}: keys that start with \"{}{}\" "
                    "are its own; use a name that does not start with \"{}\"",
                    name.text(), layout_->name, head_, start, start));
  }
}

std::string SyncguardKeys::lock(std::string_view name) const { return layout_->key(prefix_, name); }

std::string SyncguardKeys::index(std::string_view lock_id) const {
  return layout_->key(prefix_, std::string(index_start).append(lock_id));
}

std::string SyncguardKeys::counter(std::string_view name) const {
  return layout_->key(prefix_, std::string(counter_start).append(indexed(name)));
}

std::string SyncguardKeys::indexed(std::string_view name) const {
  return layout_->of_whole_key ? lock(name) : std::string(name);
}

std::string SyncguardKeys::pattern(std::string_view name_start) const {
  auto pattern = pattern_of(head_);
  if (never_cut_) pattern += pattern_of(name_start);
  return pattern += '*';
}

std::optional<std::string_view> SyncguardKeys::name_in(std::string_view key) const {
  if (!key.starts_with(head_)) return std::nullopt;
  auto const name = key.substr(head_.size());
  if (name.empty() || name.starts_with(index_start) || name.starts_with(counter_start)) {
    return std::nullopt;
  }
  return name;
}

}  // namespace holt::redis
