// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the task queue is measured against: peers in Node.js (bench/peers/tasks), where they are
// installed, and the classic way to claim in SQL, by pgbench.

#include "postgres_figures.hpp"

#include <cstddef>
#include <string>

namespace holt::bench {

/// "graphile", "pgboss" or "bullmq", on a server.
class TaskPeer {
 public:
  TaskPeer(std::string name, std::string url) : name_(std::move(name)), url_(std::move(url)) {}

  /// In bench/peers/tasks, or where HOLT_TASK_PEERS says.
  static bool installed();
  /// For the text above a table: that they are not, and how to change that; or nothing.
  static std::string missing();

  struct Drained {
    double per_second = 0;
    double cpu_us = 0;  ///< of the workers, per task
  };
  /// All of these are 0 when it is not installed.
  [[nodiscard]] Drained drain(std::size_t count, int processes) const;
  [[nodiscard]] double bulk_adds(std::size_t count, std::size_t at_a_time) const;
  [[nodiscard]] double single_adds(std::size_t count, int in_flight) const;
  /// Seconds, half of them take less.
  [[nodiscard]] double pickup(std::size_t count) const;

 private:
  [[nodiscard]] std::string said(std::string const& what, std::size_t count, int several) const;

  std::string name_;
  std::string url_;
};

/// Tasks per second that two connections of pgbench claim a hundred at a time, by an update of rows
/// that they lock past others, and then delete.
double classic_floor(PostgresAtWork const& server);

/// Prints the ratio of two figures; that the peer is missing when there is none.
void versus(std::string const& what, double ours, double theirs, std::string const& target);

}  // namespace holt::bench
