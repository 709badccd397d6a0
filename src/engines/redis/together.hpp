// SPDX-License-Identifier: Apache-2.0
#pragma once
// Several calls at once, as one: to the shards of a cluster.

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

namespace holt::redis {

namespace asio = boost::asio;

/// Waits until all have ended; throws what the first that failed threw. On the awaiting coroutine's
/// executor, which has one thread.
inline asio::awaitable<void> together(std::vector<asio::awaitable<void>> works) {
  if (works.empty()) co_return;
  if (works.size() == 1) {
    co_await std::move(works.front());
    co_return;
  }
  auto const executor = co_await asio::this_coro::executor;
  auto initiate = [](auto handler, asio::any_io_executor on,
                     std::vector<asio::awaitable<void>> all) {
    struct Group {
      decltype(handler) done;
      std::size_t open;
      std::exception_ptr error;
    };
    auto const group = std::make_shared<Group>(std::move(handler), all.size(), nullptr);
    for (auto& work : all) {
      asio::co_spawn(on, std::move(work), [group](std::exception_ptr error) {
        if (error && !group->error) group->error = std::move(error);
        if (--group->open == 0) std::move(group->done)(group->error);
      });
    }
  };
  co_await asio::async_initiate<asio::use_awaitable_t<> const, void(std::exception_ptr)>(
      initiate, asio::use_awaitable, executor, std::move(works));
}

}  // namespace holt::redis
