// SPDX-License-Identifier: Apache-2.0
#include "primitives/polling.hpp"

#include "base/check.hpp"
#include "contracts/polling_names.hpp"
#include "primitives/list_all.hpp"
#include "primitives/trust.hpp"

#include <holt/error.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace holt {
namespace {

/// How many endpoints are asked for at the same time, before they have answered.
constexpr std::uint32_t tries_at_once = 512;
/// A fresh node waits for those that start with it, this many `settle` at the most.
constexpr int longest_settle = 4;
/// Behind the end of a node's lease: by then the store has noticed.
constexpr std::chrono::milliseconds after_end{2};

std::string prefix_of(std::string_view start, std::string const& group) {
  return std::string(start) + group + '/';
}

}  // namespace

std::string_view to_string(PollWeights weights) noexcept {
  return weights == PollWeights::mixed ? "mixed" : "compatible";
}

std::string_view to_string(EndpointState state) noexcept {
  constexpr std::array<std::string_view, 4> words{"unknown", "owned", "uncertain", "other"};
  return words.at(static_cast<std::size_t>(state));
}

std::string_view to_string(ReleaseReason reason) noexcept {
  constexpr std::array<std::string_view, 4> words{"voluntary", "shutdown", "expired",
                                                  "not_preferred"};
  return words.at(static_cast<std::size_t>(reason));
}

Poller::Poller(PollTools tools, PollPlan plan)
    : tools_(tools),
      env_(tools.env),
      plan_(std::move(plan)),
      node_prefix_(prefix_of(node_lease_start, plan_.group)),
      lease_prefix_(prefix_of(endpoint_lease_start, plan_.group)),
      record_prefix_(prefix_of(endpoint_record_start, plan_.group)),
      rounds_(std::make_shared<Rounds>(env_, plan_.every)),
      tries_(env_, tries_at_once),
      moves_(env_, plan_.moves),
      wake_(env_),
      attendance_wake_(env_),
      ended_(env_),
      nursery_(env_) {
  // Signals may come on a thread of the engine.
  auto const hear = [this](std::string_view topic, std::function<void(std::string const&)> does) {
    auto heard = [this, does = std::move(does)](Signal const& signal) {
      nursery_.spawn(handle([does, text = signal.text] { does(text); }));
    };
    subscriptions_.push_back(tools_.signals.subscribe(std::string(topic), std::move(heard)));
  };
  auto const look_again = [this](std::string const& text) {
    if (text == plan_.group) hint();
  };
  hear(topic::yield, [this](std::string const& text) { on_yield(text); });
  hear(topic::nodes, look_again);
  if (plan_.stored) hear(topic::endpoints, look_again);
}

asio::awaitable<void> Poller::handle(std::function<void()> work) {
  work();
  co_return;
}

// The sets.

Poller::Post& Poller::post_of(std::string const& endpoint) {
  auto& post = posts_[endpoint];
  if (!post) post = std::make_shared<Post>(env_, endpoint, Name(lease_prefix_ + endpoint));
  return *post;
}

void Poller::add(std::string const& endpoint) {
  auto& post = post_of(endpoint);
  post.known = true;
  post.paused = false;
  dirty();
}

void Poller::remove(std::string const& endpoint) {
  auto const found = posts_.find(endpoint);
  if (found == posts_.end()) return;
  found->second->known = false;
  let_go(*found->second, ReleaseReason::voluntary);
  if (!found->second->served) posts_.erase(found);
  dirty();
}

void Poller::set_endpoints(std::vector<std::string> const& endpoints) {
  std::set<std::string, std::less<>> const wanted(endpoints.begin(), endpoints.end());
  std::vector<std::string> gone;
  for (auto const& [id, post] : posts_) {
    if (post->known && !wanted.contains(id)) gone.push_back(id);
  }
  for (auto const& id : gone) remove(id);
  for (auto const& id : wanted) {
    auto& post = post_of(id);
    post.paused = post.paused && post.known;
    post.known = true;
  }
  dirty();
}

