// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where configuration files are looked for, and what is in them. Where there is none, that costs
// a failed open() each and nothing more.

#include "cli/setting.hpp"

#include <string>
#include <vector>

namespace holt::cli {

struct ConfigText {
  Origin::Kind kind = Origin::Kind::project;
  std::string path;
  std::string text;
};

/// The files that there are, those that win first:
///   project  HOLT_PROJECT_CONFIG, else .holt.toml in the current folder or the nearest one above
///            it; the search ends at a folder that has a .git
///   user     $XDG_CONFIG_HOME/holt/config.toml (~/.config where that is not set)
///   system   HOLT_SYSTEM_CONFIG, else /etc/holt/config.toml
/// Throws Failure for one that is there but cannot be read, and for a project file that belongs to
/// neither this user nor root: whoever wrote it would decide which store is used.
[[nodiscard]] std::vector<ConfigText> read_config_files();

}  // namespace holt::cli
