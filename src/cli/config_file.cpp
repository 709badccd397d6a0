// SPDX-License-Identifier: Apache-2.0
// The only file that knows toml++, which is used from its headers: no library is linked.
#include "cli/config_file.hpp"

#include "cli/failure.hpp"
#include "cli/text.hpp"

#include <toml++/toml.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holt::cli {
namespace {

int line_of(toml::source_region const& region) { return static_cast<int>(region.begin.line); }

std::string at(std::string const& path, toml::source_region const& region) {
  return path + ':' + std::to_string(line_of(region)) + ": ";
}

class Reader {
 public:
  explicit Reader(std::string const& path) : path_(path) {}

  void read(toml::table const& table, std::string const& before) {
    for (auto&& [key, node] : table) {
      std::string_view const word = key.str();
      // A dot within a key is no table.
      bool const plain = word.find('.') == std::string_view::npos;
      auto const whole = before + (plain ? std::string(word) : in_quotes(word));
      if (auto const* const inner = node.as_table()) {
        read(*inner, whole + '.');
      } else {
        entries.push_back({whole, value_of(node, whole), line_of(key.source())});
      }
    }
  }

  std::vector<ConfigEntry> entries;

 private:
  [[nodiscard]] std::string value_of(toml::node const& node, std::string const& key) const {
    if (auto const* const text = node.as_string()) return text->get();
    if (auto const* const yes = node.as_boolean()) return yes->get() ? "true" : "false";
    if (auto const* const number = node.as_integer()) return std::to_string(number->get());
    throw UsageError(at(path_, node.source()) + printable(key) +
                         " must be a text, a whole number, true or false",
                     "texts and durations are written in quotes: ttl = \"30s\"");
  }

  std::string const& path_;
};

}  // namespace

std::vector<ConfigEntry> parse_config(std::string const& path, std::string_view text) {
  try {
    Reader reader(path);
    reader.read(toml::parse(text), {});
    return std::move(reader.entries);
  } catch (toml::parse_error const& error) {
    throw UsageError(
        at(path, error.source()) + "this is no TOML: " + printable(error.description()),
        "a setting is a line like ttl = \"30s\", below a line like [run] if it is a command's");
  }
}

}  // namespace holt::cli
