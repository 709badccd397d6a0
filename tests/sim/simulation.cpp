// SPDX-License-Identifier: Apache-2.0
#include "sim/simulation.hpp"

#include "base/random_text.hpp"
#include "contracts/instance_names.hpp"
#include "contracts/polling_names.hpp"
#include "sim/node.hpp"
#include "sim/real_store.hpp"

#include <holt/error.hpp>

#include <boost/asio/co_spawn.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace holt::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::size_t most_nodes = 12;  // of one boot
constexpr std::size_t most_boots = 3;
constexpr std::uint64_t most_steps = 5'000'000;
/// Everything must be over this long after healing.
constexpr minutes most_recovery{5};
/// And all tasks be done.
constexpr seconds most_work{45};

/// What the store runs on, from one boot to the next.
struct Machine {
  Machine(World& world, SignalHub& hub, Options const& options, std::size_t boot, Skew skew,
          std::shared_ptr<RealStore::Disk const> disk)
      : id(world.add_node(boot == 1 ? "store" : fmt::format("store-{}", boot))),
        env(world, id, skew, options.seed),
        bus(hub, world, id) {
    env.block_for(options.disk);
    env.boot_as(fmt::format("boot-{}", boot));
    store.emplace(env, bus, std::move(disk));
  }
  NodeId id;
  SimEnv env;
  SimSignalBus bus;
  std::optional<RealStore> store;  ///< always there
};

class Simulation {
 public:
  explicit Simulation(Options const& options);

  Result run(std::function<void(std::string const&)> listener);
  /// Every coroutine has ended, so that this may be destroyed.
  [[nodiscard]] bool ended() const;

 private:
  void boot(Skew skew, std::shared_ptr<RealStore::Disk const> disk);
  /// Empty: a name that nobody had.
  void add_node(std::string name = {});
  Skew draw_skew();
  /// Calls `fault` again and again, about every `mean`, as long as the storm lasts.
  void repeat(Nanos mean, std::function<void()> fault);
  void start_faults();
  Node* pick_running();
  void pause_one();
  void pause(Node& node);
  void pause_at_call(Node& node);
  void cut_one();
  void crash_one();
  void plan_power_cut();
  void cut_power(std::shared_ptr<RealStore::Disk const> disk);
  void stall_store();
  void step_wall();
  void audit_soon();
  void heal();

  [[nodiscard]] bool all_served() const;
  [[nodiscard]] bool nothing_under_way() const;
  void go_on_until(std::function<bool()> const& done, Nanos until, char const* promise);
  void clean_up();
  void check_nothing_left();
  [[nodiscard]] std::vector<Name> shared_names() const;
  void add_poll_names(std::vector<Name>& names) const;
  void for_each(std::vector<Name> const& names,
                std::function<asio::awaitable<void>(Name)> const& work);
  Owner passer_by();
  asio::awaitable<void> disappear(Name name);
  asio::awaitable<void> take_and_release(Name name);
  asio::awaitable<void> audit(Name queue);
  void end();
  [[nodiscard]] Machine& machine() { return *machines_.back(); }
  [[nodiscard]] LeaseStore& leases() { return machine().store->leases(); }

  Options const options_;
  World world_;
  Random random_;
  Random namesakes_;
  Checker checker_;
  Phase phase_;
  PollBoard board_;
  Landlord landlord_;
  TaskLedger ledger_;
  Foreman foreman_;
  SignalHub hub_;
  /// One per boot, the last is the one in use. What was under way on the others comes to its end
  /// there, on a disk that nobody sees again.
  std::vector<std::unique_ptr<Machine>> machines_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::size_t nodes_before_ = 0;  ///< of earlier boots
  int errands_ = 0;               ///< of our own at the store, under way
};

NodeId add_outside(World& world) { return world.add_node("world"); }

Simulation::Simulation(Options const& options)
    : options_(options),
      world_(options.seed),
      random_(options.seed, "nemesis"),
      namesakes_(options.seed, "namesakes"),
      checker_(world_, options_),
      phase_{.outside = add_outside(world_)},
      board_(world_, options_, checker_, phase_),
      landlord_(world_, options_, checker_, phase_),
      ledger_(world_, checker_),
      foreman_(world_, options_, ledger_),
      hub_(world_, options_.faults, options.seed) {
  boot(Skew{}, nullptr);
  landlord_.inspect_with(
      [this](std::string const& replica) { return machine().store->leases_of(replica); });
}

void Simulation::boot(Skew skew, std::shared_ptr<RealStore::Disk const> disk) {
  machines_.push_back(std::make_unique<Machine>(world_, hub_, options_, machines_.size() + 1, skew,
                                                std::move(disk)));
  nodes_before_ = nodes_.size();
}

