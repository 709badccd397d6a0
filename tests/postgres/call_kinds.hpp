// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kinds of calls that an engine carries out, for tests that disturb each of them.

#include "postgres/caller.hpp"

#include <functional>
#include <string>
#include <vector>

namespace holt::test {

/// One kind of call, on the name "x", and a question to the server that is answered with `t` when
/// it was carried out.
struct CallKind {
  char const* name;
  bool writes;
  bool needs_lease;   ///< the caller holds "x"
  char const* table;  ///< who locks this one keeps it waiting in the server
  std::function<void(PostgresCaller&, Owner const&)> call;
  std::string applied;  ///< {}: the schema
};

inline std::vector<CallKind> call_kinds() {
  return {
      {"acquire", true, false, "lease",
       [](PostgresCaller& caller, Owner const& owner) {
         static_cast<void>(caller.acquire("x", owner));
       },
       "EXISTS (SELECT FROM {}.lease)"},
      {"renew", true, true, "lease",
       [](PostgresCaller& caller, Owner const& owner) {
         static_cast<void>(caller.renew("x", owner, 1000s));
       },
       "EXISTS (SELECT FROM {}.lease WHERE ttl_us = 1000000000)"},
      {"release", true, true, "lease",
       [](PostgresCaller& caller, Owner const& owner) {
         static_cast<void>(caller.release("x", owner));
       },
       "NOT EXISTS (SELECT FROM {}.lease)"},
      {"break", true, true, "lease",
       [](PostgresCaller& caller, Owner const&) { caller.break_lease("x", "stop it"); },
       "EXISTS (SELECT FROM {}.lease WHERE broken = 'stop it')"},
      {"put", true, false, "record",
       [](PostgresCaller& caller, Owner const&) { static_cast<void>(caller.put("x", "1")); },
       "EXISTS (SELECT FROM {}.record)"},
      {"add", true, false, "counter", [](PostgresCaller& caller, Owner const&) { caller.add("x"); },
       "EXISTS (SELECT FROM {}.counter)"},
      {"find", false, true, "lease",
       [](PostgresCaller& caller, Owner const&) { static_cast<void>(caller.find("x")); }, "false"},
      {"list", false, true, "lease", [](PostgresCaller& caller, Owner const&) { caller.list(); },
       "false"},
      {"get", false, false, "record",
       [](PostgresCaller& caller, Owner const&) { static_cast<void>(caller.get("x")); }, "false"},
  };
}

}  // namespace holt::test
