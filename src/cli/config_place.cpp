// SPDX-License-Identifier: Apache-2.0
#include "cli/config_place.hpp"

#include "cli/descriptor.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/setting.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace holt::cli {
namespace {

constexpr std::size_t largest_file = 1 << 20;

std::string variable(char const* name) {
  auto const* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

[[noreturn]] void refuse(std::string const& path, std::string const& why, std::string hint) {
  throw Failure(ExitCode::failed, "the configuration file " + path + " " + why, std::move(hint));
}

std::string read_all(Descriptor const& file, std::string const& path) {
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    auto const count = ::read(file.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      refuse(path, "cannot be read: " + std::system_category().message(errno), "ls -l " + path);
    }
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > largest_file) refuse(path, "is larger than 1 MiB", "less " + path);
  }
}

/// Nothing when there is no such file.
std::optional<ConfigText> read_file(Origin::Kind kind, std::string const& path) {
  Descriptor const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file.is_open()) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    refuse(path, "cannot be read: " + std::system_category().message(errno), "ls -l " + path);
  }
  struct stat info{};
  ::fstat(file.get(), &info);
  if (kind == Origin::Kind::project && info.st_uid != ::geteuid() && info.st_uid != 0) {
    refuse(path, "belongs to another user, so it is not used",
           "take it over with chown, or leave it out with HOLT_PROJECT_CONFIG=/dev/null");
  }
  return ConfigText{kind, path, read_all(file, path)};
}

/// The file that a variable names; then it must be there.
std::optional<ConfigText> read_named_file(Origin::Kind kind, char const* name) {
  auto const path = variable(name);
  if (path.empty()) return std::nullopt;
  auto file = read_file(kind, path);
  if (!file) refuse(path, std::string("is not there, though ") + name + " names it", {});
  return file;
}

std::optional<ConfigText> read_project_file() {
  constexpr auto kind = Origin::Kind::project;
  if (auto named = read_named_file(kind, "HOLT_PROJECT_CONFIG")) return named;
  std::error_code error;
  auto folder = std::filesystem::current_path(error);
  while (!error && !folder.empty()) {
    if (auto found = read_file(kind, (folder / ".holt.toml").string())) return found;
    if (::access((folder / ".git").c_str(), F_OK) == 0 || folder == folder.root_path()) break;
    folder = folder.parent_path();
  }
  return std::nullopt;
}

std::string user_path() {
  auto const set = variable("XDG_CONFIG_HOME");
  if (set.starts_with('/')) return set + "/holt/config.toml";
  auto const home = variable("HOME");
  return home.starts_with('/') ? home + "/.config/holt/config.toml" : "";
}

std::optional<ConfigText> read_system_file() {
  constexpr auto kind = Origin::Kind::system;
  if (auto named = read_named_file(kind, "HOLT_SYSTEM_CONFIG")) return named;
  return read_file(kind, "/etc/holt/config.toml");
}

}  // namespace

std::vector<ConfigText> read_config_files() {
  std::vector<ConfigText> files;
  auto const add = [&](std::optional<ConfigText> file) {
    if (file) files.push_back(std::move(*file));
  };
  add(read_project_file());
  if (auto const path = user_path(); !path.empty()) add(read_file(Origin::Kind::user, path));
  add(read_system_file());
  return files;
}

}  // namespace holt::cli
