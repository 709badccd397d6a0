// SPDX-License-Identifier: Apache-2.0
#include "primitives/roster.hpp"

#include "contracts/polling_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace holt {
namespace {

std::string_view next_word(std::string_view& text) {
  auto const end = std::min(text.find(' '), text.size());
  auto const word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

double number_or(std::string_view word, double otherwise, double least, double most) {
  // Not strtod(): what it reads depends on the locale, and all nodes must read the same.
  double number = 0;
  auto const [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  bool const whole = error == std::errc() && end == word.data() + word.size();
  return whole && number >= least && number <= most ? number : otherwise;
}

}  // namespace

std::string NodeNote::text() const {
  return fmt::format("{} {} {} {}", status, weight, to_string(weights), cap);
}

NodeNote NodeNote::parse(std::string_view text) {
  constexpr double most = 1000;
  NodeNote note;
  if (auto const word = next_word(text); !word.empty()) note.status = word;
  note.weight = number_or(next_word(text), 1, 1 / most, most);
  if (next_word(text) == to_string(PollWeights::mixed)) note.weights = PollWeights::mixed;
  note.cap = number_or(next_word(text), 0, 1, most);
  return note;
}

Roster::Roster(std::vector<LeaseInfo> const& leases, std::string_view prefix, Instant asked) {
  for (auto const& lease : leases) {
    if (lease.offered || !lease.name.text().starts_with(prefix)) continue;
    auto note = NodeNote::parse(lease.note);
    members_.push_back(
        {lease.name.text().substr(prefix.size()), std::move(note), asked + lease.expires_in});
  }
  std::ranges::sort(members_, {}, &Member::id);
  for (auto const& member : members_) {
    if (member.note.status != node_init) nodes_.push_back({member.id, member.note.weight});
  }
}

bool Roster::has(std::string_view id) const {
  return std::ranges::binary_search(members_, id, {}, &Member::id);
}

std::optional<Instant> Roster::next_end(std::string_view but_of) const {
  std::optional<Instant> first;
  for (auto const& member : members_) {
    if (member.id != but_of && (!first || member.end < *first)) first = member.end;
  }
  return first;
}

}  // namespace holt
