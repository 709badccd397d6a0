// SPDX-License-Identifier: Apache-2.0
#include "cli/store.hpp"

#include "cli/command_line.hpp"
#include "cli/failure.hpp"
#include "cli/log.hpp"
#include "cli/store_url.hpp"

#include <holt/name.hpp>
#include <holt/open.hpp>

#include <string>
#include <utility>

namespace holt::cli {

void StoreOptions::declare(CommandLine& line) {
  constexpr auto shared = CommandLine::Scope::shared;
  line.setting("--store", "URL", url_, "where the leases are kept; or @FILE, or - for stdin",
               shared);
  line.setting("--instance", "INSTANCE", instance_, "whose leases (\"default\")", shared);
}

Holt StoreOptions::open() const {
  OpenOptions options;
  if (instance_) {  // given and empty is a mistake, not a wish for the default
    auto instance = parse_instance(instance_->value);
    if (!instance) throw UsageError(instance_->origin.text() + ": " + instance.error());
    options.instance = std::move(*instance);
  }
  auto const url = url_ ? store_url(*url_) : std::string();
  log_to_stderr(options);
  return holt::open(url, std::move(options));
}

}  // namespace holt::cli
