// SPDX-License-Identifier: Apache-2.0
#include "cli/candidates.hpp"

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/flag.hpp"
#include "cli/help.hpp"
#include "cli/store.hpp"

#include <holt/instance.hpp>
#include <holt/open.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holt::cli {
namespace {

constexpr std::uint32_t most_names = 200;
constexpr std::chrono::milliseconds patience{300};

using Words = std::vector<std::string>;

Flag const* find_flag(std::vector<Flag> const& flags, std::string_view word) {
  auto const found = std::ranges::find_if(flags, [=](Flag const& f) { return f.is_named(word); });
  return found == flags.end() ? nullptr : &*found;
}

/// Walks over the words of a line up to the one that is completed.
class Line {
 public:
  explicit Line(Words const& words) : words_(words), last_(words.back()) {}

  Candidates complete() {
    auto const shared = shared_flags();
    std::size_t at = 0;
    while (at + 1 < words_.size() && words_[at].starts_with('-')) at += size_of(shared, at);
    if (at >= words_.size()) {
      complete_value(*find_flag(shared, words_[words_.size() - 2]), "");
    } else if (at + 1 == words_.size()) {
      if (!complete_flag(shared)) add_commands({});
    } else {
      complete_command(at);
    }
    return std::move(result_);
  }

 private:
  /// How many words the flag at this place takes.
  [[nodiscard]] std::size_t size_of(std::vector<Flag> const& flags, std::size_t at) const {
    auto const* const flag = find_flag(flags, words_[at]);
    return flag != nullptr && flag->takes_value() ? 2 : 1;
  }

  void complete_command(std::size_t at) {
    auto const& name = words_[at++];
    auto const* command = find_command(name);
    if (is_group(name)) {
      if (at + 1 == words_.size() && !last_.starts_with('-')) {
        add_commands(name);
        if (command == nullptr) return;
      } else if (auto const* const both = find_command(name + ' ' + words_[at]);
                 both != nullptr || command == nullptr) {
        command = both;
        ++at;
      }
    }
    if (command == nullptr || command->hidden) return;
    complete_arguments(declared(*command), at);
  }

  void complete_arguments(Declared const& known, std::size_t at) {
    std::vector<std::string> plain;
    bool const runs_rest = known.runs_command && !known.needs_dashes;
    bool only_words = false;
    while (at + 1 < words_.size()) {
      bool const is_flag = !only_words && words_[at].size() > 1 && words_[at].starts_with('-');
      if (is_flag && words_[at] == "--") {
        if (known.needs_dashes) {
          result_.command_at = at + 1;
          return;
        }
        only_words = true;
        ++at;
      } else if (is_flag) {
        at += size_of(known.flags, at);
      } else if (runs_rest && plain.size() == known.words.size()) {
        result_.command_at = at;
        return;
      } else {
        plain.push_back(words_[at++]);
      }
    }
    if (at >= words_.size()) {
      return complete_value(*find_flag(known.flags, words_[words_.size() - 2]), "");
    }
    if (!only_words && complete_flag(known.flags)) return;
    if (plain.size() < known.words.size()) {
      complete_word(known.words[plain.size()], plain);
    } else if (!known.words.empty() && known.words.back().many) {
      complete_word(known.words.back(), plain);
    } else if (runs_rest) {
      result_.command_at = at;
    }
  }

  /// True when the last word is one.
  bool complete_flag(std::vector<Flag> const& flags) {
    if (!last_.starts_with('-')) return false;
    if (auto const equals = last_.find('='); equals != std::string::npos) {
      auto const* const flag = find_flag(flags, last_.substr(0, equals));
      if (flag != nullptr) complete_value(*flag, last_.substr(0, equals + 1));
      return true;
    }
    for (auto const& flag : flags) {
      bool const is_given = std::ranges::find(words_, flag.long_name()) < words_.end() - 1;
      if (!is_given) add(flag.long_name(), flag.help);
    }
    return true;
  }

  void complete_value(Flag const& flag, std::string const& before) {
    for (auto const choice : flag.choices) add(before + std::string(choice), {});
    if (flag.placeholder == "NAME") add_names(before);
    if (flag.placeholder == "INSTANCE") add_instances(before);
  }

