// SPDX-License-Identifier: Apache-2.0
#include "cli/program.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>

namespace holt::cli {
namespace {

int look_at(std::string const& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return errno;
  if (S_ISDIR(info.st_mode)) return EACCES;
  return ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

}  // namespace

int look_up_program(std::string const& word) {
  if (word.empty()) return ENOENT;
  if (word.find('/') != std::string::npos) return look_at(word);
  auto const* const set = std::getenv("PATH");
  std::string_view const path = set == nullptr ? "/bin:/usr/bin" : set;
  int error = ENOENT;
  for (std::size_t at = 0; at <= path.size();) {
    auto const end = std::min(path.find(':', at), path.size());
    std::string folder(path.substr(at, end - at));  // empty: the current one
    if (!folder.empty()) folder += '/';
    auto const found = look_at(folder + word);
    if (found == 0) return 0;
    if (found == EACCES) error = EACCES;  // there may be another further on
    at = end + 1;
  }
  return error;
}

}  // namespace holt::cli
