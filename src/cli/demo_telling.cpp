// SPDX-License-Identifier: Apache-2.0
#include "cli/demo_telling.hpp"

#include "cli/color.hpp"
#include "cli/stream.hpp"

#include <holt/clock.hpp>

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

namespace holt::cli {

double in_ms(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

double in_s(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

Instant instant(std::int64_t nanoseconds) { return Instant(BootClock::duration(nanoseconds)); }

std::chrono::nanoseconds later_than(Instant since, Instant at) {
  return std::max(at - since, std::chrono::nanoseconds(0));
}

std::string fence_text(std::uint64_t fence) {
  return styled(Style::bold, fmt::format("fence {}", fence), STDOUT_FILENO);
}

void say(std::string const& line) {
  clear_line();
  write_data(line + '\n');
}

void say_trouble(std::string const& line) {
  say('\n' + styled(Style::yellow, line, STDOUT_FILENO));
}

}  // namespace holt::cli
