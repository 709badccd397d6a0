// SPDX-License-Identifier: Apache-2.0
#include "engines/postgres/task_sweeper.hpp"

#include "postgres_sql.hpp"

#include <holt/error.hpp>

#include <boost/asio/co_spawn.hpp>

#include <chrono>
#include <exception>
#include <string>
#include <string_view>

namespace holt::postgres {
namespace {

/// All clients together sweep once for so many tasks, each on its own account.
constexpr std::size_t many = 20'000;
/// So few do when there is nothing else to do.
constexpr std::size_t some = 5'000;
/// Nothing waits for it.
constexpr std::chrono::minutes patience{10};
/// How many times as long as the last sweep it takes until the next one may begin, at work and at
/// rest: large tables, or an old snapshot, because of which nothing can be removed, make it longer.
constexpr int pauses_at_work = 6;
constexpr int pauses_at_rest = 4;

}  // namespace

/// Those that come and go with fewer tasks do their share too, by chance.
TaskSweeper::TaskSweeper(Env& env, Pool& pool, Place const& place)
    : env_(env), pool_(pool), taken_(env.random() % many) {
  for (std::string_view const text : {sql::task_sweep_ready, sql::task_sweep_claims}) {
    statements_.push_back(statement(in_schema(text, place.schema)));
  }
}

void TaskSweeper::taken(std::size_t tasks, bool rested) {
  taken_ += tasks;
  auto const pauses = rested ? pauses_at_rest : pauses_at_work;
  if (taken_ < (rested ? some : many) || sweeping_ || env_.now() < ended_ + pauses * took_) return;
  taken_ = 0;
  sweeping_ = true;
  began_ = env_.now();
  asio::co_spawn(env_.executor(), sweep(), [this](std::exception_ptr const& /*none*/) {
    ended_ = env_.now();
    took_ = ended_ - began_;
    sweeping_ = false;
  });
}

asio::awaitable<void> TaskSweeper::sweep() {
  for (auto const& statement : statements_) {
    try {
      [[maybe_unused]] Answer const done =
          co_await pool_.call(statement, Parameters(), Effect::reads, "sweep", began_ + patience);
    } catch (EngineError const&) {  // NOLINT(bugprone-empty-catch): the next one does it
    }
  }
}

}  // namespace holt::postgres
