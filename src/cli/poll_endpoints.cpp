// SPDX-License-Identifier: Apache-2.0
// holt poll add, remove, pause and resume: endpoints in the store.

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/store.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"

#include <holt/name.hpp>
#include <holt/open.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace holt::cli {
namespace {

struct Change {
  std::string_view doing;  ///< "add endpoints to"
  std::string_view done;   ///< "added"
  std::string_view so;     ///< what is said of an endpoint of which that was not needed
  bool (*make)(Holt& holt, Name const& polling, std::string_view endpoint);
};

/// All of them, also when one was so already.
int change_endpoints(CommandLine& line, Change const& change) {
  std::string text;
  std::vector<std::string> words;
  StoreOptions store;
  line.word("POLLING", text);
  line.many_words("ENDPOINT", words);
  store.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  line.doing = std::string(change.doing) + " polling " + in_quotes(text);
  Name const polling(text);
  std::vector<Name> const endpoints(words.begin(), words.end());
  auto holt = store.open();
  std::size_t count = 0;
  for (auto const& endpoint : endpoints) {
    if (change.make(holt, polling, endpoint.text())) {
      ++count;
    } else {
      talk("endpoint " + in_quotes(endpoint.text()) + std::string(change.so));
    }
  }
  talk("polling " + in_quotes(text) + ": " + std::string(change.done) + ' ' +
       std::to_string(count) + " of " + std::to_string(endpoints.size()));
  return number(count == endpoints.size() ? ExitCode::ok : ExitCode::not_found);
}

int poll_add(CommandLine& line) {
  return change_endpoints(line, {.doing = "add endpoints to",
                                 .done = "added",
                                 .so = " is in the store already",
                                 .make = [](Holt& holt, Name const& polling, std::string_view id) {
                                   return holt.add_endpoint(polling, id);
                                 }});
}

int poll_remove(CommandLine& line) {
  return change_endpoints(line, {.doing = "remove endpoints from",
                                 .done = "removed",
                                 .so = " is not in the store",
                                 .make = [](Holt& holt, Name const& polling, std::string_view id) {
                                   return holt.remove_endpoint(polling, id);
                                 }});
}

int poll_pause(CommandLine& line) {
  return change_endpoints(line, {.doing = "pause endpoints of",
                                 .done = "paused",
                                 .so = " is paused already, or not in the store",
                                 .make = [](Holt& holt, Name const& polling, std::string_view id) {
                                   return holt.pause_endpoint(polling, id, true);
                                 }});
}

int poll_resume(CommandLine& line) {
  return change_endpoints(line, {.doing = "resume endpoints of",
                                 .done = "resumed",
                                 .so = " is not paused, or not in the store",
                                 .make = [](Holt& holt, Name const& polling, std::string_view id) {
                                   return holt.pause_endpoint(polling, id, false);
                                 }});
}

}  // namespace

constinit Command const poll_add_command{
    .words = "poll add",
    .synopsis = "POLLING ENDPOINT... [options]",
    .summary = "Put endpoints into the store, for holt poll --stored",
    .examples =
        "  holt poll add feeds https://example.org/feed.xml\n"
        "  xargs holt poll add feeds < feeds.txt\n",
    .details =
        "The nodes hear of it at once. Exit code 3: at least one was there already; the others\n"
        "are added.\n",
    .run = &poll_add,
    .guide = "poll",
};

constinit Command const poll_remove_command{
    .words = "poll remove",
    .synopsis = "POLLING ENDPOINT... [options]",
    .summary = "Take endpoints out of the store",
    .examples = "  holt poll remove feeds https://example.org/feed.xml\n",
    .details =
        "A poll that runs may end; no other starts. Exit code 3: at least one was not there; the\n"
        "others are removed.\n",
    .run = &poll_remove,
    .guide = "poll",
};

constinit Command const poll_pause_command{
    .words = "poll pause",
    .synopsis = "POLLING ENDPOINT... [options]",
    .summary = "Let nobody poll endpoints of the store for now",
    .examples = "  holt poll pause feeds https://example.org/feed.xml\n",
    .details =
        "A poll that runs may end; no other starts before holt poll resume. Exit code 3: at least\n"
        "one was paused already, or is not in the store; the others are paused.\n",
    .run = &poll_pause,
    .guide = "poll",
};

constinit Command const poll_resume_command{
    .words = "poll resume",
    .synopsis = "POLLING ENDPOINT... [options]",
    .summary = "Let endpoints that are paused be polled again",
    .examples = "  holt poll resume feeds https://example.org/feed.xml\n",
    .details =
        "Exit code 3: at least one was not paused, or is not in the store; the others are\n"
        "resumed.\n",
    .run = &poll_resume,
    .guide = "poll",
};

}  // namespace holt::cli
