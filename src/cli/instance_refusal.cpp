// SPDX-License-Identifier: Apache-2.0
#include "cli/instance_refusal.hpp"

#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/text.hpp"

#include <holt/instance.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace holt::cli {
namespace {

constexpr std::string_view see_list = "holt list (to see active instances)";

/// Another name like it, which is one too.
std::string other_name(std::string const& name) {
  constexpr std::size_t longest = 61;
  return name.substr(0, longest) + "-2";
}

struct Words {
  std::string message;
  std::string ways_out;
};

Words name_taken(InstanceRefused const& refused) {
  auto const& name = refused.name;
  std::string message = "Instance name '" + name + "' is already in use";
  if (!refused.by.empty()) message += "\nIt is held by " + printable(refused.by);
  return {std::move(message), std::string(see_list) + "\nholt down --name " + name +
                                  " (to stop existing instance)\nholt up --name " +
                                  other_name(name) + " (to use a different name)"};
}

Words workspace_taken(InstanceRefused const& refused) {
  return {"workspace '" + printable(refused.workspace) + "' is already in use by instance '" +
              refused.by + "'\nUse --force to override this check, or run 'holt down --name " +
              refused.by + "' first",
          {}};
}

Words words_of(InstanceRefused const& refused) {
  auto const limit = std::to_string(refused.limit);
  switch (refused.why) {
    case InstanceRefused::Why::name_taken:
      return name_taken(refused);
    case InstanceRefused::Why::workspace_taken:
      return workspace_taken(refused);
    case InstanceRefused::Why::too_many:
      return {"there are " + limit + " instances in this store, and no more may be",
              std::string(see_list) + "\nholt down --name INSTANCE (to stop one)\n" +
                  "holt up --max-instances COUNT (to allow more)"};
    case InstanceRefused::Why::no_number:
      return {limit + " names default-N in a row are taken",
              "holt up --name INSTANCE (to choose one)\n" + std::string(see_list)};
    case InstanceRefused::Why::ending:
      return {"Instance '" + refused.name + "' is being stopped just now",
              "holt up --name " + refused.name + " (when holt list no longer shows it)"};
  }
  return {"refused", {}};
}

}  // namespace

void refuse(InstanceRefused const& refused) {
  auto words = words_of(refused);
  throw Failure(ExitCode::conflict, words.message, std::move(words.ways_out));
}

}  // namespace holt::cli
