// SPDX-License-Identifier: Apache-2.0
#include <holt/lease.hpp>

#include "base/text_hash.hpp"

#include <holt/error.hpp>
#include <holt/watch.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace holt {
namespace {

constexpr std::size_t max_inbox = 64;
constexpr std::size_t random_size = 22;  // 128 bits in base64url

bool is_token(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

}  // namespace

std::expected<Owner, std::string> Owner::parse(std::string_view text) {
  auto const dot = text.find('.');
  if (dot == std::string_view::npos) {
    return std::unexpected("the owner has no '.'; it is written <inbox>.<random>");
  }
  auto const inbox = text.substr(0, dot);
  auto const random = text.substr(dot + 1);
  if (inbox.empty() || inbox.size() > max_inbox || !is_token(inbox)) {
    return std::unexpected(
        "the owner's part before '.' must be 1 to 64 letters, digits, '_' or '-'");
  }
  if (random.size() != random_size || !is_token(random)) {
    return std::unexpected("the owner's part after '.' must be 22 letters, digits, '_' or '-'");
  }
  Owner owner;
  owner.text_ = text;
  return owner;
}

Owner::Owner(std::string_view inbox, std::string_view random) {
  std::string text;
  text.reserve(inbox.size() + 1 + random.size());
  text.append(inbox).append(1, '.').append(random);
  auto checked = parse(text);
  if (!checked) throw InvalidArgument(checked.error());
  *this = std::move(*checked);
}

std::string Owner::hash() const { return text_hash(text_); }

std::string_view Owner::inbox() const noexcept {
  auto const dot = text_.find('.');
  return std::string_view(text_).substr(0, dot);
}

LeaseSummary summary_of(LeaseInfo const& lease) {
  return {lease.name.hash(), lease.owner.hash(), lease.fence, lease.acquired_at, lease.expires_in};
}

std::string_view to_string(LossReason reason) noexcept {
  switch (reason) {
    case LossReason::none:
      return "none";
    case LossReason::expired:
      return "expired";
    case LossReason::taken:
      return "taken";
    case LossReason::broken:
      return "broken";
    case LossReason::released:
      return "released";
    case LossReason::closed:
      return "closed";
    case LossReason::store_gone:
      return "store_gone";
  }
  return "unknown";
}

std::string_view to_string(Busy::Why why) noexcept {
  switch (why) {
    case Busy::Why::held:
      return "held";
    case Busy::Why::timed_out:
      return "timed_out";
    case Busy::Why::cancelled:
      return "cancelled";
  }
  return "unknown";
}

std::string_view to_string(BreakResult result) noexcept {
  switch (result) {
    case BreakResult::asked:
      return "asked";
    case BreakResult::freed:
      return "freed";
    case BreakResult::not_held:
      return "not_held";
    case BreakResult::other_fence:
      return "other_fence";
  }
  return "unknown";
}

std::string_view to_string(LeaseEventKind kind) noexcept {
  switch (kind) {
    case LeaseEventKind::present:
      return "present";
    case LeaseEventKind::acquired:
      return "acquired";
    case LeaseEventKind::offered:
      return "offered";
    case LeaseEventKind::broken:
      return "broken";
    case LeaseEventKind::waiting:
      return "waiting";
    case LeaseEventKind::released:
      return "released";
    case LeaseEventKind::expired:
      return "expired";
  }
  return "unknown";
}

}  // namespace holt
