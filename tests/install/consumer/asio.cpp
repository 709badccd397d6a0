// SPDX-License-Identifier: Apache-2.0
// Component asio: the same on the user's own loop, with the user's own Asio.
#include <holt/asio.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <iostream>

namespace {

boost::asio::awaitable<void> take_lock(holt::AsyncHolt holt) {
  auto lock = co_await holt.lock("deploy", {.wait = std::chrono::seconds(10)});
  if (!lock) co_return;
  std::cout << "fence " << lock->fence().decimal() << '\n';
  co_await holt.release(*lock);
}

}  // namespace

int main() {
  boost::asio::io_context loop(1);
  holt::AsyncHolt const holt(holt::open());
  boost::asio::co_spawn(loop, take_lock(holt), [](std::exception_ptr const& error) {
    if (error) std::rethrow_exception(error);
  });
  loop.run();
}