void Poller::pause(std::string const& endpoint, bool paused) {
  auto const found = posts_.find(endpoint);
  if (found == posts_.end() || !found->second->known) return;
  if (std::exchange(found->second->paused, paused) == paused) return;
  if (paused) let_go(*found->second, ReleaseReason::voluntary);
  dirty();
}

void Poller::dirty() {
  dirty_ = true;
  wake_.set();
}

void Poller::hint() {
  hinted_ = true;
  auto const now = env_.now();
  bool const settling = settled_ != Instant::max() && now < settled_;
  if (settling) settled_ = std::min(now + plan_.settle, settled_at_last_);
  wake_.set();
}

// Coming and going.

void Poller::start() {
  tools_.signals.listen();  // may throw: here, not where begin() has no caller
  again_ = running_;
  if (!running_) begin();
}

void Poller::begin() {
  running_ = true;
  stopping_ = false;
  more_to_give_ = false;
  stop_by_ = Instant::max();
  settled_ = settled_at_last_ = Instant::max();
  next_look_ = Instant();
  next_free_look_ = env_.now() + plan_.ttl;
  dirty_ = true;
  attendance_ = std::stop_source();
  rounds_->begin();
  parts_ = 2;
  nursery_.spawn(attend());
  nursery_.spawn(run());
}

asio::awaitable<bool> Poller::stop(Instant deadline) {
  again_ = false;
  if (!running_) co_return true;
  if (!std::exchange(stopping_, true)) late_ = false;
  stop_by_ = deadline;
  rounds_->end();
  attendance_.request_stop();
  attendance_wake_.set();
  wake_.set();
  for (auto const& [id, post] : posts_) let_go(*post, ReleaseReason::shutdown);
  while (running_ && stopping_) {
    bool const woken = co_await ended_.wait_until(deadline);
    if (!woken) co_return false;
  }
  co_return !late_;
}

/// One of the two loops, or of those that serve endpoints, has ended.
void Poller::part_ended() {
  --parts_;
  if (parts_ == 0) {
    running_ = false;
    if (std::exchange(again_, false)) begin();
  }
  ended_.set();
}

asio::awaitable<void> Poller::close() {
  for (auto const subscription : subscriptions_) tools_.signals.unsubscribe(subscription);
  bool const closed = co_await nursery_.close(Instant::max());
  HOLT_CHECK(closed);
}

/// Our heartbeat: a lease under our name. Who has the name already is waited for.
asio::awaitable<void> Poller::attend() {
  while (taking_part()) {
    auto const lease = co_await announce();
    if (!lease) {
      [[maybe_unused]] bool const woken =
          co_await attendance_wake_.wait_until(env_.now() + trust::retry_after(plan_.node_ttl));
      continue;
    }
    std::stop_callback const on_loss(lease->lost(),
                                     [wake = attendance_wake_]() mutable { wake.set(); });
    while (taking_part() && lease->loss() == LossReason::none) {
      [[maybe_unused]] bool const woken = co_await attendance_wake_.wait_until(Instant::max());
    }
    heartbeat_.reset();
    co_await give_back(lease, "shutdown");
    tools_.signals.publish({std::string(topic::nodes), plan_.group});
    hint();
  }
  part_ended();
}

asio::awaitable<std::shared_ptr<KeptLease>> Poller::announce() {
  LockRequest request(Name(node_prefix_ + plan_.node), plan_.node_ttl);
  request.wait = true;
  request.give_up = Instant::max();
  request.patience = plan_.patience;
  request.stop = attendance_.get_token();
  NodeNote const note{std::string(node_online), plan_.weight, plan_.weights, plan_.cap};
  request.note = note.text();
  std::shared_ptr<KeptLease> lease;
  try {
    auto answer = co_await tools_.locks.acquire(std::move(request));
    if (answer) lease = std::move(*answer);
  } catch (EngineError const&) {
    co_return nullptr;
  }
  if (!lease) co_return nullptr;
  heartbeat_ = lease;
  if (settled_ == Instant::max()) {
    settled_ = env_.now() + plan_.settle;
    settled_at_last_ = env_.now() + plan_.settle * longest_settle;
  }
  tools_.signals.publish({std::string(topic::nodes), plan_.group});
  dirty_ = true;
  hint();
  co_return lease;
}

