// SPDX-License-Identifier: Apache-2.0
#pragma once
// Named instances on a shared store: a name and a workspace that nobody else has, seen by all.
//   auto instances = holt::open_instances();
//   auto up = instances.up({.name = "myproject"});
//   if (!up) return refuse(up.error());           // who has the name, or the workspace
//   serve(up->name(), up->ended());               // ended() is a std::stop_token
// A name is a lease with all that a lock promises; docs/primitives/instance.md says what follows.

#include <holt/error.hpp>
#include <holt/fence.hpp>
#include <holt/open.hpp>

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#pragma GCC visibility push(default)
namespace holt {

/// How to come up. Trivially destructible on purpose: docs/adr/0005-coroutine-rules.md.
struct InstanceOptions {
  std::string_view name{};       ///< empty: `default-N`, N never used before
  std::string_view workspace{};  ///< a folder; empty: the current one. Symbolic links are resolved.
  bool force = false;            ///< come up although another instance has the workspace
  bool join = false;  ///< be one more replica if the instance lives already; needs a name
  std::chrono::milliseconds ttl{60'000};   ///< 100 ms to 24 h
  std::chrono::milliseconds heartbeat{0};  ///< at most half of the ttl; 0: half of it
  std::string_view address{};              ///< where others reach this replica; empty: its host
  std::uint32_t max_instances = 256;       ///< no more than so many live ones in this store
};
static_assert(std::is_trivially_destructible_v<InstanceOptions>);

/// Why an instance did not come up. Nothing of the attempt is left in the store.
struct InstanceRefused {
  enum class Why {
    name_taken,       ///< `by` is its host and process, as far as known
    workspace_taken,  ///< `by` is the instance that has it
    too_many,         ///< `limit` instances live in this store
    no_number,        ///< `limit` names default-N in a row were taken by hand
    ending            ///< join: somebody is stopping this instance just now
  };
  Why why = Why::name_taken;
  std::string name;       ///< that was asked for; empty when none was
  std::string workspace;  ///< canonical
  std::string by;
  std::uint32_t limit = 0;
};

enum class InstanceStatus {
  running,
  degraded,  ///< alive, but a heartbeat is missing, it is between two leaders, or it is stopping
  stopped    ///< nobody lives; what is known is what it last said
};
[[nodiscard]] std::string_view to_string(InstanceStatus status) noexcept;

struct ReplicaInfo {
  std::string id;
  std::string hostname;
  std::string address;
  std::int64_t pid = 0;
  bool leads = false;
};

/// What onlookers see of an instance.
struct InstanceInfo {
  std::string name;
  InstanceStatus status = InstanceStatus::stopped;
  std::string trouble;  ///< of a degraded one: what is wrong
  std::string run_id;   ///< a UUID; another one with every start, the same for all its replicas
  std::string workspace;
  std::chrono::system_clock::time_point started_at;  ///< for people
  std::int64_t pid = 0;                              ///< of the leader, for people: never signalled
  std::string hostname;                              ///< of the leader
  std::string address;
  Fence fence;  ///< of the name's lease; none when stopped
  std::vector<ReplicaInfo> replicas;
};

enum class InstanceEventKind {
  leading,    ///< this replica has the name
  following,  ///< another replica of the same run has it; this one stands in line
  trouble,    ///< the store cannot be asked: `detail`; it is asked again
  ended       ///< it is over: `detail`
};
[[nodiscard]] std::string_view to_string(InstanceEventKind kind) noexcept;

struct InstanceEvent {
  InstanceEventKind kind = InstanceEventKind::leading;
  Fence fence;         ///< of `leading`
  std::string detail;  ///< for people
};

/// Why a replica is over.
enum class InstanceEnd {
  none,     ///< it is not
  stopped,  ///< stop() was called, or it was destroyed
  asked,    ///< somebody said `down`
  lost      ///< another run has the name, or the store is gone
};
[[nodiscard]] std::string_view to_string(InstanceEnd end) noexcept;

namespace [[gnu::visibility("hidden")]] client {
class Serving;
}  // namespace client

/// One replica of an instance that is up. Move-only; any thread, moving aside. Destroying it stops
/// it, waiting at most 50 ms.
class Instance {
 public:
  Instance(Instance&& other) noexcept;
  Instance& operator=(Instance&& other) noexcept;
  ~Instance();

