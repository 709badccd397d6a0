// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/errors.hpp"

#include <algorithm>
#include <array>

namespace holt::redis {
namespace {

using enum ErrorCode;
using enum Outcome;

constexpr std::string_view memory_hint =
    "the server is out of memory (maxmemory): give it more, or remove what is not needed";
constexpr std::string_view cluster_hint =
    "this server is part of a Redis Cluster: write redis+cluster:// in the store's address";
constexpr std::string_view permission_hint =
    "the user may not run this command or use these keys: docs/engines.md has the ACL line";
constexpr std::string_view no_password_hint =
    "the server has no password: leave it out of the store's address";
constexpr std::string_view disabled_hint =
    "the server does not know this command, or it was renamed or disabled in its configuration";
constexpr std::string_view strangers_hint =
    "somebody else writes keys that begin with holt: on this server";
constexpr std::string_view used_up_hint =
    "the counter is as high as it can be, which takes centuries or a stranger's write: use another "
    "instance";
constexpr std::string_view role_hint =
    "this server is a replica now: name the master in the store's address";

// The first row that fits counts; the last one fits everything. Which errors the server gives
// before it does anything is in its source: all but those with `unknown` are checked before the
// first write.
constexpr auto refusals = std::to_array<Refusal>({
    {"LOADING", service_unavailable, not_applied, false, "the server is still reading its data"},
    {"READONLY", service_unavailable, not_applied, true, role_hint},
    {"MASTERDOWN", service_unavailable, not_applied, true, role_hint},
    {"CLUSTERDOWN", service_unavailable, not_applied, true, "part of the cluster is down"},
    {"TRYAGAIN", service_unavailable, not_applied, false, "the cluster is moving this slot"},
    {"MOVED", invalid_argument, not_applied, false, cluster_hint},
    {"ASK", invalid_argument, not_applied, false, cluster_hint},
    {"CROSSSLOT", invalid_argument, not_applied, false, cluster_hint},
    {"OOM", rate_limited, not_applied, false, memory_hint},
    {"MISCONF", service_unavailable, not_applied, false,
     "the server cannot save its data and takes no writes: look into its log"},
    {"NOREPLICAS", service_unavailable, not_applied, false,
     "too few replicas are connected for the server's min-replicas-to-write"},
    {"NOAUTH", auth_failed, not_applied, true, "put user and password into the store's address"},
    {"WRONGPASS", auth_failed, not_applied, true, "check user and password"},
    {"DENIED", auth_failed, not_applied, true,
     "the server is in protected mode: give it a password, or let it listen to this machine only"},
    // Found out by a script that was under way.
    {"NOPERM ACL failure in script", auth_failed, unknown, false, permission_hint},
    {"NOPERM The user executing the script", auth_failed, unknown, false, permission_hint},
    {"ERR ACL failure in script", auth_failed, unknown, false, permission_hint},
    {"ERR The user executing the script", auth_failed, unknown, false, permission_hint},
    {"NOPERM", auth_failed, not_applied, false, permission_hint},
    {"BUSY", service_unavailable, not_applied, false,
     "a script of somebody else keeps the server busy: SCRIPT KILL on it ends that"},
    {"WRONGTYPE", internal, unknown, false, strangers_hint},
    // Scripts of ours say these.
    {"FENCES", internal, not_applied, false, used_up_hint},
    {"VERSIONS", internal, not_applied, false, used_up_hint},
    // A script of ours cannot make sense of what it read.
    {"ERR user_script:", internal, unknown, false, strangers_hint},
    {"user_script:", internal, unknown, false, strangers_hint},
    {"ERR max number of clients", rate_limited, not_applied, true,
     "raise the server's maxclients, or close clients"},
    {"ERR DB index", invalid_argument, not_applied, true,
     "the server has fewer databases: choose a smaller number in the store's address"},
    {"ERR increment or decrement would overflow", invalid_argument, not_applied, false,
     "the number is as large as it can be"},
    {"ERR invalid password", auth_failed, not_applied, true, "check user and password"},
    {"ERR AUTH <password> called without", auth_failed, not_applied, true, no_password_hint},
    {"ERR Client sent AUTH, but no password", auth_failed, not_applied, true, no_password_hint},
    {"ERR unknown command", invalid_argument, not_applied, false, disabled_hint},
    {"", internal, unknown, false, {}},
});

/// Before version 7 an error inside a script came with the place before it:
/// "ERR Error running script (call to f_5e3b): @user_script:12: -OOM command not allowed".
std::string_view without_place(std::string_view error) {
  constexpr std::string_view place = "@user_script";
  auto const at = error.rfind(place);
  if (!error.starts_with("ERR Error running script") || at == std::string_view::npos) return error;
  auto const start = error.find_first_not_of(":- 0123456789", at + place.size());
  return error.substr(std::min(start, error.size()));
}

}  // namespace

Refusal const& refusal_of(std::string_view error) {
  auto const said = without_place(error);
  return *std::ranges::find_if(
      refusals, [said](Refusal const& row) { return said.starts_with(row.starts_with); });
}

EngineError refused(std::string_view operation, std::string_view error) {
  auto const& row = refusal_of(error);
  return {row.code, row.outcome, "redis", operation, error, row.hint};
}

EngineError failed(ErrorCode code, Outcome outcome, std::string_view operation,
                   std::string_view reason, std::string_view hint) {
  return {code, outcome, "redis", operation, reason, hint};
}

void not_ours(std::string_view operation, std::string_view name) {
  throw failed(ErrorCode::internal, Outcome::unknown, operation,
               "what is stored of \"" + std::string(name) + "\" was not written by Holt",
               strangers_hint);
}

}  // namespace holt::redis
