// SPDX-License-Identifier: Apache-2.0
#include "cli/store_url.hpp"

#include "cli/descriptor.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/secret.hpp"
#include "cli/setting.hpp"
#include "cli/text.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace holt::cli {
namespace {

constexpr std::size_t longest_url = 4096;

/// One line, read byte by byte: what follows it belongs to others.
std::string read_line(int fd, std::string const& from) {
  std::string line;
  char byte = 0;
  while (line.size() < longest_url) {
    auto const count = ::read(fd, &byte, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      throw Failure(ExitCode::failed, "cannot read the store's URL from " + from + ": " +
                                          std::system_category().message(errno));
    }
    if (count == 0 || byte == '\n') break;
    line += byte;
  }
  line.erase(line.find_last_not_of(" \t\r") + 1);
  if (line.empty()) throw UsageError("there is no URL of a store in " + from);
  return line;
}

/// As libpq has it for its passwords: nobody but the owner; root's may be readable by a group.
void refuse_readable_by_others(struct stat const& info, std::string const& path) {
  mode_t const forbidden = info.st_uid == 0 ? S_IRWXO : (S_IRWXO | S_IRWXG);
  if ((info.st_mode & forbidden) == 0) return;
  throw UsageError(
      "others can read " + path + ", which has the URL of a store: its password would be no secret",
      "chmod 600 " + as_argument(path));
}

std::string from_file(std::string const& path) {
  Descriptor const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file.is_open()) {
    throw Failure(ExitCode::failed, "cannot read the store's URL from " + printable(path) + ": " +
                                        std::system_category().message(errno));
  }
  struct stat info{};
  ::fstat(file.get(), &info);
  refuse_readable_by_others(info, path);
  return read_line(file.get(), path);
}

std::string percent_encoded(std::string_view path) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string text;
  for (char const c : path) {
    auto const byte = static_cast<unsigned char>(c);
    if (byte > ' ' && c != '%' && c != '?' && c != '#') {
      text += c;
    } else {
      text += {'%', digits[byte >> 4U], digits[byte & 15U]};
    }
  }
  return text;
}

bool is_relative(std::string_view path) {
  return !path.empty() && path.find_first_of("/~?") != 0 && path != ":memory:";
}

/// `sqlite:app.db` and `./app.db` in a file mean the same wherever a command is run.
std::string beside(std::string const& file, std::string const& url) {
  auto const folder = std::filesystem::absolute(file).parent_path().string();
  auto const colon = url.find(':');
  if (colon != std::string::npos && url.find_first_of("/.~") > colon) {
    auto const rest = std::string_view(url).substr(colon + 1);
    if (!is_relative(rest)) return url;
    return url.substr(0, colon + 1) + percent_encoded(folder) + '/' + std::string(rest);
  }
  bool const is_path = url.find_first_of("/.") != std::string::npos;
  return is_path && is_relative(url) ? folder + '/' + url : url;
}

std::string from_configuration(Setting const& store) {
  auto const& file = store.origin.place;
  if (store.value == "-") {
    throw UsageError(store.origin.text() + ": a store on standard input (-) can only be given as " +
                     "--store or HOLT_STORE");
  }
  if (store.value.starts_with('@')) {
    auto const path = std::filesystem::absolute(file).parent_path() / store.value.substr(1);
    return from_file(path.string());
  }
  if (has_password(store.value)) {
    struct stat info{};
    if (::stat(file.c_str(), &info) == 0) refuse_readable_by_others(info, file);
  }
  return beside(file, store.value);
}

}  // namespace

std::string store_url(Setting const& store) {
  if (store.value.empty()) {
    throw UsageError(store.origin.text() + " is empty; give a URL, or leave it out");
  }
  if (store.origin.in_file()) return from_configuration(store);
  if (store.value == "-") return read_line(STDIN_FILENO, "standard input");
  if (store.value.starts_with('@')) return from_file(store.value.substr(1));
  if (store.origin.kind == Origin::Kind::flag && has_password(store.value)) {
    throw UsageError(
        "--store has a password in it, which every user of this machine could read in the list of "
        "processes",
        "--store @FILE with the URL in a file of mode 600, or --store - with it on standard input");
  }
  return store.value;
}

}  // namespace holt::cli
