// SPDX-License-Identifier: Apache-2.0
#include "support/servers/shifted_clock.hpp"

#include <filesystem>
#include <fstream>

namespace holt::test {

/// A server that runs as another user may not look into the folder of the build; it may into this.
ShiftedClock::ShiftedClock(std::string file) : file_(std::move(file)), shim_(file_ + ".so") {
  std::filesystem::copy_file(HOLT_CLOCK_SHIM, shim_);
  set({});
}

void ShiftedClock::set(std::chrono::nanoseconds shift) const {
  auto const nanos = shift.count();
  // Not truncated: the processes have it mapped.
  std::fstream out(file_, std::ios::binary | std::ios::in | std::ios::out);
  if (!out) out.open(file_, std::ios::binary | std::ios::out);
  out.write(reinterpret_cast<char const*>(&nanos), sizeof nanos);
}

std::vector<std::pair<std::string, std::string>> ShiftedClock::environment() const {
  // ASan wants to come first; told that we know, it does without.
  return {{"LD_PRELOAD", shim_},
          {"CLOCKSHIM_FILE", file_},
          {"ASAN_OPTIONS", "verify_asan_link_order=0"}};
}

}  // namespace holt::test
