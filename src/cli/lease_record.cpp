// SPDX-License-Identifier: Apache-2.0
#include "cli/lease_record.hpp"

#include "cli/duration.hpp"
#include "cli/output.hpp"
#include "cli/text.hpp"

#include <holt/fence.hpp>
#include <holt/lease.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace holt::cli {
namespace {

constexpr std::size_t widest_note = 60;

std::string in(std::chrono::milliseconds time) { return "in " + rounded_duration(time); }

Field milliseconds(std::string_view key, std::string_view label, std::chrono::milliseconds value,
                   std::string text) {
  return {key, label, std::int64_t{value.count()}, std::move(text)};
}

}  // namespace

Record lease_record(LeaseInfo const& lease) {
  std::string const state = lease.offered ? "offered" : "held";
  auto const acquired = timestamp(lease.acquired_at);
  return {
      {"name", "name", lease.name.text(), lease.name.text()},
      {"owner", "owner", lease.owner.text(), lease.owner.text()},
      {"fence", "fence", lease.fence.padded(), lease.fence.decimal()},
      {"state", "state", state, state},
      {"acquired_at", "acquired", acquired, acquired},
      milliseconds("ttl_ms", "ttl", lease.ttl, format_duration(lease.ttl)),
      milliseconds("expires_in_ms", "expires", lease.expires_in, in(lease.expires_in)),
      {"waiting", "waiting", std::int64_t{lease.waiting}, std::to_string(lease.waiting)},
      {"note", "note", lease.note, printable(lease.note)},
      {"broken", "broken", lease.broken, printable(lease.broken)},
  };
}

Record lease_line(LeaseInfo const& lease) {
  constexpr std::array<std::string_view, 4> wide{"owner", "acquired_at", "ttl_ms", "broken"};
  auto record = lease_record(lease);
  for (auto& field : record) {
    if (std::ranges::find(wide, field.key) != wide.end()) field.label = {};
    if (field.key == "state" && !lease.broken.empty()) field.text += ", broken";
    if (field.key == "note") field.text = printable(lease.note, widest_note);
  }
  return record;
}

Record grant_record(Handle const& handle, Fence fence, std::chrono::milliseconds ttl,
                    std::chrono::milliseconds expires_in) {
  return {
      {"name", "name", handle.name.text(), handle.name.text()},
      {"owner", "owner", handle.owner.text(), handle.owner.text()},
      {"fence", "fence", fence.padded(), fence.decimal()},
      milliseconds("ttl_ms", {}, ttl, {}),
      milliseconds("expires_in_ms", "expires", expires_in, in(expires_in)),
  };
}

std::string holder(Busy const& busy) {
  if (busy.holder.empty()) return "others are in line for it";
  std::string text = "held by ";
  text += busy.note.empty() ? busy.holder.text() : in_quotes(busy.note);
  text += " (fence " + busy.fence.decimal();
  return text + ", expires in " + rounded_duration(busy.expires_in) + ")";
}

}  // namespace holt::cli
