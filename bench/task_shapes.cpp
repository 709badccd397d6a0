// SPDX-License-Identifier: Apache-2.0
#include "task_shapes.hpp"

#include "figures.hpp"
#include "tasks.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace holt::bench {

std::string rate_text(double per_second) {
  auto text = fmt::format("{:.0f}", per_second);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return text;
}

void task_shape_rows(std::string const& url, double drained) {
  auto const kilobyte = drain(url, {.count = 20'000, .payload = 1000});
  row("1 kB payloads, tasks per second", rate_text(kilobyte.per_second));
  constexpr double handlers = 100;
  auto const slow = drain(url, {.count = 10'000, .concurrency = 50, .handler_ns = 10'000'000});
  row("10 ms handlers, 2 x 50 of them: share of the time that they work",
      fmt::format("{:.0f} %", slow.per_second * 0.01 / handlers * 100));
  auto const many = drain(url, {.count = 10'000, .concurrency = 1, .queues = 1000});
  row("1,000 queues, tasks per second", rate_text(many.per_second));
  // More than half of it cannot be added beside the workers on a small machine.
  auto const rate = std::min(drained / 2, 50'000.0);
  auto const took = completions(url, rate, 3);
  row(fmt::format("from add to completion at {} tasks per second, p50", rate_text(rate)),
      time_text(median(took)));
  row("the same, p99", time_text(percentile(took, 0.99)));
}

}  // namespace holt::bench
