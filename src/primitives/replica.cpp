// SPDX-License-Identifier: Apache-2.0
#include "primitives/replica.hpp"

#include "base/check.hpp"
#include "primitives/trust.hpp"

#include <holt/error.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace holt {
namespace {

/// So long a record may be without being written again; it is remembered for an hour.
constexpr std::chrono::minutes write_every{10};
/// A name that changes hands while we write: each time the loser hears it.
constexpr int most_writes = 8;

/// Somebody asked its holder to stop.
bool was_broken(std::shared_ptr<KeptLease> const& lease) {
  return lease && lease->loss() == LossReason::broken;
}

}  // namespace

std::string_view to_string(InstanceEventKind kind) noexcept {
  constexpr std::array<std::string_view, 4> words{"leading", "following", "trouble", "ended"};
  return words.at(static_cast<std::size_t>(kind));
}

std::string_view to_string(InstanceEnd end) noexcept {
  constexpr std::array<std::string_view, 4> words{"none", "stopped", "asked", "lost"};
  return words.at(static_cast<std::size_t>(end));
}

Replica::Replica(Env& env, Locks& locks, InstanceRegister& instances, Charter charter,
                 Listener listener)
    : env_(env),
      locks_(locks),
      instances_(instances),
      charter_(std::move(charter)),
      listener_(std::move(listener)),
      wake_(env),
      loop_ended_(env),
      nursery_(env) {}

asio::awaitable<bool> Replica::stop(Instant deadline) {
  finish(InstanceEnd::stopped, "stopped");
  while (running_) {
    bool const woken = co_await loop_ended_.wait_until(deadline);
    if (!woken) co_return false;
  }
  co_return !untold_;
}

asio::awaitable<void> Replica::close() {
  finish(InstanceEnd::stopped, "stopped");
  bool const closed = co_await nursery_.close(Instant::max());
  HOLT_CHECK(closed);
}

/// Ends it once. The loop hears of it, whatever it waits for.
void Replica::finish(InstanceEnd how, std::string reason) {
  if (!ending_.end(how, reason)) return;
  present_.end();
  campaign_.request_stop();
  workspace_campaign_.request_stop();
  wake_.set();
  env_.call_user([over = over_]() mutable { over.request_stop(); });
  if (running_) tell(InstanceEventKind::ended, Fence(), std::move(reason));
}

/// Nothing after the end.
void Replica::tell(InstanceEventKind kind, Fence fence, std::string detail) {
  if (kind != InstanceEventKind::ended && finished()) return;
  told_ = kind;
  if (!listener_) return;
  InstanceEvent event{kind, fence, std::move(detail)};
  env_.call_user([listener = listener_, event = std::move(event)] { listener(event); });
}

/// Once for all failures in a row.
void Replica::fail(std::string const& cause) {
  if (told_ != InstanceEventKind::trouble) tell(InstanceEventKind::trouble, Fence(), cause);
}

asio::awaitable<void> Replica::run() {
  while (!finished()) {
    if (!has(name_)) {
      co_await follow();
    } else if (!leading()) {
      co_await begin_term();
    } else {
      co_await lead();
    }
  }
  co_await let_go();
  running_ = false;
  loop_ended_.set();
}

asio::awaitable<void> Replica::lead() {
  auto const lease = name_;
  tell(InstanceEventKind::leading, lease->fence(), charter_.about.instance);
  std::stop_callback const on_loss(lease->lost(), [wake = wake_]() mutable { wake.set(); });
  std::stop_callback const on_end(replica_ ? replica_->lost() : std::stop_token(),
                                  [wake = wake_]() mutable { wake.set(); });
  while (!finished() && has(lease)) {
    co_await look_after();
    if (finished() || !has(lease)) break;
    [[maybe_unused]] bool const woken =
        co_await wake_.wait_until(std::min(write_at_, lease->deadline()));
  }
  present_.end();
  workspace_campaign_.request_stop();
  co_await release(std::exchange(workspace_, nullptr));
}

