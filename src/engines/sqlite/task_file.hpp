// SPDX-License-Identifier: Apache-2.0
#pragma once
// TaskFile: the second file of a store, <path>-tasks, with a writer, a reader and a gate of its
// own: a lease must not wait for twenty thousand rows. Every commit is on the disk before it is
// answered. Opened, and made, when first needed: who has no tasks pays nothing.

#include "contracts/env.hpp"
#include "engines/sqlite/place.hpp"
#include "engines/sqlite/reader.hpp"
#include "engines/sqlite/store_file.hpp"
#include "engines/sqlite/writer.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <mutex>

namespace holt::sqlite {

class TaskFile {
 public:
  struct Parts {
    Parts(Env& env, Place const& place, std::unique_ptr<Connection> connection);
    StoreFile file;
    Writer writer;
    Reader reader;
  };

  /// `store`: the prepared place of the store whose tasks these are.
  TaskFile(Env& env, Place const& store) : env_(env), store_(store) {}
  TaskFile(TaskFile const&) = delete;
  TaskFile& operator=(TaskFile const&) = delete;

  /// Opens it, if that was not done yet. Throws EngineError, and then may be asked again. The parts
  /// live as long as this.
  asio::awaitable<Parts*> open();

  /// There is such a file, be it open or not.
  [[nodiscard]] bool exists() const;

 private:
  Parts* open_here();
  asio::awaitable<Parts*> opened();

  Env& env_;
  Place const store_;
  std::mutex mutex_;
  std::unique_ptr<Parts> parts_;
};

/// Makes the file for the tasks of the prepared place `store` if it is not there, and opens it.
/// Throws EngineError as open_store() does.
[[nodiscard]] std::unique_ptr<Connection> open_tasks(Env& env, Place const& store);

}  // namespace holt::sqlite
