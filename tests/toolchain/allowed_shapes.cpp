// SPDX-License-Identifier: Apache-2.0
// The await shapes that the house rules allow, under ASan and UBSan: each must be right with every
// compiler we build with. A shape that tools/house/awaits.py lets pass belongs here.

#include "task.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

using namespace std::chrono_literals;

namespace {

/// An options struct as the public API has them: it owns nothing.
struct Options {
  std::chrono::milliseconds ttl{0};
  std::string_view note;
  std::optional<int> slots;
};
static_assert(std::is_trivially_destructible_v<Options>);

/// A class that owns memory, but has a constructor: no aggregate.
class Name {
 public:
  explicit Name(std::string text) : text_(std::move(text)) {}
  [[nodiscard]] std::string const& text() const { return text_; }

 private:
  std::string text_;
};

struct Owning {
  std::string text;
};

Task<std::string> text() { co_return long_text(); }
Task<bool> with_options(Options o) { co_return o.ttl == 30s && o.note == "n" && !o.slots; }
Task<bool> with_name(Name name, Options) { co_return name.text() == long_text(); }
Task<bool> with_string(std::string text) { co_return text == long_text(); }
Task<bool> with_optional(std::optional<std::string> text) { co_return text == long_text(); }
Task<bool> with_owning(Owning owning) { co_return owning.text == long_text(); }
Task<bool> with_list(std::vector<std::string> list) { co_return list.size() == 2; }

template <class F>
Task<bool> with_function(F f) {
  co_return f() == long_text();
}

Task<bool> named_then_branched() {
  bool const yes = co_await is(true);
  if (yes) {
    int rounds = 0;
    for (;;) {
      bool const more = co_await is(rounds < 3);
      if (!more) break;
      ++rounds;
    }
    co_return rounds == 3;
  }
  co_return false;
}

Task<bool> named_then_switched() {
  int const chosen = co_await number(2);
  switch (chosen) {
    case 2: {
      std::string const result = co_await text();
      co_return result == long_text();
    }
    default:
      co_return false;
  }
}

Task<bool> alone_in_branches() {
  if (long_text().empty())
    co_await is(false);
  else
    co_await is(true);
  co_return true;
}

Task<bool> options_in_braces() { co_return co_await with_options({.ttl = 30s, .note = "n"}); }
Task<bool> name_and_options() { co_return co_await with_name(Name(long_text()), {.ttl = 1s}); }
Task<bool> string_temporary() { co_return co_await with_string(long_text()); }
Task<bool> optional_temporary() { co_return co_await with_optional(long_text()); }
Task<bool> lambda_without_captures() {
  co_return co_await with_function([] { return long_text(); });
}

Task<bool> owning_named_first() {
  Owning owning{.text = long_text()};
  co_return co_await with_owning(std::move(owning));
}

Task<bool> list_named_first() {
  std::vector<std::string> list{"a", long_text()};
  co_return co_await with_list(std::move(list));
}

Task<bool> operation_named_first() {
  std::string const captured = long_text();
  auto operation = with_function([captured] { return captured; });
  co_return co_await std::move(operation);
}

Task<bool> assigned_to_a_member() {
  Owning owning;
  owning.text = co_await text();
  co_return owning.text == long_text();
}

struct Case {
  char const* name;
  Task<bool> (*shape)();
};

constexpr Case cases[] = {
    {"named_then_branched", named_then_branched},
    {"named_then_switched", named_then_switched},
    {"alone_in_branches", alone_in_branches},
    {"options_in_braces", options_in_braces},
    {"name_and_options", name_and_options},
    {"string_temporary", string_temporary},
    {"optional_temporary", optional_temporary},
    {"lambda_without_captures", lambda_without_captures},
    {"owning_named_first", owning_named_first},
    {"list_named_first", list_named_first},
    {"operation_named_first", operation_named_first},
    {"assigned_to_a_member", assigned_to_a_member},
};

}  // namespace

int main() {
  int failures = 0;
  for (auto const& [name, shape] : cases) {
    std::printf("%s\n", name);
    std::fflush(stdout);
    failures += run(shape());
  }
  return failures;
}
