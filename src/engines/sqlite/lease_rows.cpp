// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/lease_rows.hpp"

#include "base/check.hpp"
#include "engines/sqlite/span.hpp"
#include "sqlite_sql.hpp"

#include <algorithm>

namespace holt::sqlite {
namespace {

// A late holder is told for this long that its lease ended, rather than that it never was.
constexpr std::int64_t remembered_ns = std::int64_t{3600} * 1'000'000'000;

std::int64_t since_epoch_ms(std::chrono::system_clock::time_point wall) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(wall.time_since_epoch()).count();
}

std::int64_t since_epoch_us(std::chrono::system_clock::time_point wall) {
  return std::chrono::duration_cast<std::chrono::microseconds>(wall.time_since_epoch()).count();
}

}  // namespace

LeaseRows::LeaseRows(Connection& store, Env& env, std::string_view instance)
    : store_(store),
      instance_(instance),
      now_ns_(env.now().time_since_epoch().count()),
      wall_(env.wall()) {}

std::int64_t LeaseRows::after(std::int64_t span_ns) const noexcept {
  return now_ns_ + std::clamp<std::int64_t>(span_ns, 0, longest_ns);
}

Look LeaseRows::look(Name const& name) {
  Query query(store_, sql::lease_look, instance_, name.text());
  HOLT_CHECK(query.next());
  Look look;
  look.has_tickets = query.integer(0) != 0;
  last_fence_ = query.null(1) ? 0 : query.integer(1);
  if (query.null(2)) return look;
  auto& lease = look.lease.emplace();
  lease.owner = query.text(2);
  lease.fence = static_cast<std::uint64_t>(query.integer(3));
  lease.state = static_cast<LeaseState>(query.integer(4));
  lease.until_ns = query.integer(5);
  lease.delay_ns = query.integer(6);
  lease.note = query.text(7);
  if (!query.null(8)) lease.broken = query.text(8);
  return look;
}

/// A counter that does not exist starts at the clock, so a lost file cannot bring old numbers back.
std::uint64_t LeaseRows::draw_fence() {
  HOLT_CHECK(last_fence_ >= 0);
  last_fence_ = last_fence_ == 0 ? since_epoch_us(wall_) : last_fence_ + 1;
  Query(store_, sql::fence_write, instance_, last_fence_).run();
  return static_cast<std::uint64_t>(last_fence_);
}

void LeaseRows::put(Name const& name, std::uint64_t fence, LeaseWrite const& lease) {
  Query(store_, sql::lease_put, instance_, name.text(), lease.owner, fence,
        static_cast<std::int64_t>(lease.state), after(lease.live_ns), lease.ttl_ns,
        std::clamp<std::int64_t>(lease.delay_ns, 0, longest_ns), since_epoch_ms(wall_), lease.note,
        lease.request)
      .run();
}

void LeaseRows::confirm(Name const& name, LeaseWrite const& lease) {
  Query(store_, sql::lease_confirm, instance_, name.text(), after(lease.live_ns), lease.ttl_ns,
        std::clamp<std::int64_t>(lease.delay_ns, 0, longest_ns), since_epoch_ms(wall_), lease.note,
        lease.request)
      .run();
}

bool LeaseRows::renew(LeaseRenewal const& renewal) {
  auto const ttl = renewal.ttl.count();
  return Query(store_, sql::lease_renew, instance_, renewal.name.text(), renewal.owner.text(),
               now_ns_, after(ttl), ttl)
             .run() > 0;
}

void LeaseRows::drop(Name const& name) {
  Query(store_, sql::lease_drop, instance_, name.text()).run();
}

bool LeaseRows::give_back(Name const& name, std::string_view owner) {
  if (Query(store_, sql::ticket_any, instance_, name.text()).next()) return false;
  return Query(store_, sql::lease_give_back, instance_, name.text(), owner, now_ns_).run() > 0;
}

void LeaseRows::mark_broken(Name const& name, std::string_view reason) {
  Query(store_, sql::lease_break, instance_, name.text(), reason).run();
}

void LeaseRows::sweep() {
  auto const long_ago = now_ns_ - remembered_ns;
  Query(store_, sql::ticket_sweep, long_ago).run();
  Query(store_, sql::lease_sweep, long_ago).run();
}

std::optional<Head> LeaseRows::live_head(Name const& name) {
  Query query(store_, sql::ticket_head, instance_, name.text(), now_ns_);
  if (!query.next()) {
    Query(store_, sql::ticket_purge, instance_, name.text(), now_ns_).run();
    return std::nullopt;
  }
  return Head{std::string(query.text(0)), query.integer(1), std::string(query.text(2)),
              std::string(query.text(3))};
}

std::optional<std::string> LeaseRows::waiter_at(Name const& name, int place) {
  Query query(store_, sql::ticket_at, instance_, name.text(), now_ns_, place - 1);
  if (!query.next()) return std::nullopt;
  return std::string(query.text(0));
}

std::uint32_t LeaseRows::stand_in_line(Name const& name, LeaseRequest const& request) {
  auto const& owner = request.owner.text();
  auto const ttl = request.ttl.count();
  auto const delay = std::clamp<std::int64_t>(request.delay.count(), 0, longest_ns);
  auto const until = after(request.ticket_ttl > Nanos(0) ? request.ticket_ttl.count() : ttl);
  auto const kept = Query(store_, sql::ticket_keep, instance_, name.text(), owner, now_ns_, until,
                          ttl, delay, request.note, request.request)
                        .run();
  if (kept == 0) {
    auto const sequence = draw_fence();
    Query(store_, sql::ticket_add, instance_, name.text(), request.priority, sequence, owner, until,
          ttl, delay, request.note, request.request)
        .run();
  }
  return place(name, owner);
}

std::uint32_t LeaseRows::place(Name const& name, std::string_view owner) {
  Query query(store_, sql::ticket_place, instance_, name.text(), owner, now_ns_,
              LeaseStore::max_place);
  HOLT_CHECK(query.next());
  return static_cast<std::uint32_t>(query.integer(0));
}

bool LeaseRows::drop_ticket(Name const& name, std::string_view owner) {
  return Query(store_, sql::ticket_drop, instance_, name.text(), owner).run() > 0;
}

}  // namespace holt::sqlite
