// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is printed of tasks on every engine: the same rows, so that engines can be compared.

#include <string>

namespace holt::bench {

/// Tasks that are no no-ops: 1 kB payloads, 10 ms handlers, 1,000 queues; and how long a task takes
/// from its add to its completion at half of the rate that `drained` is.
void task_shape_rows(std::string const& url, double drained);

/// "123,456"
std::string rate_text(double per_second);

}  // namespace holt::bench
