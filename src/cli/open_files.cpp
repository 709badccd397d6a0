// SPDX-License-Identifier: Apache-2.0
#include "cli/open_files.hpp"

namespace holt::cli {

rlimit raise_open_files() noexcept {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit const raised{before.rlim_max, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &raised);
  return before;
}

std::size_t open_files_limit() noexcept {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

}  // namespace holt::cli
