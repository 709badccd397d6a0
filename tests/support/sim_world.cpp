// SPDX-License-Identifier: Apache-2.0
#include "support/sim_world.hpp"

#include "base/check.hpp"

#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/context.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holt::sim {

/// Asio's view of a node's queue. Never runs anything inside execute().
class NodeExecutor {
 public:
  NodeExecutor(World& world, NodeId node, Nanos delay)
      : world_(&world), node_(node), delay_(delay) {}

  asio::execution_context& query(asio::execution::context_t /*which*/) const noexcept {
    return world_->context_;
  }
  static constexpr asio::execution::blocking_t query(asio::execution::blocking_t /*b*/) noexcept {
    return asio::execution::blocking.never;
  }
  [[nodiscard]] NodeExecutor require(asio::execution::blocking_t::never_t /*b*/) const {
    return *this;
  }
  template <class Function>
  void execute(Function function) const {
    world_->push(node_, world_->now() + delay_, true, std::move(function));
  }
  friend bool operator==(NodeExecutor const& a, NodeExecutor const& b) noexcept {
    return a.world_ == b.world_ && a.node_ == b.node_ && a.delay_ == b.delay_;
  }
  friend bool operator!=(NodeExecutor const& a, NodeExecutor const& b) noexcept {
    return !(a == b);
  }

 private:
  World* world_;
  NodeId node_;
  Nanos delay_;
};

void Trace::line(std::string text) {
  hash_ = mix(hash_, text);
  if (listener) listener(text);
  if (lines_.size() < kept) {
    lines_.push_back(std::move(text));
  } else {
    lines_[next_ % kept] = std::move(text);
  }
  ++next_;
}

std::vector<std::string> Trace::last() const {
  if (next_ <= kept) return lines_;
  std::vector<std::string> result;
  for (std::size_t i = next_; i < next_ + kept; ++i) result.push_back(lines_[i % kept]);
  return result;
}

World::World(std::uint64_t seed) : random_(seed, "world") {}

World::~World() {
  // What is left may own parts of other tasks; none may find a half-dead world.
  auto const rest = std::exchange(heap_, {});
  for (auto& node : nodes_) node.deferred.clear();
}

void World::say(NodeId node, std::string_view text) {
  trace_.line(fmt::format("{:>12.6f} {:<7} {}", static_cast<double>(now_.count()) / 1e9,
                          nodes_[node].name, text));
}

NodeId World::add_node(std::string name) {
  Node node;
  node.name = std::move(name);
  node.running_since = now_;
  nodes_.push_back(std::move(node));
  return static_cast<NodeId>(nodes_.size() - 1);
}

Nanos World::stood_still(NodeId node) const {
  auto const& it = nodes_[node];
  return it.stood_still + (it.state == State::running ? Nanos{} : now_ - it.stopped_at);
}

bool World::later(Event const& a, Event const& b) {
  return std::pair(a.when, a.sequence) > std::pair(b.when, b.sequence);
}

void World::push(NodeId node, Nanos when, bool posted, Task task) {
  heap_.push_back({std::max(when, now_), next_sequence_++, node, posted, std::move(task)});
  std::ranges::push_heap(heap_, later);
}

void World::schedule(NodeId node, Nanos when, Task task) {
  push(node, when, false, std::move(task));
}

void World::post(NodeId node, Task task) { push(node, now_, true, std::move(task)); }

asio::any_io_executor World::executor(NodeId node, Nanos delay) {
  return NodeExecutor(*this, node, delay);
}

void World::pause(NodeId node) {
  HOLT_CHECK(nodes_[node].state == State::running);
  say(node, "paused");
  nodes_[node].state = State::paused;
  nodes_[node].stopped_at = now_;
}

void World::resume(NodeId node) {
  if (nodes_[node].state != State::paused) return;
  say(node, "resumed");
  run_again(nodes_[node]);
}

void World::crash(NodeId node) {
  say(node, "crashed");
  if (nodes_[node].state == State::running) nodes_[node].stopped_at = now_;
  nodes_[node].state = State::crashed;
}

void World::revive(NodeId node) { run_again(nodes_[node]); }

/// What was under way goes on in order; what came from outside meanwhile (timers, replies,
/// signals) is found all at once, in no particular order.
void World::run_again(Node& node) {
  if (node.state == State::running) return;
  node.state = State::running;
  node.running_since = now_;
  node.stood_still += now_ - node.stopped_at;
  auto deferred = std::exchange(node.deferred, {});
  auto const outside = std::ranges::stable_partition(deferred, &Event::posted);
  for (auto left = std::ssize(outside); left > 1; --left) {
    std::swap(outside[left - 1], outside[random_.between(0, left - 1)]);
  }
  for (auto& event : deferred) push(event.node, now_, event.posted, std::move(event.task));
}

bool World::step() {
  if (heap_.empty()) return false;
  std::ranges::pop_heap(heap_, later);
  auto event = std::move(heap_.back());
  heap_.pop_back();
  now_ = event.when;
  auto& node = nodes_[event.node];
  if (node.state != State::running) {
    node.deferred.push_back(std::move(event));
    return true;
  }
  ++steps_;
  trace_.number(static_cast<std::uint64_t>(now_.count()));
  trace_.number(event.node);
  event.task();
  return true;
}

}  // namespace holt::sim
