// SPDX-License-Identifier: Apache-2.0
#pragma once
// InstanceRegister: what a store knows of its instances, and how one is ended from anywhere.
// docs/adr/0019-instances.md says what is kept where. Leases are the truth of who lives; records
// are what is left to tell of those who do not.

#include "base/instance_note.hpp"
#include "contracts/env.hpp"
#include "contracts/lease_store.hpp"
#include "contracts/record_store.hpp"

#include <holt/instance.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holt {

// The leases; each throws InvalidArgument if it cannot be a name.
[[nodiscard]] Name name_lease(std::string_view instance);
[[nodiscard]] Name replica_lease(std::string_view instance, std::string_view replica);
/// Of a folder of a host, as canonical_workspace() tells it.
[[nodiscard]] Name workspace_lease(std::string_view host, std::string_view path);
/// Which those who come up in this folder take one after the other.
[[nodiscard]] Name up_lease(std::string_view host, std::string_view path);

class InstanceRegister {
 public:
  /// Each question to the store has `patience`.
  InstanceRegister(Env& env, LeaseStore& leases, RecordStore& records, Nanos patience)
      : env_(env), leases_(leases), records_(records), patience_(patience) {}

  /// All of them throw EngineError.
  asio::awaitable<std::vector<InstanceInfo>> list();
  asio::awaitable<std::optional<InstanceInfo>> find(std::string name);
  /// As Instances::down.
  asio::awaitable<DownResult> down(std::string name, std::string reason, DownOptions options);

  /// Whether so many live already.
  asio::awaitable<bool> has(std::uint32_t instances);
  /// Who has the name now; nobody, or somebody who says nothing of himself.
  struct Holder {
    bool lives = false;
    std::optional<InstanceNote> note;
  };
  asio::awaitable<Holder> holder_of(Name lease);
  /// The number of the next default-N.
  asio::awaitable<std::int64_t> next_number();
  /// Why this run was ended; nothing: it was not.
  asio::awaitable<std::optional<std::string>> why_ended(std::string run_id);

  /// Writes the record of an instance over `version` (0: over none), and answers the new version
  /// or, if there is another one, that one.
  asio::awaitable<std::expected<std::uint64_t, std::uint64_t>> write(InstanceNote note,
                                                                     std::uint64_t version);
  /// Removes the record if it still has this version.
  asio::awaitable<void> erase(std::string name, std::uint64_t version);
  /// Removes the records of dead instances in this folder of this host.
  asio::awaitable<void> clean(std::string host, std::string path);

 private:
  [[nodiscard]] Instant soon() const { return env_.now() + patience_; }
  asio::awaitable<void> ask_to_stop(std::string name, std::string run_id, std::string reason,
                                    bool now);
  asio::awaitable<bool> is_gone(std::string name, std::string run_id);
  asio::awaitable<void> forget(std::string name, std::string run_id);

  Env& env_;
  LeaseStore& leases_;
  RecordStore& records_;
  Nanos patience_;
};

}  // namespace holt
