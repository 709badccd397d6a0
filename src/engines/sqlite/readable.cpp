// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/readable.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <condition_variable>
#include <mutex>
#include <utility>

namespace holt::sqlite {

namespace asio = boost::asio;

/// Handlers keep it alive, so one that comes late finds it closed and does nothing.
struct Readable::State : std::enable_shared_from_this<State> {
  State(asio::any_io_executor const& executor, int fd, std::function<void()> call)
      : descriptor(executor, fd), ready(std::move(call)) {}

  /// With `mutex` held: an Asio object is for one thread at a time.
  void wait() {
    descriptor.async_wait(asio::posix::descriptor_base::wait_read,
                          [self = shared_from_this()](boost::system::error_code error) {
                            if (!error) self->arrived();
                          });
  }

  void arrived() {
    std::unique_lock lock(mutex);
    if (closed) return;
    calling = true;
    lock.unlock();
    ready();
    lock.lock();
    calling = false;
    called.notify_all();
    if (!closed) wait();
  }

  std::mutex mutex;
  std::condition_variable called;
  asio::posix::stream_descriptor descriptor;
  std::function<void()> ready;
  bool calling = false;
  bool closed = false;
};

Readable::Readable(asio::any_io_executor executor, int descriptor, std::function<void()> ready)
    : state_(std::make_shared<State>(executor, descriptor, std::move(ready))) {
  std::scoped_lock const lock(state_->mutex);
  state_->wait();
}

/// Closes last: a call under way still reads from the descriptor.
Readable::~Readable() {
  std::unique_lock lock(state_->mutex);
  state_->closed = true;
  state_->called.wait(lock, [this] { return !state_->calling; });
  boost::system::error_code ignored;
  state_->descriptor.close(ignored);
}

}  // namespace holt::sqlite