/// What a leader sees to: its record, its workspace, that it is seen to live.
asio::awaitable<void> Replica::look_after() {
  try {
    bool goes_on = true;
    if (was_broken(replica_)) goes_on = co_await may_go_on();
    if (!goes_on || finished()) co_return;
    if (env_.now() >= write_at_) co_await write_record();
    if (!has(replica_)) co_await be_present();
  } catch (EngineError const& error) {
    fail(error.what());
    write_at_ = env_.now() + trust::retry_after(charter_.ttl);
  }
  if (has(workspace_) || waits_for_workspace_ || finished()) co_return;
  waits_for_workspace_ = true;
  workspace_campaign_ = std::stop_source();
  nursery_.spawn(stand_for_workspace());
}

/// We were granted the name. It is a term when it is known that nobody has ended the run.
asio::awaitable<void> Replica::begin_term() {
  std::string cause;
  try {
    bool const goes_on = co_await may_go_on();
    if (goes_on && !finished()) present_.begin(name_);
  } catch (EngineError const& error) {
    cause = error.what();
  }
  co_await pause_after(std::move(cause));
}

/// Not leading, or not any more: whoever has the name, this replica stands in line for it.
asio::awaitable<void> Replica::follow() {
  std::string cause;
  try {
    bool const goes_on = co_await may_go_on();
    if (goes_on) co_await stand_in_line();
  } catch (EngineError const& error) {
    cause = error.what();
  }
  co_await pause_after(std::move(cause));
}

/// The store could not be asked, if there is a cause.
asio::awaitable<void> Replica::pause_after(std::string cause) {
  if (cause.empty() || finished()) co_return;
  fail(cause);
  [[maybe_unused]] bool const woken =
      co_await wake_.wait_until(env_.now() + trust::retry_after(charter_.ttl));
}

/// False: the run was ended, or the store is gone for good.
asio::awaitable<bool> Replica::may_go_on() {
  bool const gone = name_ && name_->loss() == LossReason::store_gone;
  if (gone) finish(InstanceEnd::lost, "the store was deleted or replaced");
  if (gone) co_return false;
  bool const broken = was_broken(replica_) || was_broken(name_);
  std::optional<std::string> why;
  try {
    why = co_await instances_.why_ended(charter_.about.run_id);
  } catch (EngineError const&) {
    if (!broken) throw;  // it is known that somebody asked, if not why
  }
  if (why || broken) finish(InstanceEnd::asked, why.value_or("asked to stop"));
  co_return !why && !broken;
}

asio::awaitable<void> Replica::stand_in_line() {
  if (!has(replica_)) co_await be_present();
  if (!has(replica_) || finished()) co_return;
  campaign_ = std::stop_source();
  rival_.clear();
  // Who asks this replica to stop breaks this lease of it.
  std::stop_callback const on_end(replica_->lost(),
                                  [campaign = campaign_]() mutable { campaign.request_stop(); });
  auto wanted = request(name_lease(charter_.about.instance));
  wanted.wait = true;
  wanted.give_up = Instant::max();
  wanted.stop = campaign_.get_token();
  wanted.on_busy = [this](Busy const& busy) { heard_busy(busy); };
  auto answer = co_await locks_.acquire(std::move(wanted));
  if (answer) {
    name_ = std::move(*answer);
    write_at_ = env_.now();
  } else if (!rival_.empty()) {
    finish(InstanceEnd::lost,
           "the name \"" + charter_.about.instance + "\" was taken by " + rival_);
  }
}

void Replica::heard_busy(Busy const& busy) {
  auto const holder = read_instance_note(busy.note);
  if (holder && holder->run_id == charter_.about.run_id) {
    if (told_ != InstanceEventKind::following) {
      tell(InstanceEventKind::following, Fence(), holder->hostname);
    }
    return;
  }
  rival_ = holder ? "another instance on " + holder->hostname : std::string("somebody else");
  campaign_.request_stop();
}

