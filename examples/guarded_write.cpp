// SPDX-License-Identifier: Apache-2.0
// A resource that checks the fence. The resource is a table in an SQLite file; each write carries
// the fence of its lock, and the table refuses a lower one than it has seen. Two holders show why:
// the first is held up until its lease has ended, and comes too late.
//
//   guarded_write FOLDER      keeps the account and the locks in this folder

#include <holt/holt.hpp>

#include <sqlite3.h>

#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;

namespace {

class Account {
 public:
  explicit Account(std::string const& file) {
    sqlite3* opened = nullptr;
    int const result = sqlite3_open(file.c_str(), &opened);
    store_.reset(opened);
    if (result != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(opened));
    run("CREATE TABLE IF NOT EXISTS account (balance INTEGER, fence INTEGER)");
    run("INSERT INTO account SELECT 0, 0 WHERE NOT EXISTS (SELECT * FROM account)");
  }

  /// Comparing and writing are one statement: nobody can come between. An equal fence is fine, one
  /// grant may write many times. False: a later holder has been here.
  bool set(int balance, holt::Fence fence) {
    run("UPDATE account SET balance = " + std::to_string(balance) + ", fence = " + fence.decimal() +
        " WHERE fence <= " + fence.decimal());
    return sqlite3_changes(store_.get()) == 1;
  }

 private:
  void run(std::string const& sql) {
    if (sqlite3_exec(store_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
      throw std::runtime_error(sqlite3_errmsg(store_.get()));
    }
  }

  std::unique_ptr<sqlite3, int (*)(sqlite3*)> store_{nullptr, sqlite3_close};
};

void deposit(Account& account, char const* who, int balance, holt::Fence fence) {
  bool const written = account.set(balance, fence);
  std::cout << who << ": balance " << balance << " with fence " << fence.decimal()
            << (written ? ": written\n" : ": refused\n");
}

void tell_the_story(std::string const& folder) {
  Account account(folder + "/account.db");
  auto holt = holt::open(folder + "/holt.db");

  // Not renewed: as if the process was stopped right after it got the lock.
  auto first = holt.lock("account", {.ttl = 200ms, .wait = 10s, .renew = false});
  auto second = holt.lock("account", {.wait = 10s});
  if (!first || !second) throw std::runtime_error("somebody else holds the lock");

  deposit(account, "second", 20, second->fence());
  deposit(account, "first ", 10, first->fence());  // wakes up too late
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::runtime_error("usage: guarded_write FOLDER");
    tell_the_story(argv[1]);
  } catch (std::exception const& error) {
    std::cerr << "guarded_write: " << error.what() << '\n';
    return 1;
  }
}
