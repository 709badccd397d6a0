// SPDX-License-Identifier: Apache-2.0
#include "cli/flag.hpp"

#include "cli/command_line.hpp"

#include <string>
#include <string_view>

namespace holt::cli {
namespace {

/// The command's words and the flag's, with `between` where there was a space.
std::string joined(Command const& command, Flag const& flag, char between) {
  std::string text;
  if (flag.scope == Flag::Scope::command) {
    for (char const c : command.words) text += c == ' ' ? between : c;
    text += between;
  }
  return text.append(flag.long_name().substr(2));
}

}  // namespace

std::string variable_name(Command const& command, Flag const& flag) {
  if (flag.scope == Flag::Scope::none) return {};
  std::string text = "HOLT_";
  for (char const c : joined(command, flag, '_')) {
    text += c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return text;
}

std::string key_name(Command const& command, Flag const& flag) {
  return flag.scope == Flag::Scope::none ? std::string() : joined(command, flag, '.');
}

}  // namespace holt::cli
