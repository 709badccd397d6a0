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

/// A folder that goes with its owner; in memory where the system has such a place.
class Folder {
 public:
  Folder() {
    std::string pattern = ::access("/dev/shm", W_OK) == 0 ? std::string("/dev/shm")
                                                          : fs::temp_directory_path().string();
    pattern += "/holt-sim-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), "cannot make " + pattern);
    }
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(Folder const&) = delete;
  Folder& operator=(Folder const&) = delete;

  [[nodiscard]] std::string file() const { return (path_ / "store.db").string(); }

 private:
  fs::path path_;
};

}  // namespace

struct RealStore::Parts {
  Parts(SimEnv& of, SignalBus& signals)
      : env(of),
        place(db::prepare({folder.file(), db::Sync::normal})),
        file(env, place.path),
        writer(env, file, place, db::open_store(env, place)),
        reader(env, file),
        leases(env, writer, reader, signals, "sim") {}

  SimEnv& env;
  Folder folder;
  db::Place place;
  db::StoreFile file;
  db::Writer writer;
  db::Reader reader;
  db::SqliteLeaseStore leases;
};

RealStore::RealStore(SimEnv& env, SignalBus& signals)
    : parts_(std::make_unique<Parts>(env, signals)) {}

RealStore::~RealStore() = default;

LeaseStore& RealStore::leases() { return parts_->leases; }

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
