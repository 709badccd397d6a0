// SPDX-License-Identifier: Apache-2.0
#include "cli/output.hpp"

#include "cli/color.hpp"
#include "cli/command_line.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace holt::cli {
namespace {

/// In the order of enum Output.
constexpr std::array<std::string_view, 4> forms{"table", "json", "ndjson", "name"};

boost::json::object json_of(Record const& record);

void put(boost::json::value& target, auto const& value) { target = value; }

void put(boost::json::value& target, std::vector<Record> const& records) {
  auto& array = target.emplace_array();
  for (auto const& record : records) array.emplace_back(json_of(record));
}

boost::json::object json_of(Record const& record) {
  boost::json::object object;
  for (auto const& field : record) {
    std::visit([&](auto const& value) { put(object[field.key], value); }, field.value);
  }
  return object;
}

std::string name_of(Record const& record) { return std::get<std::string>(record.front().value); }

std::string without_spaces_at_the_end(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string fields_table(Record const& record) {
  std::size_t width = 0;
  for (auto const& field : record) width = std::max(width, field.label.size());
  std::string table;
  for (auto const& field : record) {
    if (field.label.empty() || field.text.empty()) continue;
    table += padded(field.label, width + 2) + field.text + '\n';
  }
  return table;
}

std::string upper_case(std::string_view label) {
  std::string text(label);
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

std::string records_table(std::vector<Record> const& records) {
  if (records.empty()) return {};
  std::vector<std::vector<std::string>> lines(records.size() + 1);
  for (auto const& field : records.front()) {
    if (!field.label.empty()) lines[0].push_back(upper_case(field.label));
  }
  for (std::size_t i = 0; i < records.size(); ++i) {
    for (auto const& field : records[i]) {
      if (!field.label.empty()) lines[i + 1].push_back(field.text);
    }
  }
  std::vector<std::size_t> widths(lines[0].size());
  for (auto const& line : lines) {
    for (std::size_t c = 0; c < widths.size(); ++c) {
      widths[c] = std::max(widths[c], columns(line[c]));
    }
  }
  std::string table;
  for (auto const& line : lines) {
    std::string row;
    for (std::size_t c = 0; c < widths.size(); ++c) row += padded(line[c], widths[c] + 2);
    row = without_spaces_at_the_end(std::move(row));
    table += &line == &lines.front() ? styled(Style::bold, row, STDOUT_FILENO) : row;
    table += '\n';
  }
  return table;
}

std::string json_array(std::vector<Record> const& records) {
  if (records.empty()) return "[]\n";
  std::string text = "[\n";
  for (auto const& record : records) {
    text += "  " + boost::json::serialize(json_of(record));
    text += &record == &records.back() ? "\n" : ",\n";
  }
  return text + "]\n";
}

}  // namespace

void OutputOption::declare(CommandLine& line) {
  line.choice("-o,--output", "FORM", forms, text_, "table (the default), json, ndjson or name",
              CommandLine::Scope::shared);
}

Output OutputOption::form() const noexcept {
  auto const form = std::ranges::find(forms, text_.value_or("table"));
  return static_cast<Output>(form - forms.begin());
}

void write_record(Output form, Record const& record) {
  switch (form) {
    case Output::table:
      return write_data(fields_table(record));
    case Output::json:
    case Output::ndjson:
      return write_data(boost::json::serialize(json_of(record)) + '\n');
    case Output::name:
      return write_data(name_of(record) + '\n');
  }
}

void write_records(Output form, std::vector<Record> const& records) {
  if (form == Output::table) return write_data(records_table(records));
  if (form == Output::json) return write_data(json_array(records));
  std::string lines;
  for (auto const& record : records) {
    lines += form == Output::name ? name_of(record) : boost::json::serialize(json_of(record));
    lines += '\n';
  }
  write_data(lines);
}

}  // namespace holt::cli
