// SPDX-License-Identifier: Apache-2.0
#include "cli/store.hpp"

#include "cli/command_line.hpp"
#include "cli/failure.hpp"
#include "cli/log.hpp"
#include "cli/store_url.hpp"

#include <holt/name.hpp>
#include <holt/open.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holt::cli {

void StoreOptions::declare(CommandLine& line) {
  declare_store(line);
  line.setting("--instance", "INSTANCE", instance_, "whose leases and tasks (\"default\")",
               CommandLine::Scope::shared);
}

void StoreOptions::declare_store(CommandLine& line) {
  line.setting("--store", "URL", url_, "where leases and tasks are kept; or @FILE, or - for stdin",
               CommandLine::Scope::shared);
}

std::vector<std::string> StoreOptions::environment() const {
  std::vector<std::string> environment;
  auto const pass_on = [&](char const* variable, std::optional<Setting> const& setting) {
    bool const known = !setting || setting->origin.kind != Origin::Kind::flag;
    if (!known && setting->value != "-") environment.push_back(variable + ('=' + setting->value));
  };
  pass_on("HOLT_STORE", url_);
  pass_on("HOLT_INSTANCE", instance_);
  return environment;
}

OpenOptions StoreOptions::options() const {
  OpenOptions options;
  if (instance_) {  // given and empty is a mistake, not a wish for the default
    auto instance = parse_instance(instance_->value);
    if (!instance) throw UsageError(instance_->origin.text() + ": " + instance.error());
    options.instance = std::move(*instance);
  }
  return options;
}

StoreOptions::Opening StoreOptions::opening() const {
  auto result = opening_unlogged();
  log_to_stderr(result.options);
  return result;
}

StoreOptions::Opening StoreOptions::opening_unlogged() const {
  auto open_options = options();
  return {url_ ? store_url(*url_) : std::string(), std::move(open_options)};
}

Holt StoreOptions::open() const {
  auto [url, open_options] = opening();
  return holt::open(url, std::move(open_options));
}

std::optional<StoreOptions::Opening> StoreOptions::opening_quickly(
    std::chrono::milliseconds timeout) const {
  if (url_ && url_->value == "-") return std::nullopt;
  auto result = opening_unlogged();
  result.options.timeout = timeout;
  return result;
}

}  // namespace holt::cli
