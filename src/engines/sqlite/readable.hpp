// SPDX-License-Identifier: Apache-2.0
#pragma once
// Readable: calls a function on Env::executor() whenever a descriptor can be read. The descriptor
// belongs to it. It may be destroyed on any thread but that one (in the simulator: outside of any
// call); afterwards the function is not called any more, and a call under way has ended.

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>

namespace holt::sqlite {

class Readable {
 public:
  /// Takes `descriptor`, which must be non-blocking.
  Readable(boost::asio::any_io_executor executor, int descriptor, std::function<void()> ready);
  ~Readable();
  Readable(Readable const&) = delete;
  Readable& operator=(Readable const&) = delete;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace holt::sqlite
