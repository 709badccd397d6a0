// SPDX-License-Identifier: Apache-2.0
#include "cli/store.hpp"

#include "cli/command_line.hpp"
#include "cli/failure.hpp"
#include "cli/log.hpp"

#include <holt/name.hpp>
#include <holt/open.hpp>

#include <string>
#include <utility>

namespace holt::cli {

void StoreOptions::declare(CommandLine& line) {
  line.value("--store", "URL", url_, "where the leases are kept (HOLT_STORE)");
  line.value("--instance", "NAME", instance_, "whose leases (HOLT_INSTANCE, else \"default\")");
}

StoreOptions::Opening StoreOptions::opening() const {
  OpenOptions options;
  if (instance_) {  // given and empty is a mistake, not a wish for the default
    auto instance = parse_instance(*instance_);
    if (!instance) throw UsageError("--instance: " + instance.error());
    options.instance = std::move(*instance);
  }
  if (url_ && url_->empty()) throw UsageError("--store is empty; give a URL, or leave it out");
  log_to_stderr(options);
  return {url_.value_or(""), std::move(options)};
}

Holt StoreOptions::open() const {
  auto [url, options] = opening();
  return holt::open(url, std::move(options));
}

}  // namespace holt::cli
