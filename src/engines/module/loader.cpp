// SPDX-License-Identifier: Apache-2.0
#include "engines/module/loader.hpp"

#include <holt/error.hpp>

#include <fmt/format.h>

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace holt {
namespace {

namespace fs = std::filesystem;

constexpr char const* path_variable = "HOLT_ENGINE_PATH";

struct Alias {
  std::string_view scheme;
  std::string_view module;
};

/// Schemes whose module has another name; `a+b` is always of the module `a`.
constexpr auto aliases = std::to_array<Alias>({
    {"rediss", "redis"},
    {"postgresql", "postgres"},
});

std::string_view module_of(std::string_view scheme) {
  auto const name = scheme.substr(0, scheme.find('+'));
  auto const* const alias = std::ranges::find(aliases, name, &Alias::scheme);
  return alias == aliases.end() ? name : alias->module;
}

[[noreturn]] void refuse(ErrorCode code, std::string_view scheme, std::string_view reason,
                         std::string_view hint) {
  throw EngineError(code, Outcome::not_applied, scheme, "load engine", reason, hint);
}

/// The file that this code was loaded from; empty when it is part of the program itself.
fs::path own_library() {
  static char const here = 0;
  Dl_info info{};
  link_map* map = nullptr;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the call wants a void**
  auto** const extra = reinterpret_cast<void**>(&map);
  if (::dladdr1(&here, &info, extra, RTLD_DL_LINKMAP) == 0 || map == nullptr) return {};
  return map->l_name;
}

/// Where modules are when nobody says otherwise. Follows the library or the program when the whole
/// tree is moved.
std::vector<fs::path> folders_beside_us() {
  std::error_code ignored;
  auto const library = own_library();
  if (!library.empty()) return {fs::canonical(library, ignored).parent_path() / "holt/engines"};
  auto const here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  auto const above = here.parent_path();
  return {above / "lib" / HOLT_MULTIARCH / "holt/engines", above / "lib/holt/engines",
          here / "lib/holt/engines"};
}

std::vector<fs::path> folders_in(std::string_view path) {
  std::vector<fs::path> folders;
  while (!path.empty()) {
    auto const end = std::min(path.find(':'), path.size());
    if (end > 0) folders.emplace_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return folders;
}

/// A set-user-ID program does not load what its caller names.
std::vector<fs::path> folders() {
  char const* const path = ::secure_getenv(path_variable);
  return path != nullptr && *path != '\0' ? folders_in(path) : folders_beside_us();
}

fs::path find_module(std::string_view scheme, std::string_view built_in) {
  auto const file = fmt::format("holt-engine-{}.so", scheme);
  std::vector<std::string> looked_in;
  for (auto const& folder : folders()) {
    std::error_code ignored;
    if (fs::exists(folder / file, ignored)) return folder / file;
    looked_in.push_back(folder.string());
  }
  refuse(ErrorCode::invalid_argument, scheme,
         fmt::format("this engine is not built in (that is {}), and there is no {} in {}", built_in,
                     file, fmt::join(looked_in, ", ")),
         fmt::format("install the package holt-engine-{}, or name the module's folder in {}",
                     scheme, path_variable));
}

/// Who may change the file, or put another one in its place, decides what runs here.
void check_trusted(fs::path const& path, mode_t forbidden, std::string_view scheme) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    refuse(ErrorCode::internal, scheme,
           fmt::format("cannot read {}: {}", path.string(), std::strerror(errno)), {});
  }
  bool const ours = status.st_uid == 0 || status.st_uid == ::geteuid();
  if (ours && (status.st_mode & forbidden) == 0) return;
  refuse(ErrorCode::auth_failed, scheme,
         ours ? fmt::format("{} can be written by other users", path.string())
              : fmt::format("{} belongs to another user", path.string()),
         ours ? fmt::format("chmod {} {}", forbidden == S_IWOTH ? "o-w" : "go-w", path.string())
              : fmt::format("chown root {}", path.string()));
}

EngineModule const& load(fs::path const& path, std::string_view scheme) {
  auto const reinstall = fmt::format("install holt-engine-{} of Holt " HOLT_VERSION, scheme);
  void* const loaded = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (loaded == nullptr) {
    refuse(ErrorCode::internal, scheme, fmt::format("cannot load {}", ::dlerror()), reinstall);
  }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what dlsym is for
  auto const answer =
      reinterpret_cast<EngineModuleFunction>(::dlsym(loaded, engine_module_function));
  if (answer == nullptr) {
    refuse(ErrorCode::internal, scheme,
           fmt::format("{} is no engine module: it has no function {}", path.string(),
                       engine_module_function),
           reinstall);
  }
  auto const& module = *answer();
  if (std::string_view(module.version) != HOLT_VERSION || module.asio != BOOST_ASIO_VERSION) {
    refuse(
        ErrorCode::internal, scheme,
        fmt::format("{} is of Holt {} with Asio {}, and this is Holt {} with Asio {}",
                    path.string(), module.version, module.asio, HOLT_VERSION, BOOST_ASIO_VERSION),
        reinstall);
  }
  return module;
}

}  // namespace

EngineModule const& module_for(std::string_view url_scheme, std::string_view built_in) {
  auto const scheme = module_of(url_scheme);
  auto const path = find_module(scheme, built_in);
  check_trusted(path, S_IWGRP | S_IWOTH, scheme);
  check_trusted(path.parent_path(), S_IWOTH, scheme);
  return load(path, scheme);
}

}  // namespace holt
