// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/lease_steps.hpp"

#include "redis_scripts.hpp"

#include <xxhash.h>

#include <algorithm>

namespace holt::redis {
namespace {

using std::chrono::ceil;
using std::chrono::milliseconds;

// Whatever a caller thinks "for ever" is: sums of times stay exact in a script.
constexpr std::int64_t longest_ms = std::int64_t{1} << 42U;

/// By how much a lease's key outlives the lease: what scripts/keep.lua says to all scripts.
consteval std::int64_t kept_by_scripts() {
  constexpr std::string_view mark = "local keep = ";
  auto const& text = scripts::renew.text;
  std::int64_t kept = 0;
  for (auto at = text.find(mark) + mark.size(); text.at(at) != '\n'; ++at) {
    kept = kept * 10 + (text.at(at) - '0');
  }
  return kept;
}
constexpr std::int64_t keep_ms = kept_by_scripts();
static_assert(keep_ms >= 1000 && keep_ms <= 60'000);

}  // namespace

std::uint64_t hash_of(std::string_view name) { return XXH64(name.data(), name.size(), 0); }

std::int64_t script_ms(Nanos span) {
  return std::clamp<std::int64_t>(ceil<milliseconds>(span).count(), 0, longest_ms);
}

// Acquire.

Script const& AcquireStep::of_many() const { return scripts::acquire_many; }

std::uint64_t AcquireStep::name() const { return hash_of(request_.names.front().text()); }

std::int64_t AcquireStep::key_life_ms() const {
  return script_ms(request_.ttl) + script_ms(request_.delay) + keep_ms;
}

/// A record as scripts/line.lua tells, from the fence on.
template <class Add>
void AcquireStep::put_record(Add const& add) const {
  add(" 0 ", Digits(script_ms(request_.ttl)), " ", Digits(script_ms(request_.delay)), " ",
      Digits(wall_ms_), " ", Digits(request_.request.size()), " 0\n", request_.request,
      request_.note);
}

ScriptCall AcquireStep::alone() const {
  auto const& names = request_.names;
  ScriptCall call(scripts::acquire, names.size() * Keys::of_a_name, 6 + names.size());
  for (auto const& name : names) keys_.add_all(name.text(), call);
  call.add(request_.owner.text());
  put_record([&call](auto const&... parts) { call.add(parts...); });
  call.add(key_life_ms()).add(facts_.identity).add(keys_.inbox_channel());
  if (request_.stand_in_line) {
    auto const ticket_ttl = request_.ticket_ttl > Nanos(0) ? request_.ticket_ttl : request_.ttl;
    call.add(facts_.exact, " ", Digits(script_ms(ticket_ttl)), " ", Digits(request_.priority));
  } else {
    call.add(facts_.exact);
  }
  for (auto const& name : names) call.add(name.text());
  return call;
}

void AcquireStep::add_to(Batch& batch) const {
  auto const& name = request_.names.front().text();
  auto const& start = keys_.start_of(name);
  std::size_t column = 0;
  batch.add_key(column++, start, "l:", name);
  batch.add_key(column++, start, "q:", name);
  batch.add_key(column++, start, "i");
  if (batch.size() == 1) batch.add_key(column, keys_.counter(0));  // one for all
  batch.add_common(start.size() + 3);
  batch.add_word(request_.owner.text());
  put_record([&batch](auto const&... parts) { batch.add_word(parts...); });
}

// Release.

Script const& ReleaseStep::of_many() const { return scripts::release_many; }

std::uint64_t ReleaseStep::name() const { return hash_of(name_.text()); }

ScriptCall ReleaseStep::alone() const {
  ScriptCall call(scripts::release, Keys::of_a_name, 5);
  keys_.add_all(name_.text(), call);
  call.add(owner_.text()).add(name_.text()).add(keys_.inbox_channel());
  call.add(facts_.exact).add(facts_.identity);
  return call;
}

void ReleaseStep::add_to(Batch& batch) const {
  auto const& name = name_.text();
  auto const& start = keys_.start_of(name);
  std::size_t column = 0;
  batch.add_key(column++, start, "l:", name);
  batch.add_key(column++, start, "q:", name);
  batch.add_key(column++, start, "i");
  batch.add_common(start.size() + 3);
  batch.add_word(owner_.text());
}

}  // namespace holt::redis
