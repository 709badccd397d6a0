// SPDX-License-Identifier: Apache-2.0
// Named instances: the part of Core and of the public API.

#include "base/random_text.hpp"
#include "client/core.hpp"
#include "client/node_name.hpp"
#include "client/serving.hpp"
#include "client/store_setting.hpp"
#include "contracts/instance_names.hpp"
#include "primitives/trust.hpp"

#include <holt/instance.hpp>

#include <fmt/format.h>

#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

namespace holt {
namespace client {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds guard_patience{50};
constexpr std::size_t random_part = 8;
constexpr std::size_t max_address_bytes = 255;
constexpr std::uint32_t most_instances = 1000;
constexpr std::size_t max_reason_bytes = 256;

std::string checked_name(std::string_view name) {
  auto checked = parse_instance(name);
  if (!checked) throw InvalidArgument(checked.error());
  return std::move(*checked);
}

std::string checked_address(std::string_view address) {
  auto const text = Name::parse(address);
  if (!text) throw InvalidArgument("an address: " + text.error());
  if (text->text().size() <= max_address_bytes) return text->text();
  throw InvalidArgument(fmt::format("an address of {} bytes is too long: use at most {}",
                                    text->text().size(), max_address_bytes));
}

Nanos checked_heartbeat(InstanceOptions const& options) {
  if (options.ttl < std::chrono::floor<milliseconds>(trust::min_ttl) ||
      options.ttl > std::chrono::floor<milliseconds>(trust::max_ttl)) {
    throw InvalidArgument(
        fmt::format("a ttl of {} ms is out of range: use 100 ms to 24 h", options.ttl.count()));
  }
  if (options.heartbeat < milliseconds(0) || options.heartbeat > options.ttl / 2) {
    throw InvalidArgument(
        fmt::format("a heartbeat every {} ms cannot be safe with a ttl of {} ms: use at most {} ms",
                    options.heartbeat.count(), options.ttl.count(), (options.ttl / 2).count()));
  }
  return options.heartbeat > milliseconds(0) ? options.heartbeat : options.ttl / 2;
}

void check(InstanceOptions const& options) {
  if (options.join && options.name.empty()) {
    throw InvalidArgument("to join an instance its name is needed");
  }
  if (options.max_instances < 1 || options.max_instances > most_instances) {
    throw InvalidArgument(fmt::format("a limit of {} instances is not possible: use 1 to {}",
                                      options.max_instances, most_instances));
  }
}

std::string checked_reason(std::string_view reason) {
  if (!reason.empty() && reason.size() <= max_reason_bytes) return std::string(reason);
  throw InvalidArgument(fmt::format("a reason of {} bytes is not possible: use 1 to {}",
                                    reason.size(), max_reason_bytes));
}

}  // namespace

Serving::~Serving() {
  if (core_->forked()) {
    [[maybe_unused]] auto const* const left_alone = replica_.release();
    return;
  }
  try {
    [[maybe_unused]] bool const told =
        core_->run_on_executor(replica_->stop(core_->now() + Nanos(guard_patience)));
    core_->run_on_executor(replica_->close());
  } catch (std::exception const&) {
    return;
  }
  gate_->close();
}

InstanceRegister Core::instances() {
  return {env_, engine_->leases(), engine_->records(), timeout_};
}

std::unique_ptr<Serving> Core::serving(InstanceOptions const& options,
                                       Instances::Listener listener) {
  check_usable("up");
  check(options);
  Charter charter;
  auto& about = charter.about;
  if (!options.name.empty()) about.instance = checked_name(options.name);
  about.replica = random_token([this] { return env_.random(); }).substr(0, random_part);
  about.run_id = uuid_of(env_.random(), env_.random());
  about.workspace_path = canonical_workspace(options.workspace);
  about.started_at = iso_time(env_.wall());
  about.orchestrator_pid = ::getpid();
  about.hostname = instance_host();
  about.address = options.address.empty() ? about.hostname : checked_address(options.address);
  charter.heartbeat = checked_heartbeat(options);
  charter.ttl = options.ttl;
  charter.patience = timeout_;
  charter.force = options.force;
  charter.join = options.join;
  charter.max_instances = options.max_instances;
  return std::make_unique<Serving>(shared_from_this(), env_, locks_, instances(),
                                   std::move(charter), std::move(listener));
}

}  // namespace client

