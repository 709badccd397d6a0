// SPDX-License-Identifier: Apache-2.0
// Workers: the part of Core and of the public API.

#include "client/core.hpp"
#include "client/node_name.hpp"
#include "client/queue_settings.hpp"
#include "client/queue_work.hpp"
#include "contracts/task_rules.hpp"

#include <holt/open.hpp>
#include <holt/queue.hpp>

#include <fmt/format.h>

#include <utility>

namespace holt {
namespace client {

Worker Core::worker(WorkerOptions const& options) {
  check_usable("worker");
  auto& tasks = this->tasks();
  check_queue(options.queue);
  task_rules::at_most("a worker's name", options.name.size(), task_rules::worker_bytes);
  task_rules::within("tasks taken ahead", options.prefetch, 0, TaskStore::max_claim);
  WorkPlan plan(std::string(options.queue),
                options.name.empty() ? process_name() : std::string(options.name));
  plan.concurrency = queue_workers(options.concurrency);
  plan.ttl = queue_lock_duration(options.ttl);
  plan.poll = queue_poll_interval(options.poll);
  plan.prefetch = options.prefetch;
  plan.patience = timeout_;
  auto const executor = home_ != nullptr ? home_->home() : env_.executor();
  WorkTools const tools{env_, tasks, engine_->signals(), log_, executor};
  auto work = std::make_unique<QueueWork>(shared_from_this(), tools, std::move(plan),
                                          Retries(options.retry), home_);
  work->heed(gone_.get_token(), closing_.get_token());
  return Worker(std::move(work));
}

}  // namespace client

Job::Job(std::shared_ptr<HeldTask> held) noexcept : held_(std::move(held)) {}
Task const& Job::task() const noexcept { return held_->task(); }
Fence Job::fence() const noexcept { return held_->claim().fence(); }
bool Job::held() const noexcept { return held_->held(); }
Instant Job::deadline() const noexcept { return held_->claim().deadline(); }
std::stop_token Job::stop() const noexcept { return held_->stop(); }

bool Job::progress(std::string_view text) {
  task_rules::at_most("progress", text.size(), task_limits::progress_bytes);
  return held_->progress(std::string(text));
}

void Job::result(std::string bytes) {
  task_rules::at_most("a result", bytes.size(), task_limits::result_bytes);
  held_->result(std::move(bytes));
}

Worker::Worker(std::unique_ptr<client::QueueWork> work) noexcept : work_(std::move(work)) {}
Worker::Worker(Worker&& other) noexcept = default;
Worker& Worker::operator=(Worker&& other) noexcept = default;
Worker::~Worker() = default;

void Worker::handle(std::string_view kind, Handler handler) {
  work_->handle(kind, std::move(handler));
}
void Worker::handle_others(Handler handler) { work_->handle_others(std::move(handler)); }
void Worker::on_late(OnLate late) { work_->on_late(std::move(late)); }
void Worker::start() { work_->start(); }
bool Worker::stop(std::chrono::milliseconds patience) { return work_->stop(patience); }
std::string const& Worker::name() const noexcept { return work_->name(); }

Worker Holt::worker(WorkerOptions options) { return core_->worker(options); }

}  // namespace holt
