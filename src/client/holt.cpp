// SPDX-License-Identifier: Apache-2.0
#include "client/core.hpp"
#include "client/shortage.hpp"
#include "client/store_setting.hpp"
#include "contracts/migrations.hpp"

#include <holt/migration.hpp>
#include <holt/open.hpp>

#include <memory>
#include <utility>

namespace holt {
Holt open(std::string_view url, OpenOptions options) {
  auto instance = parse_instance(client::first_of(options.instance, "HOLT_INSTANCE", "default"));
  if (!instance) throw InvalidArgument(instance.error());
  client::check_timeout(options);
  return Holt(client::Core::open(client::store_url(url), std::move(*instance), options));
}

StoreMigrations migrate(std::string_view url, MigrateOptions options) {
  auto const env = client::or_shortage("open", [] { return std::make_unique<RealEnv>(); });
  return migrate_store(*env, {client::store_url(url), "default"}, options.dry_run);
}

Holt::Holt(std::shared_ptr<client::Core> core) noexcept : core_(std::move(core)) {}

std::expected<Lock, Busy> Holt::try_lock(Name const& name, LockOptions options) {
  options.wait = std::chrono::milliseconds(0);
  return core_->guard(core_->run(core_->lock(name, options, {})));
}

std::expected<Lock, Busy> Holt::lock(Name const& name, LockOptions options, std::stop_token stop) {
  return core_->guard(core_->run(core_->lock(name, options, std::move(stop))));
}

std::expected<Lock, Busy> Holt::retry_lock(Name const& name, LockOptions options,
                                           RetryOptions retry, std::stop_token stop) {
  return core_->guard(core_->run(core_->retry_lock(name, options, retry, std::move(stop))));
}

bool Holt::is_locked(Name const& name) {
  return core_->run(core_->find(name, Observation::Operation::is_locked)).has_value();
}

std::optional<LeaseInfo> Holt::find(Name const& name) {
  return core_->run(core_->find(name, Observation::Operation::lookup));
}

std::optional<LeaseInfo> Holt::find(Handle const& handle) {
  return core_->run(core_->find(handle));
}

std::optional<LeaseSummary> Holt::lookup(Name const& name) {
  auto const found = find(name);
  return found ? std::optional(summary_of(*found)) : std::nullopt;
}

std::optional<LeaseSummary> Holt::lookup(Handle const& handle) {
  auto const found = find(handle);
  return found ? std::optional(summary_of(*found)) : std::nullopt;
}

bool Holt::owns(Handle const& handle) { return find(handle).has_value(); }

LeasePage Holt::list(std::string_view prefix, std::string const& cursor, std::uint32_t limit) {
  return core_->run(core_->list(prefix, cursor, limit));
}

BreakResult Holt::break_lock(Name const& name, std::string_view reason, BreakOptions options) {
  return core_->run(core_->break_lock(name, reason, options));
}

std::expected<void, Lost> Holt::extend(Handle const& handle, std::chrono::milliseconds ttl) {
  return core_->run(core_->extend(handle, ttl));
}

std::expected<void, Lost> Holt::release(Handle const& handle) {
  return core_->run(core_->release(handle));
}

Capabilities Holt::capabilities() const { return core_->capabilities(); }

void Holt::close(std::chrono::milliseconds deadline) { core_->close(deadline); }

std::string const& Holt::url() const noexcept { return core_->url(); }
std::string const& Holt::instance() const noexcept { return core_->instance(); }

std::string_view version() noexcept { return HOLT_VERSION; }

}  // namespace holt