std::string canonical_workspace(std::string_view folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  auto const path = fs::canonical(folder.empty() ? fs::path(".") : fs::path(folder), error);
  auto const shown = folder.empty() ? std::string("the current folder") : std::string(folder);
  if (error) throw InvalidArgument("the workspace " + shown + ": " + error.message());
  if (!fs::is_directory(path, error)) {
    throw InvalidArgument("the workspace " + shown + " is no folder");
  }
  constexpr std::size_t longest = 3000;  // it is part of a note
  if (path.native().size() > longest) {
    throw InvalidArgument(
        fmt::format("the workspace's path of {} bytes is too long: use at most {}",
                    path.native().size(), longest));
  }
  // It is shown to people and written as JSON.
  for (auto const& part : path.relative_path()) {
    auto const text = Name::parse(part.native());
    if (!text) throw InvalidArgument("the workspace " + shown + ": " + text.error());
  }
  return path.native();
}

std::string instance_host() { return client::host_name(); }

Instance::Instance(std::unique_ptr<client::Serving> serving) noexcept
    : serving_(std::move(serving)) {}
Instance::Instance(Instance&& other) noexcept = default;
Instance& Instance::operator=(Instance&& other) noexcept = default;
Instance::~Instance() = default;

std::string const& Instance::name() const noexcept { return serving_->replica().about().instance; }
std::string const& Instance::run_id() const noexcept { return serving_->replica().about().run_id; }
std::string const& Instance::replica_id() const noexcept {
  return serving_->replica().about().replica;
}
std::string const& Instance::workspace() const noexcept {
  return serving_->replica().about().workspace_path;
}
std::string const& Instance::overridden() const noexcept {
  return serving_->replica().overridden();
}
bool Instance::leads() const noexcept {
  return !serving_->core().forked() && serving_->replica().leading() != nullptr;
}
Fence Instance::fence() const {
  auto const lease = serving_->replica().leading();
  return lease ? lease->fence() : Fence();
}
std::stop_token Instance::ended() const noexcept { return serving_->replica().ended(); }
InstanceEnd Instance::end() const noexcept { return serving_->replica().ending().how(); }
std::string Instance::end_reason() const { return serving_->replica().ending().reason(); }

bool Instance::stop(std::chrono::milliseconds deadline) {
  auto& core = serving_->core();
  return core.run_on_executor(serving_->replica().stop(core.now() + Nanos(deadline)));
}

Instances::Instances(std::shared_ptr<client::Core> core) noexcept : core_(std::move(core)) {}

std::expected<Instance, InstanceRefused> Instances::up(InstanceOptions options, Listener listener) {
  if (!listener) listener = [](InstanceEvent const&) {};
  auto serving = core_->serving(options, std::move(listener));
  auto answer = core_->run_on_executor(serving->replica().up());
  if (!answer) return std::unexpected(std::move(answer.error()));
  return Instance(std::move(serving));
}

std::vector<InstanceInfo> Instances::list() {
  core_->check_usable("list");
  auto instances = core_->instances();
  return core_->run_on_executor(instances.list());
}

std::optional<InstanceInfo> Instances::find(std::string_view name) {
  core_->check_usable("find");
  auto instances = core_->instances();
  return core_->run_on_executor(instances.find(client::checked_name(name)));
}

DownResult Instances::down(std::string_view name, std::string_view reason, DownOptions options) {
  core_->check_usable("down");
  if (options.deadline < std::chrono::milliseconds(0)) {
    throw InvalidArgument("a deadline below zero is not possible: use 0 not to wait");
  }
  auto instances = core_->instances();
  return core_->run_on_executor(
      instances.down(client::checked_name(name), client::checked_reason(reason), options));
}

std::string const& Instances::url() const noexcept { return core_->url(); }

Instances open_instances(std::string_view url, OpenOptions options) {
  client::check_timeout(options);
  return Instances(
      client::Core::open(client::store_url(url), std::string(register_scope), options));
}

}  // namespace holt
