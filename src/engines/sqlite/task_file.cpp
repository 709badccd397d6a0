// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/task_file.hpp"

#include "engines/sqlite/schema.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

namespace holt::sqlite {

TaskFile::Parts::Parts(Env& env, Place const& place, std::unique_ptr<Connection> connection)
    : file(env, place.path), writer(env, file, place, std::move(connection)), reader(env, file) {}

bool TaskFile::exists() const { return FileIdentity::of(store_.tasks().path).inode != 0; }

asio::awaitable<TaskFile::Parts*> TaskFile::open() {
  auto const executor = co_await asio::this_coro::executor;
  bool const here = may_block_on(env_, executor);
  if (here) co_return open_here();
  {
    std::unique_lock const lock(mutex_, std::try_to_lock);
    if (lock && parts_) co_return parts_.get();
  }
  auto* const parts = co_await asio::co_spawn(env_.blocking(), opened(), asio::use_awaitable);
  co_return parts;
}

asio::awaitable<TaskFile::Parts*> TaskFile::opened() { co_return open_here(); }

TaskFile::Parts* TaskFile::open_here() {
  std::scoped_lock const lock(mutex_);
  if (!parts_) {
    auto connection = open_tasks(env_, store_);
    parts_ = std::make_unique<Parts>(env_, store_.tasks(), std::move(connection));
  }
  return parts_.get();
}

std::unique_ptr<Connection> open_tasks(Env& env, Place const& store) {
  auto const place = store.tasks();
  check_is_there(place);
  make_beside(place.path, store.path);
  return open_store(env, place, task_schema());
}

}  // namespace holt::sqlite
