// SPDX-License-Identifier: Apache-2.0
#pragma once
// The atomic steps of RecordStore.

#include "contracts/env.hpp"
#include "contracts/record_store.hpp"
#include "engines/sqlite/step.hpp"

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace holt::sqlite {

/// What all steps share: whose records they are.
class RecordStep : public Step {
 public:
  RecordStep(Env& env, std::string_view instance, std::string_view operation, Instant deadline)
      : Step(operation, deadline), env_(env), instance_(instance) {}

 protected:
  ~RecordStep() = default;

  [[nodiscard]] Env& env() const noexcept { return env_; }
  [[nodiscard]] std::string_view instance() const noexcept { return instance_; }
  [[nodiscard]] std::int64_t now_ns() const { return env_.now().time_since_epoch().count(); }
  [[nodiscard]] std::optional<Record> find(Connection& store, std::string const& key) const;

 private:
  Env& env_;
  std::string_view instance_;
};

class GetStep final : public RecordStep {
 public:
  GetStep(Env& env, std::string_view instance, std::string const& key, Instant deadline)
      : RecordStep(env, instance, "get", deadline), key_(key) {}

  void run(Connection& store) override { result_ = find(store, key_); }
  [[nodiscard]] std::optional<Record>& result() noexcept { return result_; }

 private:
  std::string const& key_;
  std::optional<Record> result_;
};

class PutStep final : public RecordStep {
 public:
  PutStep(Env& env, std::string_view instance, RecordWrite const& write, Instant deadline)
      : RecordStep(env, instance, "put", deadline), write_(write) {}

  void run(Connection& store) override;
  [[nodiscard]] std::expected<std::uint64_t, Conflict>& result() noexcept { return result_; }

 private:
  std::uint64_t draw_version(Connection& store) const;

  RecordWrite const& write_;
  std::expected<std::uint64_t, Conflict> result_;
};

class EraseStep final : public RecordStep {
 public:
  EraseStep(Env& env, std::string_view instance, std::string const& key, Instant deadline)
      : RecordStep(env, instance, "erase", deadline), key_(key) {}

  void expect(std::optional<std::uint64_t> version) { expected_ = version; }
  void run(Connection& store) override;
  [[nodiscard]] std::expected<bool, Conflict>& result() noexcept { return result_; }

 private:
  std::string const& key_;
  std::optional<std::uint64_t> expected_;
  std::expected<bool, Conflict> result_;
};

class RecordListStep final : public RecordStep {
 public:
  RecordListStep(Env& env, std::string_view instance, Instant deadline)
      : RecordStep(env, instance, "list", deadline) {}

  /// Which page. Throws InvalidArgument when `limit` is not 1 to 1000.
  void select(std::string prefix, std::string const& cursor, std::uint32_t limit);
  void run(Connection& store) override;
  [[nodiscard]] RecordPage& result() noexcept { return result_; }

 private:
  std::string prefix_;
  std::string first_;
  std::uint32_t limit_ = 0;
  RecordPage result_;
};

class AddStep final : public RecordStep {
 public:
  AddStep(Env& env, std::string_view instance, std::string const& counter, Instant deadline)
      : RecordStep(env, instance, "add", deadline), counter_(counter) {}

  void by(std::int64_t step) { step_ = step; }
  void run(Connection& store) override;
  [[nodiscard]] std::int64_t result() const noexcept { return result_; }

 private:
  std::string const& counter_;
  std::int64_t step_ = 0;
  std::int64_t result_ = 0;
};

}  // namespace holt::sqlite
