// SPDX-License-Identifier: Apache-2.0
#pragma once
// The gate: a file lock that writers of all processes take before SQLite's own. SQLite's waiters
// poll, milliseconds apart; the kernel wakes the next one at the gate at once. It orders writers
// and no more: that two never write together is SQLite's doing, also with a gate that is broken.
//
// Waiting at the kernel's lock cannot be interrupted, so a thread of its own does it, started when
// first needed. Who asked leaves at its deadline; the lock that comes later is given back at once.

#include <chrono>
#include <memory>
#include <string>

namespace holt::sqlite {

class Gate {
 public:
  /// Opens the gate of the store `path`. Throws EngineError.
  Gate(std::string path, std::string const& store);
  ~Gate();
  Gate(Gate const&) = delete;
  Gate& operator=(Gate const&) = delete;

  /// Takes the gate, waiting at most `patience`. One caller at a time.
  [[nodiscard]] bool lock(std::chrono::nanoseconds patience);
  void unlock() noexcept;

  [[nodiscard]] std::string const& path() const noexcept { return path_; }

 private:
  struct State;
  std::string path_;
  std::shared_ptr<State> state_;
};

}  // namespace holt::sqlite
