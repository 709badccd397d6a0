// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/committer.hpp"

#include <system_error>
#include <utility>

namespace holt::sqlite {
namespace {

constexpr int page_bytes = 4096;
// Long enough that few writers wait for the two syncs of a checkpoint, short enough to open fast.
constexpr int checkpoint_pages = 4 * 1024 * 1024 / page_bytes;
constexpr int keep_pages = 256 * 1024 / page_bytes;  // a shorter log is kept at close
// The log's file gets longer by so much, before what is left of it is less than most commits write.
constexpr int spare_pages = 512 * 1024 / page_bytes;
constexpr int enough_pages = 64 * 1024 / page_bytes;

bool poisons_connection(std::exception_ptr const& error) {
  try {
    std::rethrow_exception(error);
  } catch (DatabaseError const& what) {
    return what.poisons_connection();
  } catch (...) {
    return false;
  }
}

}  // namespace

std::exception_ptr as_engine_error(std::exception_ptr const& error, std::string_view operation,
                                   std::string_view path, During during) {
  try {
    std::rethrow_exception(error);
  } catch (DatabaseError const& what) {
    return std::make_exception_ptr(engine_error(what, operation, path, during));
  } catch (EngineError const& what) {
    return std::make_exception_ptr(EngineError(what.code(), what.outcome(), what.engine(),
                                               operation, what.reason(), what.hint()));
  } catch (std::system_error const& what) {
    return std::make_exception_ptr(store_error(ErrorCode::rate_limited, operation, what.what(),
                                               "the system is out of threads or memory"));
  } catch (...) {
    return std::current_exception();
  }
}

Committer::Committer(Env& env, Place place, std::unique_ptr<Connection> connection)
    : env_(env), place_(std::move(place)), connection_(std::move(connection)) {}

Committer::~Committer() {
  checkpointer_.reset();
  if (connection_ && connection_->log_pages() < keep_pages) connection_->keep_log_at_close();
}

bool Committer::begin(Instant until) {
  if (!connection_) connection_ = std::make_unique<Connection>(env_, place_.path, place_.sync);
  connection_->wait_for_locks_until(until);
  try {
    if (!connection_->begin()) return false;
    lengthen_log();
    return true;
  } catch (...) {
    roll_back(std::current_exception());
    throw;
  }
}

/// Where each commit waits for the disk.
void Committer::lengthen_log() noexcept {
  auto const pages = connection_->log_pages();
  if (place_.sync != Sync::full || pages + enough_pages <= long_pages_) return;
  long_pages_ = pages + spare_pages;
  connection_->lengthen_log(long_pages_);
}

void Committer::run(Batch const& batch) {
  if (run_together(batch)) return;
  for (auto* step : batch) run_alone(*step);
}

/// False: a step failed, nothing is applied, and the others deserve their own try.
bool Committer::run_together(Batch const& batch) {
  auto* current = batch.front();
  try {
    for (auto* step : batch) {
      current = step;
      step->run(*connection_);
    }
  } catch (...) {
    roll_back(std::current_exception());
    if (batch.size() > 1) return false;
    fail(*current, std::current_exception(), During::step);
    return true;
  }
  commit(batch);
  return true;
}

void Committer::run_alone(Step& step) {
  try {
    if (!begin(step.deadline())) {
      throw store_error(ErrorCode::network_timeout, step.operation(),
                        "another program keeps the store locked");
    }
    step.run(*connection_);
  } catch (...) {
    roll_back(std::current_exception());
    fail(step, std::current_exception(), During::step);
    return;
  }
  commit({&step});
}

void Committer::commit(Batch const& batch) {
  try {
    connection_->commit();
    commits_.fetch_add(1, std::memory_order_relaxed);
    // The log was started over: count from its beginning.
    if (connection_->log_pages() < checkpointed_pages_) checkpointed_pages_ = 0;
  } catch (...) {
    auto const error = std::current_exception();
    roll_back(error);
    for (auto* step : batch) fail(*step, error, During::commit);
  }
}

void Committer::roll_back(std::exception_ptr const& error) noexcept {
  if (!connection_) return;
  connection_->rollback();
  if (poisons_connection(error)) connection_.reset();
}

void Committer::fail(Step& step, std::exception_ptr const& error, During during) const {
  step.fail(as_engine_error(error, step.operation(), place_.path, during));
}

// Where readers keep the log from being started over, it goes on growing after a checkpoint; then
// the next one is due when as much has come again.
bool Committer::checkpoint_is_due() const noexcept {
  return connection_ && connection_->log_pages() - checkpointed_pages_ >= checkpoint_pages;
}

void Committer::checkpoint() noexcept {
  try {
    if (!checkpointer_) {
      checkpointer_ = std::make_unique<Connection>(env_, place_.path, Sync::normal);
      checkpointer_->keep_log_at_close();
    }
    checkpointer_->wait_for_locks_until({});
    if (!begin({})) return;
    checkpointed_pages_ = connection_->log_pages();
    checkpointer_->checkpoint();
    connection_->commit();
  } catch (...) {
    checkpointer_.reset();
    roll_back(std::current_exception());
  }
}

}  // namespace holt::sqlite
