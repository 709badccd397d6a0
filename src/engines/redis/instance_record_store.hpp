// SPDX-License-Identifier: Apache-2.0
#pragma once
// RecordStore of the register of instances: the records instance/NAME are the fields NAME of the
// hash `holt:instances`, just as they are, each call one script, scripts/instance_*.lua; the
// counter instance_counter is `holt:instance_counter`; all else is in the native store. Versions
// and ends are in `{holt:instances}:versions`. On Env::executor().
// - A field that somebody else wrote is a record with the version 0: it is shown, and whoever
//   expects no record, or that version, may write over it or erase it. It has no end.
// - A value that somebody else wrote over one of ours keeps our version and our end.
// - What has ended is removed when it is met.
// - A listing reads the names of all instances, of which there are hundreds, not millions.

#include "contracts/record_store.hpp"
#include "engines/redis/durable.hpp"
#include "engines/redis/servers.hpp"

#include <string>
#include <vector>

namespace holt::redis {

class InstanceRecordStore final : public RecordStore {
 public:
  InstanceRecordStore(Servers& servers, DurableWrites& writes, RecordStore& native)
      : servers_(servers), writes_(writes), native_(native) {}

  asio::awaitable<std::optional<Record>> get(std::string key, Instant deadline) override;
  asio::awaitable<std::expected<std::uint64_t, Conflict>> put(RecordWrite write,
                                                              Instant deadline) override;
  asio::awaitable<std::expected<bool, Conflict>> erase(std::string key,
                                                       std::optional<std::uint64_t> expected,
                                                       Instant deadline) override;
  asio::awaitable<RecordPage> list(std::string prefix, std::string cursor, std::uint32_t limit,
                                   Instant deadline) override;
  asio::awaitable<std::int64_t> add(std::string counter, std::int64_t step,
                                    Instant deadline) override;

 private:
  asio::awaitable<Reply> change(ScriptCall const& call, std::string_view operation,
                                Instant deadline);
  asio::awaitable<std::expected<std::uint64_t, Conflict>> put_instance(RecordWrite write,
                                                                       Instant deadline);
  asio::awaitable<std::expected<bool, Conflict>> erase_instance(
      std::string key, std::optional<std::uint64_t> expected, Instant deadline);
  asio::awaitable<std::int64_t> count_instances(std::int64_t step, Instant deadline);
  /// Adds those that are there.
  asio::awaitable<void> look_up(std::vector<std::string> keys, std::vector<Record>& into,
                                Instant deadline);
  /// The first `most` of them.
  asio::awaitable<std::vector<Record>> list_instances(std::string prefix, std::string cursor,
                                                      std::size_t most, Instant deadline);

  Servers& servers_;
  DurableWrites& writes_;
  RecordStore& native_;
};

}  // namespace holt::redis