  [[nodiscard]] std::string const& name() const noexcept;
  [[nodiscard]] std::string const& run_id() const noexcept;
  [[nodiscard]] std::string const& replica_id() const noexcept;
  [[nodiscard]] std::string const& workspace() const noexcept;
  /// The instance whose claim to the workspace --force went over; empty: none.
  [[nodiscard]] std::string const& overridden() const noexcept;

  /// True while no other replica or run can have the name. No I/O.
  [[nodiscard]] bool leads() const noexcept;
  /// Of the name's lease; none when not leading.
  [[nodiscard]] Fence fence() const;

  /// Fires when it is over.
  [[nodiscard]] std::stop_token ended() const noexcept;
  [[nodiscard]] InstanceEnd end() const noexcept;
  /// What was said when it ended; for people.
  [[nodiscard]] std::string end_reason() const;

  /// Lets go of name, workspace and record, or leaves the line; at once for ended(). False: the
  /// store has not heard of it by `deadline`; then the leases end by themselves.
  bool stop(std::chrono::milliseconds deadline = std::chrono::seconds(1));

 private:
  friend class Instances;
  explicit Instance(std::unique_ptr<client::Serving> serving) noexcept;
  std::unique_ptr<client::Serving> serving_;
};

/// How to stop an instance from anywhere.
struct DownOptions {
  std::chrono::milliseconds deadline{10'000};
  /// Free name, workspace and replicas at once, whatever they do. Unsafe while one still works.
  bool force = false;
};
static_assert(std::is_trivially_destructible_v<DownOptions>);

enum class DownResult {
  stopped,  ///< its name is free; replicas that are left have been told
  cleaned,  ///< nobody lived; what was left of it is gone
  late,     ///< asked, and not gone by the deadline: it ends by itself when its ttl is over
  not_found
};
[[nodiscard]] std::string_view to_string(DownResult result) noexcept;

/// The register of a store. A handle: copies share one client, any thread may use any copy.
class Instances {
 public:
  using Listener = std::function<void(InstanceEvent const&)>;

  /// Claims the name and the workspace in one step, or joins, and keeps them until it is stopped.
  /// `listener` is called on a thread of the library, in order, and not any more when the Instance
  /// is gone. Throws InvalidArgument for options
  /// that cannot be, EngineError when the store fails.
  std::expected<Instance, InstanceRefused> up(InstanceOptions options = {}, Listener listener = {});

  /// All that live, and the stopped ones that are remembered, in order of name.
  std::vector<InstanceInfo> list();
  std::optional<InstanceInfo> find(std::string_view name);

  /// Ends an instance, with all its replicas, wherever they run: asks with a reason of 1 to 256
  /// bytes that they will see, and waits. Throws InvalidArgument, EngineError.
  DownResult down(std::string_view name, std::string_view reason, DownOptions options = {});

  /// Where the store is, without secrets.
  [[nodiscard]] std::string const& url() const noexcept;

 private:
  friend Instances open_instances(std::string_view url, OpenOptions options);
  explicit Instances(std::shared_ptr<client::Core> core) noexcept;
  std::shared_ptr<client::Core> core_;
};

/// Opens the register of the store at `url` (empty: as open()). `options.instance` is not used.
/// Throws as open(), and InvalidArgument for a store whose layout has no register.
Instances open_instances(std::string_view url = {}, OpenOptions options = {});

/// A workspace as the register knows it: absolute, symbolic links resolved. Empty: the current
/// folder. Throws InvalidArgument for what is no folder, or no text in UTF-8.
[[nodiscard]] std::string canonical_workspace(std::string_view folder = {});

/// This host, as the register knows it.
[[nodiscard]] std::string instance_host();

}  // namespace holt
#pragma GCC visibility pop
