// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests of the SQLite engine itself: a folder, a clock, and a second look at the file.

#include "contracts/engine.hpp"
#include "engines/sqlite/connection.hpp"
#include "support/engines.hpp"

#include <holt/error.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

namespace holt::test {

using namespace std::chrono_literals;

class SqliteTest : public testing::Test {
 protected:
  [[nodiscard]] std::string file() const { return folder_.file("holt.db"); }
  [[nodiscard]] std::unique_ptr<Engine> open(std::string const& query = "") {
    return open_engine(env_, {"sqlite://" + file() + query, "default"});
  }
  [[nodiscard]] Instant soon() { return env_.now() + 5s; }

  /// An owner whose inbox is `engine`'s.
  Owner owner(Engine& engine);
  Fence take(Engine& engine, Name const& name, Owner const& owner, Nanos ttl = 60s);
  bool release(Engine& engine, Name const& name, Owner const& owner);

  /// Runs SQL on the file, beside the engine, and answers the first number of the first row.
  std::int64_t sql(std::string const& text) const { return sql_on(file(), text); }
  static std::int64_t sql_on(std::string const& path, std::string const& text);

  TemporaryFolder folder_;
  TestEnv env_;
};

/// What `call` throws; fails the test when it throws nothing or something else.
template <class Error, class Call>
std::optional<Error> thrown(Call const& call) {
  try {
    call();
  } catch (Error const& error) {
    return error;
  } catch (std::exception const& error) {
    ADD_FAILURE() << "threw something else: " << error.what();
    return std::nullopt;
  }
  ADD_FAILURE() << "threw nothing";
  return std::nullopt;
}

std::string contents(std::string const& path);

}  // namespace holt::test
