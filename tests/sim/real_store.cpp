// SPDX-License-Identifier: Apache-2.0
#include "sim/real_store.hpp"

#include "engines/sqlite/connection.hpp"
#include "engines/sqlite/lease_store.hpp"
#include "engines/sqlite/place.hpp"
#include "engines/sqlite/reader.hpp"
#include "engines/sqlite/record_store.hpp"
#include "engines/sqlite/schema.hpp"
#include "engines/sqlite/store_file.hpp"
#include "engines/sqlite/task_file.hpp"
#include "engines/sqlite/task_store.hpp"
#include "engines/sqlite/writer.hpp"

#include <fmt/format.h>

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace holt::sim {
namespace {

namespace fs = std::filesystem;
namespace db = holt::sqlite;

}  // namespace

/// A folder that goes with its owner; in memory where the system has such a place.
class RealStore::Disk {
 public:
  Disk() {
    std::string pattern = ::access("/dev/shm", W_OK) == 0 ? std::string("/dev/shm")
                                                          : fs::temp_directory_path().string();
    pattern += "/holt-sim-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), "cannot make " + pattern);
    }
    path_ = pattern;
  }
  /// A copy. Between two events no transaction is open, so it is one of a moment. Without the -shm
  /// file, which is no part of what is stored, and the gate, which has no content. (Reading the
  /// file drops the locks that SQLite has on it; here nobody competes for them.)
  explicit Disk(Disk const& other) : Disk() { become(other); }
  void become(Disk const& other) {
    for (auto const* const end : {"", "-wal", "-tasks", "-tasks-wal"}) {
      fs::remove(file() + end);
      if (fs::exists(other.file() + end)) fs::copy_file(other.file() + end, file() + end);
    }
  }
  ~Disk() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Disk& operator=(Disk const&) = delete;

  [[nodiscard]] std::string file() const { return (path_ / "store.db").string(); }

 private:
  fs::path path_;
};

/// Each write has reached the disk when it is answered: every disk that somebody looks at has it.
class RealStore::DurableRecords final : public RecordStore {
 public:
  DurableRecords(RecordStore& store, std::function<void()> sync)
      : store_(store), sync_(std::move(sync)) {}

  asio::awaitable<std::optional<Record>> get(std::string key, Instant deadline) override {
    return store_.get(std::move(key), deadline);
  }
  asio::awaitable<std::expected<std::uint64_t, Conflict>> put(RecordWrite write,
                                                              Instant deadline) override {
    auto answer = co_await store_.put(std::move(write), deadline);
    sync_();
    co_return answer;
  }
  asio::awaitable<std::expected<bool, Conflict>> erase(std::string key,
                                                       std::optional<std::uint64_t> expected,
                                                       Instant deadline) override {
    auto answer = co_await store_.erase(std::move(key), expected, deadline);
    sync_();
    co_return answer;
  }
  asio::awaitable<RecordPage> list(std::string prefix, std::string cursor, std::uint32_t limit,
                                   Instant deadline) override {
    return store_.list(std::move(prefix), std::move(cursor), limit, deadline);
  }
  asio::awaitable<std::int64_t> add(std::string counter, std::int64_t step,
                                    Instant deadline) override {
    auto const answer = co_await store_.add(std::move(counter), step, deadline);
    sync_();
    co_return answer;
  }

 private:
  RecordStore& store_;
  std::function<void()> sync_;
};

/// The same of tasks; renewals may be lost.
class RealStore::DurableTasks final : public TaskStore {
 public:
  DurableTasks(TaskStore& store, std::function<void()> sync)
      : store_(store), sync_(std::move(sync)) {}

  asio::awaitable<std::vector<Added>> add(AddRequest request, Instant deadline) override {
    auto answer = co_await store_.add(std::move(request), deadline);
    sync_();
    co_return answer;
  }
  asio::awaitable<Claimed> claim(ClaimRequest request, Instant deadline) override {
    auto answer = co_await store_.claim(std::move(request), deadline);
    sync_();
    co_return answer;
  }
  asio::awaitable<std::vector<std::expected<RenewedClaim, Lost>>> renew(
      std::vector<ClaimRenewal> renewals, Instant deadline) override {
    return store_.renew(std::move(renewals), deadline);
  }
  asio::awaitable<Cancellation> cancel(TaskId id, Instant deadline) override {
    auto const answer = co_await store_.cancel(std::move(id), deadline);
    sync_();
    co_return answer;
  }
  asio::awaitable<std::optional<TaskInfo>> find(TaskId id, Instant deadline) override {
    return store_.find(std::move(id), deadline);
  }
  asio::awaitable<TaskPage> list(std::string queue, TaskFilter filter, std::string cursor,
                                 std::uint32_t limit, Instant deadline) override {
    return store_.list(std::move(queue), std::move(filter), std::move(cursor), limit, deadline);
  }
  asio::awaitable<TaskCounts> count(std::string queue, Instant deadline) override {
    return store_.count(std::move(queue), deadline);
  }

