// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/engine.hpp"

#include "engines/sqlite/diagnose.hpp"
#include "engines/sqlite/fence_step.hpp"
#include "engines/sqlite/lease_store.hpp"
#include "engines/sqlite/log_watch.hpp"
#include "engines/sqlite/place.hpp"
#include "engines/sqlite/reader.hpp"
#include "engines/sqlite/record_store.hpp"
#include "engines/sqlite/schema.hpp"
#include "engines/sqlite/signal_bus.hpp"
#include "engines/sqlite/store_file.hpp"
#include "engines/sqlite/task_file.hpp"
#include "engines/sqlite/task_steps.hpp"
#include "engines/sqlite/task_store.hpp"
#include "engines/sqlite/writer.hpp"
#include "sqlite_sql.hpp"

#include <unistd.h>

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace holt::sqlite {
namespace {

/// A writer whose commits survive a power cut, made when first needed.
class DurableWriter {
 public:
  DurableWriter(Env& env, StoreFile& file, Place place)
      : env_(env), file_(file), place_(std::move(place)) {
    place_.sync = Sync::full;
  }

  Writer& get() {
    std::scoped_lock const lock(mutex_);
    if (!writer_) writer_.emplace(env_, file_, place_, nullptr);
    return *writer_;
  }

 private:
  Env& env_;
  StoreFile& file_;
  Place place_;
  std::mutex mutex_;
  std::optional<Writer> writer_;
};

/// In the order in which they need each other: the last one goes first.
struct Parts {
  Parts(Env& env, Place const& place, std::string const& instance)
      : file(env, place.path),
        writer(env, file, place, open_store(env, place)),
        durable_writer(env, file, place),
        reader(env, file),
        signals(env, file, place, instance),
        leases(env, writer, reader, signals, instance),
        records(
            env, [this]() -> Writer& { return durable_writer.get(); }, reader, instance),
        task_file(env, place),
        tasks(env, task_file, signals, instance) {}

  StoreFile file;
  Writer writer;
  DurableWriter durable_writer;
  Reader reader;
  SqliteSignalBus signals;
  SqliteLeaseStore leases;
  SqliteRecordStore records;
  TaskFile task_file;
  SqliteTaskStore tasks;
};

class SqliteEngine final : public Engine {
 public:
  SqliteEngine(Env& env, Place const& place, std::string const& instance)
      : env_(env),
        place_(place),
        instance_(instance),
        url_(place.url()),
        parts_(std::make_unique<Parts>(env, place, instance)) {}

  /// A forked child has copies of the parent's handles: closing them would end the parent's locks.
  ~SqliteEngine() override {
    if (::getpid() != pid_) [[maybe_unused]]
      auto* const left = parts_.release();
  }
  SqliteEngine(SqliteEngine const&) = delete;
  SqliteEngine& operator=(SqliteEngine const&) = delete;

  LeaseStore& leases() override { return parts_->leases; }
  RecordStore& records() override { return parts_->records; }
  SignalBus& signals() override { return parts_->signals; }
  TaskStore* tasks() override { return &parts_->tasks; }
  [[nodiscard]] Capabilities capabilities() const override {
    return {.fencing = true,
            .time = TimeAuthority::host,
            .waiting = Waiting::line,
            .durability = Durability::embedded,
            .embedded = true};
  }
  [[nodiscard]] std::string const& url() const override { return url_; }
  void on_gone(std::function<void(std::string reason)> gone) override {
    parts_->file.on_gone(std::move(gone));
  }
  std::unique_ptr<ChangeWatch> watch(std::function<void()> changed) override {
    return watch_log(env_, place_.path, std::move(changed));
  }
  asio::awaitable<std::vector<Finding>> diagnose(std::chrono::nanoseconds patience) override {
    return sqlite::diagnose(env_, place_, parts_->writer, parts_->reader, patience);
  }
  asio::awaitable<FenceRaise> raise_fence(Instant deadline) override {
    RaiseFenceStep step(env_, instance_, deadline);
    co_await parts_->durable_writer.get().run(step);
    if (!parts_->task_file.exists()) co_return step.result();
    auto* const tasks = co_await parts_->task_file.open();
    TaskRaiseStep raise(env_, instance_, deadline);
    co_await tasks->writer.run(raise);
    co_return step.result();
  }

 private:
  Env& env_;
  Place const place_;
  std::string const instance_;
  std::string const url_;
  pid_t const pid_ = ::getpid();
  std::unique_ptr<Parts> parts_;
};

}  // namespace

std::unique_ptr<Engine> open(Env& env, EngineOptions const& options) {
  auto place = parse_place(options.url);
  check_is_there(place);
  return std::make_unique<SqliteEngine>(env, prepare(std::move(place)), options.instance);
}

StoreMigrations migrate(Env& env, EngineOptions const& options, bool dry_run) {
  auto place = parse_place(options.url);
  place.migrate = true;
  bool const there = FileIdentity::of(place.path).inode != 0;
  if (dry_run && !there) return migrations_of(place.url(), migrations, 0, false);
  place = prepare(std::move(place));
  auto const before = format_of(env, place);
  if (!dry_run) {
    open_store(env, place)->keep_log_at_close();
    open_tasks(env, place)->keep_log_at_close();
  }
  return migrations_of(place.url(), migrations, before, !dry_run);
}

}  // namespace holt::sqlite
