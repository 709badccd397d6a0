// SPDX-License-Identifier: Apache-2.0
#pragma once
// World: true time and the one queue of everything that happens. An event belongs to a node and
// happens at a moment; events of the same moment happen in the order they were scheduled. Nothing
// else runs anything, so one seed always gives the same history.
//
// A paused node's events wait until it resumes. A crashed node's events wait until revive(), which
// the end of a simulation uses to let its coroutines run to their end, cut off from everything:
// destroying suspended coroutines would be the other way, and hide leaks.

#include "support/sim_random.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace holt::sim {

namespace asio = boost::asio;

using NodeId = std::uint32_t;

/// What happened, as a hash that two runs must share, and as text for people.
class Trace {
 public:
  /// Told each line when given; the last lines are kept in any case.
  std::function<void(std::string const&)> listener;

  void line(std::string text);
  void number(std::uint64_t value) { hash_ = mix(hash_, value); }
  [[nodiscard]] std::uint64_t hash() const { return hash_; }
  [[nodiscard]] std::vector<std::string> last() const;

 private:
  static constexpr std::size_t kept = 60;
  std::uint64_t hash_ = mix_start;
  std::vector<std::string> lines_;
  std::size_t next_ = 0;
};

class World {
 public:
  using Task = std::move_only_function<void()>;
  enum class State { running, paused, crashed };

  explicit World(std::uint64_t seed);
  ~World();
  World(World const&) = delete;
  World& operator=(World const&) = delete;

  /// True time since the beginning.
  [[nodiscard]] Nanos now() const { return now_; }
  [[nodiscard]] Trace& trace() { return trace_; }
  /// Adds a line about `node` to the trace.
  void say(NodeId node, std::string_view text);

  NodeId add_node(std::string name);
  [[nodiscard]] std::string const& name(NodeId node) const { return nodes_[node].name; }
  [[nodiscard]] State state(NodeId node) const { return nodes_[node].state; }
  /// When the node last began to run.
  [[nodiscard]] Nanos running_since(NodeId node) const { return nodes_[node].running_since; }
  /// How long the node has not been running until now, all in all.
  [[nodiscard]] Nanos stood_still(NodeId node) const;

  /// Runs `task` on the node at true time `when`, not before now.
  void schedule(NodeId node, Nanos when, Task task);
  /// Runs `task` on the node after what it has to do already; in order with other posts.
  void post(NodeId node, Task task);
  /// Posts to the node, where it happens `delay` later. What asynchronous code of the node runs on.
  [[nodiscard]] asio::any_io_executor executor(NodeId node, Nanos delay = {});

  void pause(NodeId node);
  void resume(NodeId node);
  void crash(NodeId node);
  /// Lets a crashed node's events happen after all. Its links must have been cut.
  void revive(NodeId node);

  /// Lets the next event happen. False when there is none.
  bool step();
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  friend class NodeExecutor;

  struct Event {
    Nanos when{};
    std::uint64_t sequence = 0;
    NodeId node = 0;
    bool posted = false;
    Task task;
  };
  struct Node {
    std::string name;
    State state = State::running;
    Nanos running_since{};
    Nanos stopped_at{};
    Nanos stood_still{};
    std::vector<Event> deferred;
  };
  static bool later(Event const& a, Event const& b);
  void push(NodeId node, Nanos when, bool posted, Task task);
  void run_again(Node& node);

  asio::execution_context context_;
  Random random_;
  Trace trace_;
  Nanos now_{};
  std::uint64_t next_sequence_ = 0;
  std::uint64_t steps_ = 0;
  std::vector<Node> nodes_;
  std::vector<Event> heap_;
};

}  // namespace holt::sim