 private:
  TaskStore& store_;
  std::function<void()> sync_;
};

struct RealStore::Parts {
  Parts(SimEnv& of, SignalBus& signals, std::unique_ptr<Disk> on)
      : env(of),
        disk(std::move(on)),
        place(db::prepare({disk->file(), db::Sync::normal})),
        file(env, place.path),
        writer(env, file, place, db::open_store(env, place)),
        record_writer(env, file, on_disk(place), nullptr),
        reader(env, file),
        leases(env, writer, reader, signals, "sim"),
        records(
            env, [this]() -> db::Writer& { return record_writer; }, reader, "sim"),
        durable_records(records, [this] { sync(); }),
        task_file(env, place),
        tasks(env, task_file, signals, "sim"),
        durable_tasks(tasks, [this] { sync(); }) {}

  static db::Place on_disk(db::Place place) {
    place.sync = db::Sync::full;
    return place;
  }
  void sync() {
    std::erase_if(watched, [](auto const& each) { return each.expired(); });
    for (auto const& one : watched) one.lock()->become(*disk);
  }

  SimEnv& env;
  std::unique_ptr<Disk> disk;
  db::Place place;
  db::StoreFile file;
  db::Writer writer;
  db::Writer record_writer;
  db::Reader reader;
  db::SqliteLeaseStore leases;
  db::SqliteRecordStore records;
  DurableRecords durable_records;
  db::TaskFile task_file;
  db::SqliteTaskStore tasks;
  DurableTasks durable_tasks;
  std::vector<std::weak_ptr<Disk>> watched;
};

RealStore::RealStore(SimEnv& env, SignalBus& signals, std::shared_ptr<Disk const> disk)
    : parts_(std::make_unique<Parts>(
          env, signals, disk ? std::make_unique<Disk>(*disk) : std::make_unique<Disk>())) {}

RealStore::~RealStore() = default;

LeaseStore& RealStore::leases() { return parts_->leases; }

RecordStore& RealStore::records() { return parts_->durable_records; }

TaskStore& RealStore::tasks() { return parts_->durable_tasks; }

std::shared_ptr<RealStore::Disk const> RealStore::disk() {
  auto disk = std::make_shared<Disk>(*parts_->disk);
  parts_->watched.push_back(disk);
  return disk;
}

std::string RealStore::leftovers() {
  static constexpr std::string_view rows =
      "SELECT 'lease', name, owner FROM lease WHERE name <> '' "
      "UNION ALL SELECT 'ticket', name, owner FROM ticket";
  db::Connection connection(parts_->env, parts_->place.path, db::Sync::normal);
  db::Query query(connection, rows);
  std::string result;
  while (query.next()) {
    result += fmt::format("[{} {} {}]", query.text(0), query.text(1), query.text(2));
  }
  return result;
}

std::string RealStore::leases_of(std::string_view word) {
  db::Connection connection(parts_->env, parts_->place.path, db::Sync::normal);
  db::Query query(connection, "SELECT name FROM lease WHERE instr(note, ?1) > 0", word);
  std::string result;
  while (query.next()) result += fmt::format("[{}]", query.text(0));
  return result;
}

std::vector<std::pair<std::string, std::string>> RealStore::records_from(std::string_view prefix) {
  db::Connection connection(parts_->env, parts_->place.path, db::Sync::normal);
  db::Query query(connection,
                  "SELECT key, CAST(value AS TEXT) FROM record WHERE instr(key, ?1) = 1", prefix);
  std::vector<std::pair<std::string, std::string>> result;
  while (query.next()) result.emplace_back(query.text(0), query.text(1));
  return result;
}

}  // namespace holt::sim
