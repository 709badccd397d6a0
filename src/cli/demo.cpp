// SPDX-License-Identifier: Apache-2.0
// holt demo: an instance, and in it what a lock with fences does when all goes well, when its
// holder is killed, and when its holder is stopped and goes on too late; an election whose leaders
// stop and die; endpoints that are polled by a changing set of workers; and a queue whose tasks are
// done though a worker dies with one. On a store of its own, which is removed afterwards.

#include "cli/color.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/demo_stage.hpp"
#include "cli/demo_story.hpp"
#include "cli/demo_telling.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/progress.hpp"
#include "cli/signals.hpp"
#include "cli/stream.hpp"

#include <holt/error.hpp>
#include <holt/instance.hpp>
#include <holt/open.hpp>

#include <fmt/format.h>

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace holt::cli {
namespace {

constexpr char const* demo_instance = "demo";

/// A folder that is gone afterwards, with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    auto path = (std::filesystem::temp_directory_path() / "holt-demo-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) {
      throw std::system_error(errno, std::system_category(), "cannot make a folder like " + path);
    }
    path_ = path;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(TemporaryFolder const&) = delete;
  TemporaryFolder& operator=(TemporaryFolder const&) = delete;

  [[nodiscard]] std::filesystem::path const& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

std::chrono::nanoseconds median(std::vector<std::chrono::nanoseconds> times) {
  auto const middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

std::string truth(bool value) {
  return value ? "true" : styled(Style::red, "FALSE", STDOUT_FILENO);
}

void print_summary(Facts const& facts, bool one_name) {
  auto const row = [](char const* what, std::string const& value) {
    write_data(fmt::format("  {:<38}{}\n", what, value));
  };
  write_data('\n' + styled(Style::bold, "Summary", STDOUT_FILENO) + '\n');
  row("one instance under one name", truth(one_name));
  row("clean hand-overs", fmt::format("{}, median {:.2f} ms, slowest {:.2f} ms",
                                      facts.handovers.size(), in_ms(median(facts.handovers)),
                                      in_ms(*std::ranges::max_element(facts.handovers))));
  row("after SIGKILL, next holder",
      fmt::format("{:.1f} ms after the lease ended", in_ms(facts.after_kill)));
  row("after SIGSTOP, next holder",
      fmt::format("{:.1f} ms after the lease ended", in_ms(facts.after_stop)));
  row("the stopped one saw held() false", truth(facts.stopped_one_knew));
  row("its late write was refused", truth(facts.late_write_refused));
  row("no two holders at once", truth(facts.one_at_a_time()));
  row("a leader stopped, the next led",
      fmt::format("{:.2f} ms later", in_ms(facts.leader_stopped)));
  row("a leader was killed, the next led",
      fmt::format("{:.1f} ms after the lease ended", in_ms(facts.leader_killed)));
  row("no two leaders at once", truth(facts.one_leader_at_a_time()));
  row("a poller was killed, others polled",
      fmt::format("{:.1f} ms after its leases ended", in_ms(facts.poller_killed)));
  row("no two polls of one endpoint at once",
      facts.polled.one_at_a_time()
          ? fmt::format("true: {} polls, whose fences only grew", facts.polled.polls())
          : truth(false));
  row("a killed worker's task ran again",
      fmt::format("{:.1f} ms after its lease ended", in_ms(facts.task_again)));
  row("every task completed, none twice",
      facts.each_done_once() ? fmt::format("true: {} tasks", demo_tasks) : truth(false));
}

/// Everything happens in an instance of its own, as it would with `holt up --name demo`. True: a
/// second one of that name is refused.
bool name_is_taken_once(Instances& instances, Instance const& instance,
                        std::filesystem::path const& folder) {
  say(fmt::format("Instance {} is up: its name and its folder belong to nobody else, {}.",
                  instance.name(),
                  styled(Style::bold, "fence " + instance.fence().decimal(), STDOUT_FILENO)));
  auto const second = instances.up({.name = instance.name(), .workspace = folder.native()});
  if (second) return false;
  say(fmt::format("A second one of that name is {}: it is held by {}.\n",
                  styled(Style::red, "REFUSED", STDOUT_FILENO), second.error().by));
  return true;
}

/// Throws Failure: the store is fresh, so nobody can be in the way.
Instance come_up(Instances& instances, std::filesystem::path const& folder) {
  auto instance = instances.up({.name = demo_instance, .workspace = folder.native()});
  if (!instance) throw Failure(ExitCode::failed, "the instance of the demo was refused");
  return std::move(*instance);
}

int demo(CommandLine& line) {
  ProgressOption progress;
  progress.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  line.doing = "play the demo";
  BlockedSignals const blocked(ending_signals());  // Ctrl-C cleans up too,
  ::signal(SIGPIPE, SIG_IGN);                      // and so does a reader that goes away
  TemporaryFolder const folder;
  auto const url = "sqlite://" + (folder.path() / "holt.db").string();
  auto instances = open_instances(url);
  auto const instance = come_up(instances, folder.path());
  auto holt = holt::open(url, {.instance = instance.name()});
  Stage stage(demo_workers, url, instance.name());
  bool const one_name = name_is_taken_once(instances, instance, folder.path());
  auto const facts = Story(stage, holt, progress.form()).tell();
  print_summary(facts, one_name);
  return number(facts.all_true() && one_name ? ExitCode::ok : ExitCode::failed);
}

}  // namespace

constinit Command const demo_command{
    .words = "demo",
    .synopsis = "[options]",
    .summary = "See an instance, locks, an election, polling and a queue, in thirteen seconds",
    .examples = "  holt demo\n",
    .details =
        "Starts five worker processes on a store of their own, in a temporary folder, and\n"
        "cleans up afterwards. Exit code 0: everything it shows has really happened.\n",
    .run = &demo,
};

}  // namespace holt::cli
