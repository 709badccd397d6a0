// SPDX-License-Identifier: Apache-2.0
// `holt run --lock x -- true` next to `flock file true`: 200 runs of each, alternating.

#include "figures.hpp"

#include <holt/clock.hpp>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace holt::bench {
namespace {

constexpr int runs = 200;

double time_of(std::vector<std::string> command) {
  std::vector<char*> arguments;
  for (auto& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  auto const start = BootClock::now();
  if (::posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0) {
    throw std::runtime_error("cannot start " + command[0]);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) throw std::runtime_error(command[0] + " failed");
  return std::chrono::duration<double>(BootClock::now() - start).count();
}

void measure() {
  Folder const folder;
  auto const store = "sqlite://" + (folder.path() / "store.db").string();
  auto const file = (folder.path() / "flock").string();
  char const* binary = std::getenv("HOLT_BINARY");
  std::string const holt = binary != nullptr ? binary : HOLT_BINARY;
  std::vector<double> holts;
  std::vector<double> flocks;
  std::vector<double> ratios;
  for (int i = 0; i < runs; ++i) {
    flocks.push_back(time_of({"flock", file, "true"}));
    holts.push_back(time_of({holt, "run", "--store", store, "--lock", "x", "--", "true"}));
    ratios.push_back(holts.back() / flocks.back());
  }
  head("A command under a lock: `holt run --lock x -- true` next to `flock file true`",
       "200 runs of each, alternating.");
  row("`flock`, median", time_text(median(flocks)));
  row("`holt run`, median", time_text(median(holts)));
  row("ratio of the medians", ratio_text(median(holts) / median(flocks)), "at most 3x");
  row("median of the pairs' ratios", ratio_text(median(ratios)));
}

}  // namespace
}  // namespace holt::bench

int main() { holt::bench::measure(); }
