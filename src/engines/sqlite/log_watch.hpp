// SPDX-License-Identifier: Apache-2.0
#pragma once
// LogWatch: tells that the store may have changed. Every commit of every process is written to the
// -wal file, and inotify tells of each write; several that nobody has read yet are one. A store
// that is deleted or replaced counts as a change too. A write can be seen in the file before the
// commit can be seen in the store: the writer may still have to wait for the disk. So each hint is
// repeated, at growing distance, until five seconds after the last write; then all is quiet.

#include "contracts/engine.hpp"
#include "contracts/env.hpp"

#include <functional>
#include <memory>
#include <string>

namespace holt::sqlite {

/// Watches the store `path`, which must be open. Null when the system has no watch left.
[[nodiscard]] std::unique_ptr<ChangeWatch> watch_log(Env& env, std::string const& path,
                                                     std::function<void()> changed);

}  // namespace holt::sqlite