  void complete_word(DeclaredWord const& word, std::vector<std::string> const& plain) {
    for (auto const choice : word.choices) add(choice, {});
    if (word.placeholder == "NAME" || word.placeholder == "PREFIX") add_names({});
    if (word.placeholder == "ELECTION") add_elections();
    if (word.placeholder == "POLLING") add_pollings();
    if (word.placeholder == "ENDPOINT") add_endpoints(plain);
    if (word.placeholder == "TASK") add_tasks();
    if (word.placeholder == "COMMAND") add_commands({});
    if (word.placeholder == "SUBCOMMAND" && is_group(plain.back())) add_commands(plain.back());
  }

  void add_commands(std::string_view group) {
    for (auto const word : known_words(group)) {
      auto const* const command = find_command(
          group.empty() ? std::string(word) : std::string(group) + ' ' + std::string(word));
      add(word, command == nullptr ? group_summary(word) : command->summary);
    }
  }

  /// The store that the line is about, if it opens at once.
  [[nodiscard]] std::optional<StoreOptions::Opening> opening() const {
    StoreOptions store;
    CommandLine line(lock_list_command, store_words());
    store.declare(line);
    if (!line.parse()) return std::nullopt;
    return store.opening_quickly(patience);
  }

  [[nodiscard]] std::optional<Holt> open_store() const {
    auto found = opening();
    if (!found) return std::nullopt;
    return holt::open(found->url, std::move(found->options));
  }

  void add_instances(std::string const& before) {
    auto found = opening();
    if (!found) return;
    auto instances = open_instances(found->url, std::move(found->options));
    for (auto const& instance : instances.list()) add(before + instance.name, {});
  }

  void add_elections() {
    auto holt = open_store();
    if (!holt) return;
    for (auto const& leader : holt->leaders(last_, {}, most_names)) add(leader.election.text(), {});
  }

  /// Those that somebody takes part in.
  void add_pollings() {
    auto holt = open_store();
    if (!holt) return;
    std::string before;
    for (auto const& node : holt->nodes()) {
      if (std::exchange(before, node.polling) != node.polling) add(node.polling, {});
    }
  }

  /// Those of the polling that stands before them, but for those that stand there too.
  void add_endpoints(std::vector<std::string> const& plain) {
    auto holt = open_store();
    if (!holt) return;
    for (auto const& endpoint : holt->endpoints(plain.front())) {
      if (std::ranges::find(plain, endpoint.endpoint) == plain.end()) add(endpoint.endpoint, {});
    }
  }

  /// Of a queue whose name and slash are there already.
  void add_tasks() {
    auto const slash = last_.find('/');
    auto holt = slash == std::string::npos ? std::nullopt : open_store();
    if (!holt) return;
    auto queue = holt->queue(last_.substr(0, slash));
    for (auto const& task : queue.list({}, {}, most_names).tasks) add(task.id.text(), {});
  }

  /// Names of locks.
  void add_names(std::string const& before) {
    auto holt = open_store();
    if (!holt) return;
    auto const prefix = std::string_view(last_).substr(before.size());
    for (auto const& lease : holt->list(prefix, {}, most_names).leases) {
      add(before + lease.name.text(), {});
    }
  }

  [[nodiscard]] Words store_words() const {
    Words kept;
    for (std::size_t i = 0; i + 1 < words_.size() && words_[i] != "--"; ++i) {
      for (std::string const flag : {"--store", "--instance"}) {
        if (words_[i].starts_with(flag + '=')) kept.push_back(words_[i]);
        if (words_[i] == flag && i + 2 < words_.size()) {
          kept.insert(kept.end(), {words_[i], words_[i + 1]});
        }
      }
    }
    return kept;
  }

  void add(std::string_view word, std::string_view help) {
    if (word.starts_with(last_)) result_.all.push_back({std::string(word), help});
  }

  Words const& words_;
  std::string const& last_;
  Candidates result_;
};

}  // namespace

Candidates candidates(Words const& words) {
  return words.empty() ? Candidates() : Line(words).complete();
}

}  // namespace holt::cli
