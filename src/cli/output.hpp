// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a command answers, in the form the user asks for with -o: a table for people, JSON and JSON
// lines for programs, bare names for xargs. JSON keys are only ever added.

#include "cli/command_line.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace holt::cli {

enum class Output { table, json, ndjson, name };

/// One value of an answer, for programs and for people.
struct Field {
  std::string_view key;    ///< in JSON: snake_case, unit last
  std::string_view label;  ///< in a table; empty: not shown there
  std::variant<std::string, std::int64_t, bool, std::vector<std::vector<Field>>> value;
  std::string text;  ///< in a table
};

/// The first field is what -o name prints.
using Record = std::vector<Field>;

/// The -o option of a command.
class OutputOption {
 public:
  void declare(CommandLine& line);

  [[nodiscard]] Output form() const noexcept;

 private:
  std::optional<std::string> text_;
};

/// Writes one record: a table has a line per field.
void write_record(Output form, Record const& record);

/// Writes many: a table has a line per record, below a line of labels.
void write_records(Output form, std::vector<Record> const& records);

}  // namespace holt::cli
