// SPDX-License-Identifier: Apache-2.0
// Whether a store is the same after many tasks: fills and drains it again and again.
//
// task_long_bench [TASKS]      in all; 5,000,000 unless told, here or by HOLT_BENCH_TASKS

#include "figures.hpp"
#include "postgres_figures.hpp"
#include "redis_figures.hpp"
#include "task_shapes.hpp"
#include "tasks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>

namespace holt::bench {
namespace {

constexpr std::size_t each = 100'000;
constexpr std::size_t warm_up = 2;   // passes that count for nothing
constexpr std::size_t compared = 5;  // first ones, and last ones

/// Sizes and rates of the first passes and of the last ones.
void passes(std::string const& store, std::string const& url, std::size_t tasks,
            std::function<double()> const& size) {
  std::vector<double> rates;
  std::vector<double> sizes;
  for (std::size_t pass = 0; pass < warm_up + tasks / each; ++pass) {
    auto const rate = drain(url, {.count = each, .queue = "long"}).per_second;
    rates.push_back(rate);
    sizes.push_back(size());
  }
  auto const of = [](std::vector<double> const& all, std::size_t from) {
    auto const begin = all.begin() + static_cast<std::ptrdiff_t>(from);
    return median({begin, begin + compared});
  };
  auto const last = rates.size() - compared;
  row(store + ", rate, last / first", ratio_text(of(rates, last) / of(rates, warm_up)),
      "at least 0.85x");
  row(store + ", size, last / first", ratio_text(of(sizes, last) / of(sizes, warm_up)),
      "at most 1.15x");
  row(store + ", size at the end, MB", fmt::format("{:.1f}", of(sizes, last) * 1e-6));
}

double folder_size(std::filesystem::path const& folder) {
  double bytes = 0;
  for (auto const& file : std::filesystem::directory_iterator(folder)) {
    if (file.is_regular_file()) bytes += static_cast<double>(file.file_size());
  }
  return bytes;
}

void run(std::size_t tasks) {
  head(
      "Tasks: after many of them",
      fmt::format("{} tasks of one queue on each store, {} at a time added and drained. First: the "
                  "median of\nthe third to seventh time; last: of the last five. Sizes are "
                  "taken after each drain: all\ntables and indexes of the schema, the server's "
                  "memory, the files.",
                  rate_text(static_cast<double>(tasks)), rate_text(each)));
  {
    PostgresAtWork const server;
    passes("PostgreSQL", server->url(), tasks, [&] {
      return std::stod(
          server->query("SELECT sum(pg_total_relation_size(relid)) FROM pg_stat_user_tables"));
    });
  }
  {
    test::RedisServer const server(test::RedisOptions{.append_only = true});
    passes("Redis", server.url(), tasks, [&] {
      auto client = server.connect();
      return std::stod(test::info_field(client.text({"INFO", "memory"}), "used_memory"));
    });
  }
  Folder const folder;
  passes("SQLite", "sqlite://" + (folder.path() / "holt.db").string(), tasks,
         [&] { return folder_size(folder.path()); });
}

}  // namespace
}  // namespace holt::bench

int main(int count, char** given) {
  char const* const wanted = count > 1 ? given[1] : std::getenv("HOLT_BENCH_TASKS");
  auto const tasks = wanted != nullptr ? std::strtoul(wanted, nullptr, 10) : 5'000'000;
  holt::bench::run(std::max(tasks, holt::bench::each * holt::bench::compared));
  return 0;
}
