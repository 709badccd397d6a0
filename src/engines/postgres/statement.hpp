// SPDX-License-Identifier: Apache-2.0
#pragma once
// The text of a statement, shared by all calls of it, and whether connections keep it prepared.

#include <memory>
#include <string>

namespace holt::postgres {

struct StatementText {
  std::string text;
  std::string name;  ///< under which a connection keeps it; empty: it is sent whole each time
};
using Statement = std::shared_ptr<StatementText const>;

/// One that is sent whole each time: planned by what the tables are like then.
[[nodiscard]] Statement statement(std::string text);

/// One that is parsed once on each connection, and planned some five times. For calls of functions,
/// whose statements say themselves how they are to be planned (migrations/*.sql): a plan that is
/// kept of a table's statement may be one that was good for the table when it was empty. All its
/// parameters say their types. The name is made of the text: wherever it is found, it means this.
[[nodiscard]] Statement kept_statement(std::string text);

}  // namespace holt::postgres
