// SPDX-License-Identifier: Apache-2.0
// Component asio: the header, the library and the user's own loop in one program.
#include <holt/asio.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <iostream>
#include <string>

namespace {

boost::asio::awaitable<std::string> version() { co_return std::string(holt::version()); }

}  // namespace

int main() {
  boost::asio::io_context loop(1);
  boost::asio::co_spawn(loop, version(), [](std::exception_ptr const&, std::string const& text) {
    std::cout << "holt " << text << '\n';
  });
  loop.run();
}
