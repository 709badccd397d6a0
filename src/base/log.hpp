// SPDX-License-Identifier: Apache-2.0
#pragma once
// How code inside the library tells about leases: makes a LogEvent only when somebody listens.

#include <holt/lease.hpp>
#include <holt/log.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace holt {

class EventLog {
 public:
  /// Nobody listens.
  EventLog() = default;

  /// `sink` gets the events of `level` and above; it is called on any thread and must be quick.
  EventLog(LogCallback sink, LogLevel level, std::string instance, bool hash_names)
      : sink_(std::move(sink)),
        level_(level),
        instance_(std::move(instance)),
        hash_names_(hash_names) {}

  void report(LogLevel level, std::string_view event, Name const& name, Owner const& owner,
              Fence fence, std::string_view reason = {}) const {
    if (!sink_ || level < level_) return;
    sink_({level, std::string(event), instance_, hash_names_ ? name.hash() : name.text(),
           owner.text(), fence.value(), std::string(reason)});
  }

 private:
  LogCallback sink_;
  LogLevel level_ = LogLevel::info;
  std::string instance_;
  bool hash_names_ = false;
};

}  // namespace holt
