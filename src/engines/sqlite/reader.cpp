// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/reader.hpp"

#include "engines/sqlite/committer.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

namespace holt::sqlite {

Reader::Reader(Env& env, StoreFile& file) : env_(env), file_(file) {}

Reader::~Reader() { std::scoped_lock const lock(mutex_); }

asio::awaitable<void> Reader::run(Step& step) {
  auto const executor = co_await asio::this_coro::executor;
  bool const here = may_block_on(env_, executor);
  if (here) {
    serve(step);
  } else {
    co_await asio::async_initiate<asio::use_awaitable_t<> const, void()>(
        [](auto handler, Reader* reader, Step* waiting) {
          waiting->when_done(resume(std::move(handler)));
          asio::post(reader->env_.blocking(), [reader, waiting] { reader->serve(*waiting); });
        },
        asio::use_awaitable, this, &step);
    step.wait_until_let_go();
  }
  if (step.error()) std::rethrow_exception(step.error());
}

void Reader::serve(Step& step) noexcept {
  {
    std::scoped_lock const lock(mutex_);
    try {
      file_.check(step.operation());
      if (!connection_) {
        connection_ = std::make_unique<Connection>(env_, file_.path(), Sync::normal);
        connection_->keep_log_at_close();
      }
      connection_->wait_for_locks_until(step.deadline());
      step.run(*connection_);
    } catch (...) {
      step.fail(
          as_engine_error(std::current_exception(), step.operation(), file_.path(), During::step));
      connection_.reset();
    }
  }
  step.finish();
}

}  // namespace holt::sqlite
