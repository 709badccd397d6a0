// SPDX-License-Identifier: Apache-2.0
#include "contract/sqlite_fixture.hpp"

#include "base/random_text.hpp"

#include <sqlite3.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace holt::test {

Owner SqliteTest::owner(Engine& engine) {
  return Owner(engine.signals().inbox(), random_token([this] { return env_.random(); }));
}

Fence SqliteTest::take(Engine& engine, Name const& name, Owner const& owner, Nanos ttl) {
  auto const granted = run(engine.leases().acquire(LeaseRequest({name}, owner, ttl), soon()));
  EXPECT_TRUE(granted) << name.text() << " is busy";
  return granted ? granted->fences.at(0) : Fence();
}

bool SqliteTest::release(Engine& engine, Name const& name, Owner const& owner) {
  return run(engine.leases().release(name, owner, soon())).has_value();
}

std::int64_t SqliteTest::sql_on(std::string const& path, std::string const& text) {
  sqlite3* handle = nullptr;
  sqlite3_open(path.c_str(), &handle);
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> const closer(handle, sqlite3_close);
  sqlite3_wal_autocheckpoint(handle, 0);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  std::int64_t answer = 0;
  char* error = nullptr;
  sqlite3_exec(
      handle, text.c_str(),
      [](void* into, int count, char** values, char**) {
        if (count > 0 && values[0] != nullptr) {
          *static_cast<std::int64_t*>(into) = std::strtoll(values[0], nullptr, 10);
        }
        return 0;
      },
      &answer, &error);
  if (error != nullptr) {
    std::string const what = error;
    sqlite3_free(error);
    throw std::runtime_error(what);
  }
  return answer;
}

std::string contents(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace holt::test
