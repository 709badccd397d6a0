// SPDX-License-Identifier: Apache-2.0
#include "sim/real_store.hpp"

#include "engines/sqlite/connection.hpp"
#include "engines/sqlite/lease_store.hpp"
#include "engines/sqlite/place.hpp"
#include "engines/sqlite/reader.hpp"
#include "engines/sqlite/schema.hpp"
#include "engines/sqlite/store_file.hpp"
#include "engines/sqlite/writer.hpp"

#include <fmt/format.h>

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
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
  explicit Disk(Disk const& other) : Disk() {
    for (auto const* const end : {"", "-wal"}) {
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

struct RealStore::Parts {
  Parts(SimEnv& of, SignalBus& signals, std::unique_ptr<Disk> on)
      : env(of),
        disk(std::move(on)),
        place(db::prepare({disk->file(), db::Sync::normal})),
        file(env, place.path),
        writer(env, file, place, db::open_store(env, place)),
        reader(env, file),
        leases(env, writer, reader, signals, "sim") {}

  SimEnv& env;
  std::unique_ptr<Disk> disk;
  db::Place place;
  db::StoreFile file;
  db::Writer writer;
  db::Reader reader;
  db::SqliteLeaseStore leases;
};

RealStore::RealStore(SimEnv& env, SignalBus& signals, std::shared_ptr<Disk const> disk)
    : parts_(std::make_unique<Parts>(
          env, signals, disk ? std::make_unique<Disk>(*disk) : std::make_unique<Disk>())) {}

RealStore::~RealStore() = default;

LeaseStore& RealStore::leases() { return parts_->leases; }

std::shared_ptr<RealStore::Disk const> RealStore::disk() const {
  return std::make_shared<Disk const>(*parts_->disk);
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

}  // namespace holt::sim