/// Who had the workspace and lost it to another instance must not work beside that one.
void Replica::heard_workspace_busy(Busy const& busy) {
  auto const holder = read_instance_note(busy.note);
  bool const another = holder && holder->run_id != charter_.about.run_id;
  if (!another || !had_workspace_) return;
  finish(InstanceEnd::lost, "its workspace was taken by instance \"" + holder->instance + "\"");
}

/// Shows that this replica lives, again after its lease has ended.
asio::awaitable<void> Replica::be_present() {
  if (finished()) co_return;  // nobody would call off the wait
  auto wanted = request(replica_lease(charter_.about.instance, charter_.about.replica));
  wanted.wait = true;  // what we held before may still have to end
  wanted.give_up = env_.now() + charter_.ttl;
  campaign_ = std::stop_source();
  wanted.stop = campaign_.get_token();
  auto answer = co_await locks_.acquire(std::move(wanted));
  if (answer) replica_ = std::move(*answer);
}

/// For who leads without it: --force, or another replica's host before. It may take for ever.
asio::awaitable<void> Replica::stand_for_workspace() {
  auto const stop = workspace_campaign_.get_token();
  auto wanted = request(workspace_lease(charter_.about.hostname, charter_.about.workspace_path));
  wanted.wait = true;
  wanted.give_up = Instant::max();
  wanted.stop = stop;
  wanted.on_busy = [this](Busy const& busy) { heard_workspace_busy(busy); };
  Lease granted;
  std::string cause;
  try {
    auto answer = co_await locks_.acquire(std::move(wanted));
    if (answer) granted = std::move(*answer);
  } catch (EngineError const& error) {
    cause = error.what();
  }
  if (!cause.empty()) {
    fail(cause);
    Event pause(env_);
    [[maybe_unused]] bool const woken =
        co_await pause.wait_until(env_.now() + trust::retry_after(charter_.ttl));
  }
  bool const unwanted = granted && stop.stop_requested();
  if (unwanted) co_await release(std::exchange(granted, nullptr));
  had_workspace_ = had_workspace_ || granted;
  if (granted) workspace_ = std::move(granted);
  waits_for_workspace_ = false;
  wake_.set();
}

/// Over whatever is there, while we lead. That order, look at what is there and then at whether we
/// lead, lets nobody write over a successor: the successor's version is another one.
asio::awaitable<void> Replica::write_record() {
  for (int tries = 0; tries < most_writes && has(name_); ++tries) {
    std::expected<std::uint64_t, std::uint64_t> const written =
        co_await instances_.write(charter_.about, version_);
    version_ = written ? *written : written.error();
    if (!written) continue;
    write_at_ = env_.now() + write_every;
    break;
  }
}

/// The record goes first, while the name is still ours; the replica's own lease last, as whoever
/// ends us waits for the name.
asio::awaitable<void> Replica::let_go() {
  present_.end();
  workspace_campaign_.request_stop();
  try {
    bool const ours = has(name_) && version_ != 0;
    if (ours) co_await instances_.erase(charter_.about.instance, version_);
  } catch (EngineError const&) {
    version_ = 0;  // it is forgotten after an hour
  }
  co_await release(std::exchange(workspace_, nullptr));
  co_await release(std::exchange(name_, nullptr));
  co_await release(std::exchange(replica_, nullptr));
}

asio::awaitable<void> Replica::release(Lease lease) {
  if (!lease) co_return;
  auto const loss = lease->loss();
  // What was broken is confirmed by a release: then it is free.
  if (loss != LossReason::none && loss != LossReason::broken) co_return;
  try {
    [[maybe_unused]] auto const answer =
        co_await locks_.release(lease, env_.now() + charter_.patience);
  } catch (EngineError const&) {
    untold_ = true;  // its ttl ends it
  }
}

}  // namespace holt
