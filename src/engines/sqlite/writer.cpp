// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/writer.hpp"

#include "engines/sqlite/blocker.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace holt::sqlite {
namespace {

constexpr std::size_t max_batch = 512;
constexpr int max_batches = 4;    // of one leader
constexpr int max_past_gate = 8;  // in a row
// How often a leader that waits looks for newcomers with an earlier deadline.
constexpr auto look_again = std::chrono::milliseconds(50);
constexpr auto longest_gathering = std::chrono::microseconds(200);

std::exception_ptr timed_out(Step const& step, std::string const& path, Blocker const& blocker) {
  auto const reason = fmt::format(
      "{} is busy: {}", path, blocker.who.empty() ? "another process holds its lock" : blocker.who);
  return std::make_exception_ptr(
      store_error(ErrorCode::network_timeout, step.operation(), reason, blocker.hint));
}

}  // namespace

Writer::Writer(Env& env, StoreFile& file, Place const& place,
               std::unique_ptr<Connection> connection)
    : env_(env),
      file_(file),
      gate_(place.gate(), place.path),
      commits_fast_(place.sync == Sync::normal),
      committer_(env, place, std::move(connection)) {}

/// Who led last may still be on its way out, after it woke the last caller.
Writer::~Writer() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return !leading_; });
}

asio::awaitable<void> Writer::run(Step& step) {
  auto const executor = co_await asio::this_coro::executor;
  bool const leads = may_block_on(env_, executor) && try_lead(step);
  if (leads) {
    lead(&step);
  } else {
    co_await asio::async_initiate<asio::use_awaitable_t<> const, void()>(
        [](auto handler, Writer* writer, Step* waiting) {
          waiting->when_done(resume(std::move(handler)));
          writer->enqueue(*waiting);
        },
        asio::use_awaitable, this, &step);
    step.wait_until_let_go();
  }
  if (step.error()) std::rethrow_exception(step.error());
}

bool Writer::try_lead(Step& step) {
  std::scoped_lock const lock(mutex_);
  if (leading_) return false;
  leading_ = true;
  queue_.push_back(&step);
  return true;
}

void Writer::enqueue(Step& step) {
  {
    std::scoped_lock const lock(mutex_);
    queue_.push_back(&step);
    if (gathering_ && queue_.size() >= expected_) crowd_.notify_one();
    if (std::exchange(leading_, true)) return;
  }
  lead_elsewhere();
}

void Writer::lead_elsewhere() {
  asio::post(env_.blocking(), [this] { lead(nullptr); });
}

/// `own` is the step of the thread that leads, if it has one: then it stays until that has ended.
void Writer::lead(Step const* own) {
  for (int batch = 1;; ++batch) {
    bool const served = serve_batch();
    {
      std::scoped_lock const lock(mutex_);
      if (queue_.empty()) {
        leading_ = false;
        idle_.notify_all();
        return;
      }
    }
    bool const may_leave = own == nullptr || own->ended();
    if (may_leave && (batch >= max_batches || !served)) break;
  }
  lead_elsewhere();
}

/// False: steps left without being run.
bool Writer::serve_batch() {
  gather();
  auto const began = Clock::now();
  try {
    file_.check("write");
    if (!enter()) return false;
  } catch (...) {
    fail_all(std::current_exception());
    return false;
  }
  auto const batch = take();
  committer_.run(batch);
  bool const checkpoint = committer_.checkpoint_is_due();
  if (!checkpoint) leave_gate();
  finish(batch, Clock::now() - began);
  if (checkpoint) {
    committer_.checkpoint();
    leave_gate();
  }
  return true;
}

/// Callers whose step was committed often come back at once with the next one. Then half of them
/// would be in each commit, and the other half wait for it. A commit that goes to the disk takes
/// longer than their way back, so we wait for them first; where they do not come, less and less
/// often.
void Writer::gather() {
  if (commits_fast_ || expected_ < 2 || env_.executor() == env_.blocking()) return;
  if (waits_to_skip_ > 0) {
    --waits_to_skip_;
    return;
  }
  std::unique_lock lock(mutex_);
  auto const before = queue_.size();
  if (before >= expected_ || Clock::now() >= wait_until_) return;
  gathering_ = true;
  crowd_.wait_until(lock, wait_until_, [this] { return queue_.size() >= expected_; });
  gathering_ = false;
  waits_in_vain_ = queue_.size() > before ? 0 : std::min(waits_in_vain_ + 1, 6);
  waits_to_skip_ = (1 << waits_in_vain_) - 1;
}

void Writer::finish(Batch const& batch, Clock::duration took) {
  {
    std::scoped_lock const lock(mutex_);
    expected_ = queue_.size() + batch.size();
  }
  for (auto* step : batch) step->finish();
  wait_until_ = Clock::now() + std::min<Clock::duration>(took / 4, longest_gathering);
}

/// Begins a transaction. False: the deadline of some has passed.
bool Writer::enter() {
  // Where nobody else writes, the gate would cost more than it gives; but who waits inside it must
  // get its turn. A commit that waits for the disk is another matter: those who come meanwhile are
  // best woken by the kernel.
  bool const direct = commits_fast_ && past_gate_ < max_past_gate;
  if (direct && committer_.begin({})) {
    ++past_gate_;
    return true;
  }
  past_gate_ = 0;
  try {
    for (;;) {
      auto const until = patience();
      if (!at_gate_) at_gate_ = gate_.lock(until - env_.now());
      if (at_gate_ && committer_.begin(until)) return true;
      if (expire()) break;
    }
  } catch (...) {
    leave_gate();
    throw;
  }
  leave_gate();
  return false;
}

void Writer::leave_gate() noexcept {
  if (std::exchange(at_gate_, false)) gate_.unlock();
}

/// Until when to wait before looking again; the leader calls it with somebody in the queue.
Instant Writer::patience() {
  auto const soon = env_.now() + look_again;
  std::scoped_lock const lock(mutex_);
  auto const earliest = std::ranges::min(queue_, {}, &Step::deadline)->deadline();
  return std::min(soon, earliest);
}

/// Steps whose deadline has passed leave. True: there were some.
bool Writer::expire() {
  auto const now = env_.now();
  Batch late;
  {
    std::scoped_lock const lock(mutex_);
    auto const is_late = [now](Step const* step) { return step->deadline() <= now; };
    std::ranges::copy_if(queue_, std::back_inserter(late), is_late);
    std::erase_if(queue_, is_late);
  }
  if (late.empty()) return false;
  auto const blocker = at_gate_ ? write_blocker(file_.path()) : gate_blocker(gate_.path());
  for (auto* step : late) {
    step->fail(timed_out(*step, file_.path(), blocker));
    step->finish();
  }
  return true;
}

void Writer::fail_all(std::exception_ptr const& error) {
  std::deque<Step*> all;
  {
    std::scoped_lock const lock(mutex_);
    all.swap(queue_);
  }
  for (auto* step : all) {
    step->fail(as_engine_error(error, step->operation(), file_.path(), During::step));
    step->finish();
  }
}

Batch Writer::take() {
  std::scoped_lock const lock(mutex_);
  auto const count = std::min(queue_.size(), max_batch);
  auto const end = queue_.begin() + static_cast<std::ptrdiff_t>(count);
  Batch batch(queue_.begin(), end);
  queue_.erase(queue_.begin(), end);
  return batch;
}

}  // namespace holt::sqlite
