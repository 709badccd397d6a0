// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reader: runs steps that only read, on a connection of its own, so that they never stand behind
// writers. Opened when first needed.

#include "contracts/env.hpp"
#include "engines/sqlite/step.hpp"
#include "engines/sqlite/store_file.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <mutex>

namespace holt::sqlite {

class Reader {
 public:
  Reader(Env& env, StoreFile& file);
  ~Reader();
  Reader(Reader const&) = delete;
  Reader& operator=(Reader const&) = delete;

  /// Runs the step: on the thread of the awaiting coroutine where that may block. Throws
  /// EngineError. `step` must live until then. Resumes on the awaiting coroutine's executor.
  asio::awaitable<void> run(Step& step);

 private:
  void serve(Step& step) noexcept;

  Env& env_;
  StoreFile& file_;
  std::mutex mutex_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace holt::sqlite
