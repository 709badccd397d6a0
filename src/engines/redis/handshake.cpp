// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/handshake.hpp"

#include "engines/redis/errors.hpp"
#include "engines/redis/info.hpp"

#include <fmt/format.h>

namespace holt::redis {
namespace {

void expect_ok(ReplyView const& reply, Greeting&) {
  if (reply.is_error()) throw refused("connect", reply.text());
}

GreetingStep info(std::string_view section) {
  return {command("INFO", section), [](ReplyView const& reply, Greeting& greeting) {
            if (reply.is_error()) throw refused("connect", reply.text());
            if (!reply.is_text()) {
              throw failed(ErrorCode::service_unavailable, Outcome::not_applied, "connect",
                           "the answer to INFO is not a text", "is this a Redis server?");
            }
            auto const take = [&](std::string_view field, std::string& into) {
              auto const value = info_field(reply.text(), field);
              if (!value.empty()) into = value;
            };
            take("role", greeting.role);
            take("master_replid", greeting.identity);
            take("redis_version", greeting.version);
            take("maxmemory_policy", greeting.eviction);
          }};
}

}  // namespace

std::vector<GreetingStep> greeting_steps(Place const& place) {
  std::vector<GreetingStep> steps;
  if (!place.user.empty()) {
    steps.push_back({command("AUTH", place.user, place.password), expect_ok});
  } else if (!place.password.empty()) {
    steps.push_back({command("AUTH", place.password), expect_ok});
  }
  if (place.database != 0) {
    steps.push_back({command("SELECT", std::to_string(place.database)), expect_ok});
  }
  for (auto const* section : {"server", "replication", "memory"}) steps.push_back(info(section));
  return steps;
}

void check(Greeting const& greeting, Place const& place) {
  if (greeting.role != "master" && !place.any_role) {
    throw failed(ErrorCode::service_unavailable, Outcome::not_applied, "connect",
                 fmt::format("{} is a replica", place.url()),
                 place.service.empty() && place.cluster.empty()
                     ? "name the master in the store's address"
                     : "a failover is under way: try again in a moment");
  }
  if (greeting.identity.empty()) {
    throw failed(ErrorCode::service_unavailable, Outcome::not_applied, "connect",
                 fmt::format("{} does not say which history it has", place.url()),
                 "use Redis 4 or newer");
  }
  if (!place.allow_eviction && !greeting.eviction.empty() && greeting.eviction != "noeviction") {
    throw failed(ErrorCode::invalid_argument, Outcome::not_applied, "connect",
                 fmt::format("{} throws keys away when its memory is full (maxmemory-policy {}), "
                             "and a lease that is thrown away is granted twice",
                             place.url(), greeting.eviction),
                 "set maxmemory-policy noeviction, or add ?eviction=allow to the address if the "
                 "server cannot run out of memory");
  }
}

}  // namespace holt::redis
