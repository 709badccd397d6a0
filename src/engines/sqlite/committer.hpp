// SPDX-License-Identifier: Apache-2.0
#pragma once
// Committer: runs a batch of steps in one transaction and commits it. The synchronous half of
// Writer; one thread at a time, which holds the gate.
//
// Checkpoints. SQLite 3.40 loses commits when a checkpoint runs beside a writer, also if there is
// only one checkpointer. So none ever runs by itself. When the log has grown past 4 MB, we
// begin a transaction that writes nothing, which keeps every writer out, and a second connection
// copies the log into the file (PASSIVE: it waits for nobody). The next writer starts the log over.

#include "contracts/env.hpp"
#include "engines/sqlite/errors.hpp"
#include "engines/sqlite/place.hpp"
#include "engines/sqlite/step.hpp"

#include <atomic>
#include <cstdint>
#include <memory>

namespace holt::sqlite {

class Committer {
 public:
  /// `connection` may be empty: then it is opened when first needed.
  Committer(Env& env, Place place, std::unique_ptr<Connection> connection);
  ~Committer();
  Committer(Committer const&) = delete;
  Committer& operator=(Committer const&) = delete;

  /// Begins a transaction. False: another program keeps the file locked until `until`.
  /// Throws DatabaseError.
  [[nodiscard]] bool begin(Instant until);

  /// Runs the steps in the transaction that was begun and commits it. If one of them throws, all is
  /// rolled back and each runs in a transaction of its own. Afterwards each step has its result or
  /// its error. Does not throw.
  void run(Batch const& batch);

  /// The log is long enough for a checkpoint.
  [[nodiscard]] bool checkpoint_is_due() const noexcept;
  /// Copies the log into the file. What fails is tried again later.
  void checkpoint() noexcept;

  [[nodiscard]] std::uint64_t commits() const noexcept { return commits_; }

 private:
  bool run_together(Batch const& batch);
  void run_alone(Step& step);
  void commit(Batch const& batch);
  void lengthen_log() noexcept;
  void roll_back(std::exception_ptr const& error) noexcept;
  void fail(Step& step, std::exception_ptr const& error, During during) const;

  Env& env_;
  Place place_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Connection> checkpointer_;
  int checkpointed_pages_ = 0;
  int long_pages_ = 0;  // the log's file has room for so many, as far as we know
  std::atomic<std::uint64_t> commits_{0};
};

/// `error` as the caller of `operation` is to see it: SQLite's own becomes an EngineError.
[[nodiscard]] std::exception_ptr as_engine_error(std::exception_ptr const& error,
                                                 std::string_view operation, std::string_view path,
                                                 During during);

}  // namespace holt::sqlite
