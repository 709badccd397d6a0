// SPDX-License-Identifier: Apache-2.0
#pragma once
// Telemetry: an observer sees every operation of a client as it ends, and every loss; also what is
// done through a guard, by its destructor, or in a coroutine. Names and owners are hashed unless
// OpenOptions::observe_raw says otherwise. What an observer throws is ignored.

#include <holt/fence.hpp>
#include <holt/lease.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace holt {

struct Observation {
  enum class Operation { acquire, release, extend, is_locked, lookup, lost };
  enum class Result { ok, fail };
  enum class Reason {
    none,       ///< it went well
    locked,     ///< somebody else has it
    expired,    ///< it was ours, and its time is over
    not_found,  ///< nobody has it, or not this owner
    error       ///< the store failed, or the client was closed
  };

  Operation operation = Operation::acquire;
  Result result = Result::ok;
  Reason reason = Reason::none;
  std::string instance;
  bool raw = false;  ///< name and owner are themselves, not their hashes
  std::string name;
  std::string owner;                   ///< empty where none is known
  Fence fence;                         ///< zero where none is known
  LossReason loss = LossReason::none;  ///< why, for `lost`
  std::chrono::nanoseconds took{};     ///< the whole call, waiting too; zero for `lost`
  std::chrono::nanoseconds held{};     ///< how long it was held, where that is known and over
};

[[nodiscard]] std::string_view to_string(Observation::Operation operation) noexcept;
[[nodiscard]] std::string_view to_string(Observation::Result result) noexcept;
[[nodiscard]] std::string_view to_string(Observation::Reason reason) noexcept;

/// Called by the thread whose call ended, or one of the library's: it should be quick, and may be
/// called by several threads at once.
using Observer = std::function<void(Observation const&)>;

}  // namespace holt
#pragma GCC visibility pop
