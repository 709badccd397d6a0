// SPDX-License-Identifier: Apache-2.0
// Hand-over on SQLite: after a clean release with 1 and with 200 processes waiting, and after the
// holder was killed.

#include "figures.hpp"
#include "handover.hpp"

#include <fmt/core.h>

namespace holt::bench {
namespace {

using namespace std::chrono_literals;

std::string url_in(Folder const& folder) {
  return "sqlite://" + (folder.path() / "store.db").string();
}

void measure() {
  head(
      "Locks: hand-over between processes, SQLite",
      "From the moment before the holder calls `release()` to the moment the next process has the "
      "lock.\nEach holds for 2 ms and stands in line again at once; 800 hand-overs. After SIGKILL: "
      "ttl 500 ms,\n20 times, counted from the end of the dead holder's lease.");
  for (int const waiting : {1, 200}) {
    Folder const folder;
    auto const seen = hand_overs(url_in(folder), {.processes = waiting + 1}, 800);
    gap_rows(fmt::format("clean release, {} waiting", waiting), seen.gaps, "at most 0.5 ms",
             "at most 5 ms");
  }
  Folder const folder;
  std::vector<double> late;
  for (int i = 0; i < 20; ++i) late.push_back(after_kill(url_in(folder), 500ms));
  gap_rows("after SIGKILL, past the rest of the ttl", late, "at most 5 ms", "");
}

}  // namespace
}  // namespace holt::bench

int main() { holt::bench::measure(); }
