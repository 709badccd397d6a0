// SPDX-License-Identifier: Apache-2.0
#include "cli/endpoint_list.hpp"

#include "cli/descriptor.hpp"
#include "cli/failure.hpp"
#include "cli/text.hpp"

#include <holt/name.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace holt::cli {
namespace {

std::string title_of(std::string const& file) {
  return file == "-" ? "standard input" : in_quotes(file);
}

[[noreturn]] void refuse(std::string const& file) {
  throw UsageError("cannot read the endpoints from " + title_of(file) + ": " +
                   std::system_category().message(errno));
}

std::string text_of(std::string const& file) {
  Descriptor opened;
  if (file != "-") opened = Descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (file != "-" && !opened.is_open()) refuse(file);
  int const fd = file == "-" ? STDIN_FILENO : opened.get();
  std::string text;
  std::array<char, 16'384> part{};
  while (true) {
    auto const count = ::read(fd, part.data(), part.size());
    if (count == 0) return text;
    if (count > 0) text.append(part.data(), static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) refuse(file);
  }
}

std::string_view without_spaces_around(std::string_view line) {
  constexpr std::string_view spaces = " \t\r";
  auto const first = line.find_first_not_of(spaces);
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(spaces) - first + 1);
}

}  // namespace

std::vector<std::string> read_endpoints(std::string const& file) {
  std::vector<std::string> endpoints;
  auto const text = text_of(file);
  std::string_view rest = text;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    auto const end = rest.find('\n');
    auto const line = without_spaces_around(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line.empty() || line.front() == '#') continue;
    auto const name = Name::parse(line);
    if (!name) {
      throw UsageError("line " + std::to_string(number) + " of " + title_of(file) + ": " +
                       name.error());
    }
    endpoints.push_back(name->text());
  }
  return endpoints;
}

}  // namespace holt::cli
