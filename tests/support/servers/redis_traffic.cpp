// SPDX-License-Identifier: Apache-2.0
#include "support/servers/redis_traffic.hpp"

#include <charconv>
#include <iterator>
#include <optional>
#include <stdexcept>

namespace holt::test {
namespace {

/// Reads commands off the front of `rest`; nothing is taken when it does not hold a whole one.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::optional<std::vector<std::string>> command() {
    auto const count = number('*');
    if (!count) return std::nullopt;
    std::vector<std::string> words;
    for (std::size_t i = 0; i < *count; ++i) {
      auto const size = number('$');
      if (!size || rest_.size() < *size + 2) return std::nullopt;
      words.emplace_back(rest_.substr(0, *size));
      rest_.remove_prefix(*size + 2);
    }
    return words;
  }

 private:
  /// "*3\r\n" -> 3
  std::optional<std::size_t> number(char mark) {
    if (rest_.empty()) return std::nullopt;
    if (rest_.front() != mark) throw std::runtime_error("no Redis command: " + std::string(rest_));
    auto const end = rest_.find("\r\n");
    if (end == std::string_view::npos) return std::nullopt;
    std::size_t value = 0;
    auto const* last = rest_.data() + end;
    if (std::from_chars(rest_.data() + 1, last, value).ptr != last) {
      throw std::runtime_error("no Redis command: " + std::string(rest_));
    }
    rest_.remove_prefix(end + 2);
    return value;
  }

  std::string_view rest_;
};

}  // namespace

std::vector<std::vector<std::string>> commands_in(std::string_view bytes) {
  std::vector<std::vector<std::string>> commands;
  Reader reader(bytes);
  while (auto command = reader.command()) commands.push_back(std::move(*command));
  return commands;
}

std::vector<std::vector<std::string>> commands_sent(TcpProxy const& proxy) {
  std::vector<std::vector<std::string>> all;
  for (auto const& bytes : proxy.recorded(Way::to_server)) {
    auto commands = commands_in(bytes);
    all.insert(all.end(), std::move_iterator(commands.begin()), std::move_iterator(commands.end()));
  }
  return all;
}

}  // namespace holt::test