/// Lets go of what is still ours, or was broken: then the store is told that we have stopped.
asio::awaitable<void> Poller::give_back(std::shared_ptr<KeptLease> lease, std::string why) {
  auto const loss = lease->loss();
  if (loss != LossReason::none && loss != LossReason::broken) co_return;
  auto const deadline = std::min(env_.now() + plan_.patience, std::max(stop_by_, env_.now()));
  try {
    [[maybe_unused]] auto const answer = co_await tools_.locks.release(lease, deadline, why);
  } catch (EngineError const&) {
    co_return;  // it is tried again behind this; else its ttl ends it
  }
}

// Who should have what.

asio::awaitable<void> Poller::run() {
  while (taking_part()) {
    if (hinted_ || env_.now() >= next_look_) co_await look();
    if (env_.now() >= next_free_look_) co_await look_for_free();
    bool const settled = env_.now() >= settled_;
    if (taking_part() && dirty_ && settled) nominate();
    auto until = std::min(next_look_, next_free_look_);
    if (dirty_) until = std::min(until, settled_);
    if (hinted_ || !taking_part()) continue;
    [[maybe_unused]] bool const woken = co_await wake_.wait_until(until);
  }
  part_ended();
}

/// What cannot be read stays as it was: a store that is away for a while takes nothing from
/// anybody.
asio::awaitable<void> Poller::look() {
  hinted_ = false;
  next_look_ = env_.now() + trust::retry_after(plan_.node_ttl);
  try {
    co_await read_nodes();
    if (plan_.stored) co_await read_endpoints();
  } catch (EngineError const& error) {
    tools_.log.report(LogLevel::warn, "error", Name(node_prefix_ + plan_.node), Owner(), Fence(),
                      error.what());
  }
}

asio::awaitable<void> Poller::read_nodes() {
  auto const asked = env_.now();
  auto const leases = co_await list_all(tools_.leases, node_prefix_, asked + plan_.patience);
  Roster seen(leases, node_prefix_, asked);
  if (seen.nodes() != roster_.nodes()) {
    dirty_ = true;
    for (auto const& [id, post] : posts_) post->stand_in = false;
  }
  roster_ = std::move(seen);
  next_look_ = asked + plan_.discover_every;
  if (auto const end = roster_.next_end(plan_.node)) {
    next_look_ = std::min(next_look_, std::max(*end, env_.now()) + after_end);
  }
}

asio::awaitable<void> Poller::read_endpoints() {
  auto const records =
      co_await list_all(*tools_.records, record_prefix_, env_.now() + plan_.patience);
  std::map<std::string, bool> found;
  for (auto const& record : records) {
    found.emplace(record.key.substr(record_prefix_.size()), record.value == paused_endpoint);
  }
  if (found == stored_) co_return;
  std::vector<std::string> ids;
  ids.reserve(found.size());
  for (auto const& [id, paused] : found) ids.push_back(id);
  set_endpoints(ids);
  for (auto const& [id, paused] : found) pause(id, paused);
  stored_ = std::move(found);
}

/// The nominee of an endpoint may not know it. One that nobody has had for two looks is ours.
asio::awaitable<void> Poller::look_for_free() {
  next_free_look_ = env_.now() + plan_.ttl;
  std::vector<LeaseInfo> leases;
  try {
    leases = co_await list_all(tools_.leases, lease_prefix_, env_.now() + plan_.patience);
  } catch (EngineError const&) {
    co_return;
  }
  std::map<std::string_view, LeaseInfo const*> held;
  for (auto const& lease : leases) held.emplace(lease.name.text(), &lease);
  for (auto const& [id, post] : posts_) {
    if (post->served || !post->known || post->paused) continue;
    auto const found = held.find(post->lease.text());
    post->unsure = false;
    post->holder = found == held.end() ? std::string() : found->second->note;
    bool const is_free = found == held.end();
    bool const was_free = std::exchange(post->seen_free, is_free);
    post->stand_in = is_free && was_free;
    reconsider(post);
  }
}

