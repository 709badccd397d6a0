// SPDX-License-Identifier: Apache-2.0
// The part of Poller that sees to one endpoint: asks for it, has it, and lets it go in the right
// order.

#include "primitives/polling.hpp"
#include "primitives/trust.hpp"

#include <holt/error.hpp>

#include <algorithm>
#include <utility>

namespace holt {
namespace {

ReleaseReason reason_of(LossReason loss) {
  return loss == LossReason::broken ? ReleaseReason::voluntary : ReleaseReason::expired;
}

}  // namespace

asio::awaitable<void> Poller::serve(std::shared_ptr<Post> post) {
  while (wanted(*post)) {
    auto lease = co_await obtain(post);
    if (lease) co_await hold(post, std::move(lease));
  }
  post->served = false;
  auto const found = posts_.find(post->id);
  if (!post->known && found != posts_.end()) posts_.erase(found);
  if (std::exchange(more_to_give_, false)) dirty();
  part_ended();
}

LockRequest Poller::request(Post& post) {
  post.campaign = std::stop_source();
  LockRequest request(post.lease, plan_.ttl);
  request.give_up = env_.now() + plan_.patience;
  request.patience = plan_.patience;
  request.renew_every = plan_.renew_every;
  request.note = plan_.node;
  request.stop = post.campaign.get_token();
  return request;
}

asio::awaitable<std::shared_ptr<KeptLease>> Poller::obtain(std::shared_ptr<Post> post) {
  co_await tries_.begin();
  std::shared_ptr<KeptLease> lease;
  if (wanted(*post)) {
    auto once = request(*post);
    lease = co_await ask(post, std::move(once));
  }
  tries_.end();
  if (lease || !wanted(*post)) co_return lease;
  if (!post->failed) post->stand_in = false;  // somebody has it
  if (!wanted(*post)) co_return nullptr;
  if (post->failed) {
    co_await pause_for(post, trust::retry_after(plan_.ttl));
  } else if (!plan_.line) {
    // Nobody tells us: we look when a dead node's lease ends, and else now and then.
    Nanos const ends = std::max<Nanos>(post->busy.expires_in, std::chrono::milliseconds(1));
    co_await pause_for(
        post, alive(post->holder) ? plan_.discover_every : std::min(ends, plan_.discover_every));
  } else {
    lease = co_await wait_for(post);
  }
  co_return lease;
}

asio::awaitable<std::shared_ptr<KeptLease>> Poller::ask(std::shared_ptr<Post> post,
                                                        LockRequest request) {
  std::shared_ptr<KeptLease> lease;
  std::string cause;
  try {
    auto answer = co_await tools_.locks.acquire(std::move(request));
    post->unsure = false;
    if (answer) {
      lease = std::move(*answer);
    } else {
      post->busy = std::move(answer.error());
      post->holder = post->busy.note;
    }
  } catch (EngineError const& error) {
    cause = error.what();
  }
  post->failed = !cause.empty();
  if (post->failed) {
    report(LogLevel::warn, "acquire_failed", *post, Fence(), cause);
  } else if (!lease) {
    report(LogLevel::debug, "acquire_failed", *post, Fence(), post->holder);
  }
  co_return lease;
}

/// In line. A living node is asked to yield, again after a while as signals may get lost; of those
/// questions only so many are under way.
asio::awaitable<std::shared_ptr<KeptLease>> Poller::wait_for(std::shared_ptr<Post> post) {
  bool const living = alive(post->holder);
  if (living) co_await moves_.begin();
  std::shared_ptr<KeptLease> lease;
  if (wanted(*post)) {
    auto in_line = request(*post);
    in_line.wait = true;
    in_line.give_up = living ? env_.now() + plan_.discover_every : Instant::max();
    in_line.on_busy = [this, post = post.get()](Busy const& busy) { heard_busy(*post, busy); };
    lease = co_await ask(post, std::move(in_line));
  }
  if (living) moves_.end();
  if (post->failed && !lease) co_await pause_for(post, trust::retry_after(plan_.ttl));
  co_return lease;
}

void Poller::heard_busy(Post& post, Busy const& busy) {
  post.holder = busy.note;
  if (!alive(post.holder)) return;
  tools_.signals.send(busy.holder.inbox(),
                      {std::string(topic::yield), post.lease.text() + '\n' + plan_.node});
}

asio::awaitable<void> Poller::pause_for(std::shared_ptr<Post> post, Nanos pause) {
  auto const until = env_.now() + pause;
  while (wanted(*post)) {
    bool const woken = co_await post->wake.wait_until(until);
    if (!woken) break;
  }
}

asio::awaitable<void> Poller::hold(std::shared_ptr<Post> post, std::shared_ptr<KeptLease> lease) {
  if (!wanted(*post)) {
    co_await give_back(lease, "voluntary");
    co_return;
  }
  if (!post->holder.empty() && !roster_.has(post->holder)) {
    report(LogLevel::info, "taken_over", *post, lease->fence(), post->holder);
  }
  post->holder.clear();
  post->duty = std::make_shared<Duty>(env_, post->id, lease, post->wake);
  std::stop_callback const on_loss(lease->lost(), [wake = post->wake]() mutable { wake.set(); });
  lease->on_at_risk([log = &tools_.log, weak = std::weak_ptr(lease)] {
    auto const risky = weak.lock();
    if (risky) {
      log->report(LogLevel::warn, "renew_failed", risky->name(), risky->owner(), risky->fence());
    }
  });
  tell_assigned(post->duty);
  rounds_->add(post->duty);
  while (lease->loss() == LossReason::none && !post->let_go) {
    [[maybe_unused]] bool const woken = co_await post->wake.wait_until(Instant::max());
  }
  auto const loss = lease->loss();
  auto const reason = loss == LossReason::none ? *post->let_go : reason_of(loss);
  if (reason == ReleaseReason::expired) {
    report(LogLevel::warn, "expired", *post, lease->fence(), to_string(loss));
  }
  bool const drained = co_await drain(post, reason);
  if (drained) {
    co_await give_back(lease, std::string(to_string(reason)));
  } else {
    // Its work goes on: nobody may have it before its ttl is over, not even if it was broken.
    tools_.keeper.drop(*lease, LossReason::released, to_string(reason));
  }
  rounds_->remove(*post->duty);
  post->unsure = reason == ReleaseReason::expired;
  post->duty.reset();
  post->let_go.reset();
  post->wisher.clear();
  post->stand_in = post->seen_free = false;
}

/// No poll starts any more; those in flight end, and the user's calls. False: not in time.
asio::awaitable<bool> Poller::drain(std::shared_ptr<Post> post, ReleaseReason reason) {
  auto const duty = post->duty;
  auto const patience = env_.now() + plan_.drain;
  duty->end();
  if (reason != ReleaseReason::not_preferred && reason != ReleaseReason::voluntary) {
    duty->stop_polls();
  }
  bool told = false;
  while (true) {
    auto const now = env_.now();
    if (now >= patience || duty->lease().loss() != LossReason::none) duty->stop_polls();
    if (!told && duty->announced()) {
      tell_lost(duty, reason);
      told = true;
    }
    if (told && duty->idle()) co_return true;
    if (now >= stop_by_) {
      // Whoever is told late that it is ours hears right after it that it is not.
      if (!told && !duty->abandon()) tell_lost(duty, reason);
      late_ = true;
      co_return false;
    }
    [[maybe_unused]] bool const woken =
        co_await post->wake.wait_until(now < patience ? std::min(patience, stop_by_) : stop_by_);
  }
}

void Poller::tell_assigned(std::shared_ptr<Duty> const& duty) {
  if (!assigned_) {
    [[maybe_unused]] bool const wanted = duty->announce();
    return;
  }
  duty->work_begins();
  env_.call_user([duty, assigned = assigned_, lost = lost_] {
    assigned(duty);
    bool const still = duty->announce();
    if (!still && lost) lost(duty->endpoint(), ReleaseReason::shutdown);
    duty->work_ends();
  });
}

void Poller::tell_lost(std::shared_ptr<Duty> const& duty, ReleaseReason reason) {
  if (!lost_) return;
  duty->work_begins();
  env_.call_user([duty, reason, lost = lost_] {
    lost(duty->endpoint(), reason);
    duty->work_ends();
  });
}

}  // namespace holt
