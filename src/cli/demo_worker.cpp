// SPDX-License-Identifier: Apache-2.0
// holt demo-worker: one worker of `holt demo`, told by the demo what to do. See demo_stage.hpp.

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/demo_node.hpp"
#include "cli/demo_story.hpp"
#include "cli/demo_word.hpp"
#include "cli/exit_code.hpp"
#include "cli/store.hpp"

#include <holt/clock.hpp>
#include <holt/election.hpp>
#include <holt/lock.hpp>
#include <holt/open.hpp>
#include <holt/queue.hpp>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace holt::cli {
namespace {

constexpr std::string_view poll_order = "poll ";

void enter(Holt& holt, std::optional<Lock>& lock) {
  lock.reset();  // one that was lost
  auto taken = holt.lock(demo_lock, {.ttl = demo_ttl, .wait = wait_forever});
  auto const at = BootClock::now();
  if (!taken) return;
  lock.emplace(std::move(*taken));
  say_to_stage("entered " + lock->fence().decimal() + ' ' + text_of(at));
}

void leave(Lock& lock) {
  auto const at = BootClock::now();
  if (lock.release()) say_to_stage("left " + text_of(at));
}

/// As careless code would: it asks held(), but writes whatever the answer is.
void write(Lock const& lock) {
  say_to_stage("writes " + lock.fence().decimal() + (lock.held() ? " 1 " : " 0 ") +
               text_of(lock.deadline()));
}

void stand(Holt& holt, std::optional<Election>& election) {
  election.emplace(holt.election(demo_election, {.ttl = demo_ttl}));
  election->on([](ElectionEvent const& event) {
    auto const at = BootClock::now();
    if (event.kind != ElectionEventKind::leadership_acquired) return;
    say_to_stage("leads " + event.term.decimal() + ' ' + text_of(at));
  });
  election->start();
}

void stop(Election& election) {
  auto const at = BootClock::now();
  if (election.stop() == Resignation::done) say_to_stage("stopped " + text_of(at));
}

void rest(std::optional<DemoNode>& node) {
  node.reset();
  say_to_stage("rested");
}

void do_task(Job& job, std::chrono::milliseconds takes) {
  auto const task = std::to_string(job.task().payload.front() - 'a');
  say_to_stage("begins " + task + ' ' + job.fence().decimal() + ' ' + text_of(BootClock::now()) +
               ' ' + std::to_string(job.task().attempt));
  be_busy(takes, job.stop());
  say_to_stage("did " + task + ' ' + text_of(BootClock::now()));
}

// One task at a time and none ahead: what it leaves behind when it is killed is what it was doing.
void work(Holt& holt, std::optional<Worker>& worker) {
  worker.emplace(
      holt.worker({.queue = demo_queue, .concurrency = 1, .ttl = demo_claim_ttl, .prefetch = 0}));
  worker->handle(demo_short, [](Job& job) { do_task(job, demo_short_takes); });
  worker->handle(demo_long, [](Job& job) { do_task(job, demo_long_takes); });
  worker->start();
}

void finish(Worker& worker) {
  if (worker.stop()) say_to_stage("finished");
}

int demo_worker(CommandLine& line) {
  StoreOptions store;
  store.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setenv("HOLT_LOG_LEVEL", "off", 0);
  auto holt = store.open();
  std::optional<Lock> lock;
  std::optional<Election> election;
  std::optional<DemoNode> node;
  std::optional<Worker> worker;
  std::array<char, 64> buffer{};
  while (true) {
    auto const size = ::recv(demo_socket, buffer.data(), buffer.size(), 0);
    if (size <= 0) return number(ExitCode::ok);
    std::string_view const word(buffer.data(), static_cast<std::size_t>(size));
    if (word == "enter") enter(holt, lock);
    if (word == "write" && lock) write(*lock);
    if (word == "leave" && lock) leave(*lock);
    if (word == "stand") stand(holt, election);
    if (word == "stop" && election) stop(*election);
    if (word.starts_with(poll_order)) node.emplace(holt, word.substr(poll_order.size()));
    if (word == "rest") rest(node);
    if (word == "work") work(holt, worker);
    if (word == "finish" && worker) finish(*worker);
  }
}

}  // namespace

constinit Command const demo_worker_command{
    .words = "demo-worker",
    .synopsis = "[options]",
    .summary = "One worker of holt demo",
    .examples = "  holt demo\n",
    .details = {},
    .run = &demo_worker,
    .runs_child = false,
    .hidden = true,
    .without_files = true,
};

}  // namespace holt::cli