void Poller::nominate() {
  dirty_ = false;
  std::vector<std::string> ids;
  for (auto const& [id, post] : posts_) {
    if (post->known && !post->paused) ids.push_back(id);
  }
  auto const& nodes = roster_.nodes();
  std::vector<std::size_t> nominees;
  if (!nodes.empty()) nominees = rendezvous::nominate(nodes, ids, plan_.weights, plan_.cap);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    auto const& post = posts_.find(ids[i])->second;
    post->nominee = nominees.empty() ? std::string() : nodes[nominees[i]].id;
    reconsider(post);
  }
  if (!plan_.line) give_unasked();
}

bool Poller::wanted(Post const& post) const {
  bool const ours = post.nominee == plan_.node || post.stand_in;
  return taking_part() && heartbeat_ && post.known && !post.paused && ours;
}

bool Poller::alive(std::string_view node) const {
  return !node.empty() && node != plan_.node && roster_.has(node);
}

void Poller::reconsider(std::shared_ptr<Post> const& post) {
  if (wanted(*post) && !post->served) {
    post->served = true;
    ++parts_;
    nursery_.spawn(serve(post));
  } else if (post->served && !post->duty && !wanted(*post)) {
    call_off(*post);
  } else if (post->duty && !post->wisher.empty() && post->nominee == post->wisher) {
    let_go(*post, ReleaseReason::not_preferred);
  }
}

/// Where nobody can ask us: what another node should have is released, so many at a time.
void Poller::give_unasked() {
  std::uint32_t leaving = 0;
  for (auto const& [id, post] : posts_) leaving += post->let_go ? 1 : 0;
  for (auto const& [id, post] : posts_) {
    bool const others = post->duty && !post->let_go && !post->stand_in && alive(post->nominee);
    if (!others) continue;
    if (leaving++ >= plan_.moves) {
      more_to_give_ = true;  // when these have gone
      return;
    }
    let_go(*post, ReleaseReason::not_preferred);
  }
}

void Poller::let_go(Post& post, ReleaseReason reason) {
  if (post.duty && !post.let_go) {
    post.let_go = reason;
  } else if (post.duty && reason == ReleaseReason::shutdown) {
    post.duty->stop_polls();
  }
  call_off(post);
}

void Poller::call_off(Post& post) {
  post.campaign.request_stop();
  post.wake.set();
}

void Poller::on_yield(std::string const& text) {
  auto const end = text.find('\n');
  if (end == std::string::npos || !text.starts_with(lease_prefix_)) return;
  auto const found = posts_.find(text.substr(lease_prefix_.size(), end - lease_prefix_.size()));
  if (found == posts_.end() || !found->second->duty) return;
  found->second->wisher = text.substr(end + 1);
  if (!roster_.has(found->second->wisher)) hint();
  reconsider(found->second);
}

// What others may know.

EndpointState Poller::state(std::string const& endpoint) const {
  auto const found = posts_.find(endpoint);
  if (found == posts_.end()) return EndpointState::unknown;
  auto const& post = *found->second;
  if (post.duty) {
    bool const sure = post.duty->held() && post.duty->lease().confirmed();
    return sure ? EndpointState::owned : EndpointState::uncertain;
  }
  if (post.unsure) return EndpointState::uncertain;
  bool const others = !post.holder.empty() && post.holder != plan_.node;
  return others ? EndpointState::other : EndpointState::unknown;
}

std::vector<std::string> Poller::owned() const {
  std::vector<std::string> ids;
  for (auto const& [id, post] : posts_) {
    if (post->duty && post->duty->may_poll()) ids.push_back(id);
  }
  return ids;
}

void Poller::report(LogLevel level, std::string_view event, Post const& post, Fence fence,
                    std::string_view reason) const {
  tools_.log.report(level, event, post.lease, Owner(), fence, reason);
}

}  // namespace holt
