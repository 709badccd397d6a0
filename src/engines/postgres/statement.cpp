// SPDX-License-Identifier: Apache-2.0
#include "engines/postgres/statement.hpp"

#include "base/text_hash.hpp"

#include <utility>

namespace holt::postgres {

Statement statement(std::string text) {
  return std::make_shared<StatementText const>(std::move(text), std::string());
}

Statement kept_statement(std::string text) {
  auto name = "holt_" + text_hash(text);
  return std::make_shared<StatementText const>(std::move(text), std::move(name));
}

}  // namespace holt::postgres
