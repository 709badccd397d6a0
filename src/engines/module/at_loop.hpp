// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs work on a loop and brings its result back.

#include "env/shared_loop.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <memory>
#include <utility>

namespace holt {

namespace asio = boost::asio;

/// Runs `work` on `loop`; the result arrives on the awaiting coroutine's executor.
template <class T>
asio::awaitable<T> on(asio::any_io_executor loop, asio::awaitable<T> work) {
  return asio::co_spawn(std::move(loop), std::move(work), asio::use_awaitable);
}

/// The same; who is there already just goes on.
template <class T>
asio::awaitable<T> at(SharedLoop& loop, asio::awaitable<T> work) {
  auto const here = co_await asio::this_coro::executor;
  std::shared_ptr<void> attention;
  if (here != loop.executor()) {
    attention = loop.attention();
    work = on(loop.executor(), std::move(work));
  }
  T result = co_await std::move(work);
  co_return result;
}

}  // namespace holt