Skew Simulation::draw_skew() {
  Skew skew;
  skew.offset = random_.between(minutes(1), std::chrono::hours(1000));
  auto const most = options_.faults.drift_ppm;
  skew.drift_ppm = random_.chance(500'000) ? -most : random_.between(-most, most);
  return skew;
}

void Simulation::add_node(std::string name) {
  if (nodes_.size() - nodes_before_ >= most_nodes) return;
  auto const id = world_.add_node(fmt::format("n{}", nodes_.size() + 1));
  if (name.empty()) name = world_.name(id);
  auto& store = *machine().store;
  Surroundings const around{world_,        hub_,     machine().env, leases(),  store.records(),
                            store.tasks(), checker_, board_,        landlord_, ledger_,
                            foreman_,      options_, phase_};
  nodes_.push_back(std::make_unique<Node>(around, id, std::move(name), draw_skew()));
  if (phase_.healed) nodes_.back()->heal();
  if (options_.faults.pause_at_call > 0) {
    nodes_.back()->link().on_call([this, node = nodes_.back().get()] { pause_at_call(*node); });
  }
  nodes_.back()->start_clients();
}

void Simulation::repeat(Nanos mean, std::function<void()> fault) {
  if (mean == Nanos{}) return;
  auto const when = world_.now() + random_.between(Nanos{}, mean * 2);
  if (when >= options_.storm) return;
  world_.schedule(phase_.outside, when, [this, mean, fault] {
    fault();
    repeat(mean, fault);
  });
}

void Simulation::start_faults() {
  auto const& faults = options_.faults;
  auto const each = static_cast<std::int64_t>(options_.nodes);
  repeat(faults.pause_every / each, [this] { pause_one(); });
  repeat(faults.cut_every / each, [this] { cut_one(); });
  repeat(faults.crash_every / each, [this] { crash_one(); });
  repeat(faults.power_cut_every, [this] { plan_power_cut(); });
  repeat(faults.stall_every, [this] { stall_store(); });
  repeat(seconds(3), [this] { step_wall(); });
  world_.schedule(phase_.outside, options_.storm, [this] { heal(); });
}

Node* Simulation::pick_running() {
  auto& node = *nodes_[static_cast<std::size_t>(random_.between(0, std::ssize(nodes_) - 1))];
  return world_.state(node.id()) == World::State::running ? &node : nullptr;
}

void Simulation::pause_one() {
  if (auto* const node = pick_running()) pause(*node);
}

void Simulation::pause(Node& node) {
  if (phase_.healed || world_.state(node.id()) != World::State::running) return;
  // Often about as long as a lease lives: just too long, or just not.
  auto const how_long = random_.chance(500'000)
                            ? random_.between(milliseconds(1), options_.faults.pause)
                            : random_.between(options_.shortest_ttl / 2, options_.longest_ttl);
  world_.pause(node.id());
  world_.schedule(phase_.outside, world_.now() + how_long,
                  [this, id = node.id()] { world_.resume(id); });
}

/// Pauses hurt most between a question and its answer, and soon after.
void Simulation::pause_at_call(Node& node) {
  if (phase_.healed || !random_.chance(options_.faults.pause_at_call)) return;
  auto const longest = random_.chance(500'000) ? options_.faults.delay * 2 : options_.longest_ttl;
  world_.schedule(phase_.outside, world_.now() + random_.between(Nanos(0), longest),
                  [this, &node] { pause(node); });
}

void Simulation::cut_one() {
  auto* const node = pick_running();
  auto const how_long = random_.between(milliseconds(1), options_.faults.cut);
  if (node == nullptr) return;
  world_.say(node->id(), "is cut off");
  node->link().cut(true);
  world_.schedule(phase_.outside, world_.now() + how_long, [node] { node->link().cut(false); });
}

void Simulation::crash_one() {
  auto* const node = pick_running();
  auto const back_after = random_.between(milliseconds(1), seconds(5));
  if (node == nullptr) return;
  node->crash();
  // Started again it may have the same name, while its leases have not ended.
  auto const name = namesakes_.chance(500'000) ? node->name() : std::string();
  world_.schedule(phase_.outside, world_.now() + back_after, [this, name] { add_node(name); });
}

/// What is committed after this moment is lost.
void Simulation::plan_power_cut() {
  auto const when = world_.now() + random_.between(Nanos{}, options_.faults.unsynced);
  if (machines_.size() >= most_boots || when >= options_.storm) return;
  world_.schedule(phase_.outside, when,
                  [this, boots = machines_.size(), disk = machine().store->disk()] {
                    if (machines_.size() == boots) cut_power(disk);
                  });
}

/// Every process is gone. The next boot's clock starts over, perhaps before where the last one was.
void Simulation::cut_power(std::shared_ptr<RealStore::Disk const> disk) {
  world_.say(phase_.outside, "power cut");
  for (auto const& node : nodes_) node->lose_power();
  checker_.power_cut();
  landlord_.power_cut();
  ledger_.power_cut();
  boot(Skew{.offset = random_.between(seconds(1), std::chrono::hours(48))}, std::move(disk));
  for (std::uint32_t i = 0; i < options_.nodes; ++i) add_node();
}

void Simulation::stall_store() {
  auto const how_long = random_.between(milliseconds(1), options_.faults.stall);
  auto const id = machine().id;
  if (world_.state(id) != World::State::running) return;
  world_.pause(id);
  world_.schedule(phase_.outside, world_.now() + how_long, [this, id] { world_.resume(id); });
}

/// Not in the trace: it must change nothing, but for the first fence, which starts at the wall
/// clock. Tasks have run times, which are of the store's: there it does not jump.
void Simulation::step_wall() {
  if (!options_.faults.wall_steps || checker_.grants() == 0) return;
  Random steps(options_.seed + static_cast<std::uint64_t>(world_.now().count()), "wall");
  auto const by = steps.between(-std::chrono::hours(1), std::chrono::hours(1));
  auto const which = steps.between(0, std::ssize(nodes_));
  if (which == 0 && options_.tasks.handlers > 0) return;
  auto& env = which == 0 ? machine().env : nodes_[static_cast<std::size_t>(which - 1)]->env();
  env.step_wall(by);
}

void Simulation::heal() {
  world_.say(phase_.outside, "healed");
  phase_.healed = true;
  hub_.heal();
  for (auto const& machine : machines_) world_.resume(machine->id);
  for (auto const& node : nodes_) {
    if (!node->crashed()) node->heal();
  }
  if (options_.tasks.handlers > 0) audit_soon();
}

/// Looks at all tasks again and again until none is left to be done, which has its time.
void Simulation::audit_soon() {
  if (ledger_.settled() || phase_.ending) return;
  if (world_.now() > options_.storm + most_work) {
    checker_.violated("all tasks are done soon in a healthy world");
  }
  for_each({Name(TaskLedger::queue)}, [this](Name queue) { return audit(queue); });
  world_.schedule(phase_.outside, world_.now() + milliseconds(500), [this] { audit_soon(); });
}

asio::awaitable<void> Simulation::audit(Name queue) {
  auto const started = world_.now();
  auto const deadline = machine().env.now() + seconds(1);
  std::vector<TaskInfo> all;
  std::string cursor;
  do {
    TaskFilter const any;
    TaskPage page =
        co_await machine().store->tasks().list(queue.text(), any, cursor, 1000, deadline);
    std::ranges::move(page.tasks, std::back_inserter(all));
    cursor = page.next;
  } while (!cursor.empty());
  // What was slow on its way has arrived, too.
  bool const early = started < options_.storm + options_.faults.slow_delay + seconds(1);
  bool const adding = std::ranges::any_of(nodes_, [](auto const& node) { return node->adds(); });
  ledger_.audit(all, started, adding || early);
}

bool Simulation::all_served() const {
  return phase_.healed && std::ranges::all_of(nodes_, [](auto const& node) {
           return node->served() && (node->crashed() || node->idle());
         });
}

bool Simulation::nothing_under_way() const {
  return errands_ == 0 && std::ranges::all_of(nodes_, [](auto const& node) {
           return node->link().under_way() == 0;
         });
}

bool Simulation::ended() const {
  return nothing_under_way() &&
         std::ranges::all_of(nodes_, [](auto const& node) { return node->closed(); });
}

/// Lets things happen until `done`, and looks at them. That it ends is itself a promise.
void Simulation::go_on_until(std::function<bool()> const& done, Nanos until, char const* promise) {
  while (!checker_.violation() && !done()) {
    auto const more = world_.step();
    landlord_.after_event();
    foreman_.after_event();
    checker_.after_event();
    if (!more || world_.now() > until || world_.steps() > most_steps) {
      checker_.violated(fmt::format("{} (steps {})", promise, world_.steps()));
    }
  }
}

/// All leases are released or ended, all waiters gone. Without faults nothing may be left. Then
/// each name is taken and waited for by somebody who is never seen again: when both have ended,
/// it must be free for the first who asks, and gone when that one has released it.
void Simulation::clean_up() {
  if (options_.calm) check_nothing_left();
  for_each(shared_names(), [this](Name name) { return disappear(name); });
  auto const quiet = world_.now() + options_.longest_ttl * 20 + seconds(15);
  bool waited = false;
  world_.schedule(phase_.outside, quiet, [&waited] { waited = true; });
  go_on_until([&waited] { return waited; }, quiet + seconds(1), "time passes");
  auto names = shared_names();
  std::ranges::copy_if(checker_.names(), std::back_inserter(names),
                       [](Name const& name) { return name.text().starts_with("{instance}/"); });
  for_each(names, [this](Name name) { return take_and_release(name); });
  check_nothing_left();
}

void Simulation::check_nothing_left() {
  go_on_until([this] { return nothing_under_way(); }, world_.now() + minutes(1),
              "the store answers every request");
  if (checker_.violation()) return;
  auto const left = machine().store->leftovers();
  if (!left.empty()) checker_.violated("nothing stays behind in the store: " + left);
  for (auto const& [key, value] : machine().store->records_from(instance_record_start)) {
    landlord_.left(key, value);
  }
}

/// What several nodes want and wait for.
std::vector<Name> Simulation::shared_names() const {
  std::vector<Name> names;
  for (std::uint32_t i = 1; i <= options_.names; ++i) names.emplace_back(fmt::format("name-{}", i));
  if (options_.elections) names.emplace_back(Voter::lease);
  if (options_.polls.endpoints > 0) add_poll_names(names);
  return names;
}

void Simulation::for_each(std::vector<Name> const& names,
                          std::function<asio::awaitable<void>(Name)> const& work) {
  for (auto const& name : names) {
    ++errands_;
    auto const done = [this](std::exception_ptr error) {
      if (error) std::rethrow_exception(error);
      --errands_;
    };
    asio::co_spawn(machine().env.executor(), work(name), done);
  }
}

void Simulation::add_poll_names(std::vector<Name>& names) const {
  auto const group = std::string(PollBoard::group) + '/';
  for (auto const& endpoint : board_.endpoints()) {
    names.emplace_back(std::string(endpoint_lease_start) + group + endpoint);
  }
  std::set<std::string> ids;
  for (auto const& node : nodes_) ids.insert(node->name());
  for (auto const& id : ids) names.emplace_back(std::string(node_lease_start) + group + id);
}

Owner Simulation::passer_by() {
  return {"passer-by", random_token([this] { return random_.next(); })};
}

asio::awaitable<void> Simulation::disappear(Name name) {
  auto const deadline = machine().env.now() + seconds(1);
  for (int i = 0; i < 3; ++i) {
    LeaseRequest request({name}, passer_by(), options_.longest_ttl);
    request.stand_in_line = true;
    request.ticket_ttl = options_.longest_ttl * 2;
    [[maybe_unused]] std::expected<LeaseGrant, Busy> const granted =
        co_await leases().acquire(std::move(request), deadline);
  }
}

asio::awaitable<void> Simulation::take_and_release(Name name) {
  auto const owner = passer_by();
  auto const deadline = machine().env.now() + seconds(1);
  LeaseRequest request({name}, owner, seconds(1));
  std::expected<LeaseGrant, Busy> const granted =
      co_await leases().acquire(std::move(request), deadline);
  if (!granted) {
    checker_.violated(fmt::format("{} is free in the end, not held by {}", name.text(),
                                  granted.error().holder.text()));
  }
  [[maybe_unused]] std::expected<void, Lost> const released =
      co_await leases().release(name, owner, deadline);
}

/// Everything comes to its end, cut off from everything; nothing is judged any more.
void Simulation::end() {
  phase_.ending = true;
  for (auto const& machine : machines_) world_.resume(machine->id);
  for (auto const& node : nodes_) node->unplug();
  for (auto const& node : nodes_) node->close();
  auto const last_step = world_.steps() + most_steps;
  while (!ended() && world_.steps() < last_step && world_.step()) {
  }
}

Result Simulation::run(std::function<void(std::string const&)> listener) {
  world_.trace().listener = std::move(listener);
  start_faults();
  if (options_.polls.endpoints > 0) board_.watch();
  for (std::uint32_t i = 0; i < options_.nodes; ++i) add_node();
  go_on_until([this] { return all_served(); }, options_.storm + most_recovery,
              "everyone is served once the world is healthy");
  if (!checker_.violation()) clean_up();
  Result result;
  result.violation = checker_.violation();
  result.hash = world_.trace().hash();
  result.steps = world_.steps();
  result.grants = checker_.grants();
  result.writes = checker_.writes();
  result.refused = checker_.refused();
  result.simulated = world_.now();
  result.longest_wait = phase_.longest_wait;
  result.last_lines = world_.trace().last();
  world_.trace().listener = {};
  end();
  return result;
}

}  // namespace

Result simulate(Options const& options, std::function<void(std::string const&)> listener) {
  auto simulation = std::make_unique<Simulation>(options);
  auto result = simulation->run(std::move(listener));
  if (!simulation->ended()) {
    // Destroying what still runs would crash; only a broken mutant gets here.
    static auto* const abandoned = new std::vector<std::unique_ptr<Simulation>>();
    abandoned->push_back(std::move(simulation));
    if (!result.violation) result.violation = "everything ends when it is closed";
  }
  return result;
}

}  // namespace holt::sim
