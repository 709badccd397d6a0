// SPDX-License-Identifier: Apache-2.0
#include "cli/manual.hpp"

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/flag.hpp"
#include "cli/help.hpp"
#include "cli/prose.hpp"

#include <holt/open.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace holt::cli {
namespace {

/// Text that roff shows as it is.
std::string escaped(std::string_view text) {
  std::string result;
  bool line_starts = true;
  for (char const c : text) {
    if (line_starts && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
    line_starts = c == '\n';
  }
  return result;
}

std::string verbatim(std::string_view text) {
  return ".nf\n.RS 4\n" + escaped(text) + ".RE\n.fi\n";
}

/// Examples stand two columns to the right in --help.
std::string examples(std::string_view text) {
  std::string lines;
  for (auto const& block : blocks(text)) lines += block.text;
  return lines;
}

std::string section(std::string_view title) { return ".SH " + std::string(title) + '\n'; }

std::string as_roff(std::string_view text) {
  std::string page;
  bool first = true;
  for (auto const& block : blocks(text)) {
    switch (block.kind) {
      case Block::Kind::heading:
        page += ".SS " + escaped(block.text) + '\n';
        break;
      case Block::Kind::item:
        page += ".IP \\(bu 3\n" + escaped(block.text) + '\n';
        break;
      case Block::Kind::verbatim:
        page += verbatim(block.text);
        break;
      case Block::Kind::paragraph:
        page += (first ? "" : ".PP\n") + escaped(block.text) + '\n';
        break;
    }
    first = block.kind == Block::Kind::heading;
  }
  return page;
}

std::string head(std::string const& name, std::string_view summary) {
  std::string upper = name;
  std::ranges::transform(upper, upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  auto const version = holt::version().substr(0, holt::version().rfind('.'));
  return ".\\\" SPDX-License-Identifier: Apache-2.0\n"
         ".\\\" Made from src/cli by `holt __docs docs`; a change belongs there.\n"
         ".TH " +
         escaped(upper) + " 1 \"\" \"Holt " + std::string(version) + "\" \"Holt\"\n" +
         section("NAME") + escaped(name) + " \\- " + escaped(summary) + '\n';
}

/// "-o, --output FORM" in the fonts of a manual page.
std::string flag_line(Flag const& flag) {
  auto names = std::string(flag.names);
  if (auto const comma = names.find(','); comma != std::string::npos) names.insert(comma + 1, " ");
  std::string line = "\\fB" + escaped(names) + "\\fP";
  if (flag.takes_value()) line += " \\fI" + escaped(flag.placeholder) + "\\fP";
  return line;
}

std::string options(Command const& command) {
  std::string page = section("OPTIONS");
  for (auto const& flag : declared(command).flags) {
    page += ".TP\n" + flag_line(flag) + '\n' + escaped(flag.help) + '\n';
    auto const variable = variable_name(command, flag);
    if (variable.empty()) continue;
    page += ".br\n" + escaped(variable) + ", " + escaped(key_name(command, flag)) + " in a file\n";
  }
  return page;
}

template <class Meanings>
std::string exit_codes(Meanings const& meanings) {
  std::string page;
  for (auto const& [code, meaning] : meanings) {
    page += ".TP\n.B " + std::to_string(number(code)) + '\n' + escaped(meaning) + '\n';
  }
  return page;
}

std::string exit_section(bool runs_child, bool runs_many = false) {
  if (runs_many) {
    return section("EXIT STATUS") + exit_codes(many_exit_meanings) +
           ".PP\nA second signal ends it at once, with 128 and its number.\n";
  }
  auto const run =
      "That of the command, or 128 and the number of the signal that killed it, or:\n" +
      exit_codes(run_exit_meanings);
  if (runs_child) return section("EXIT STATUS") + run;
  return section("EXIT STATUS") + exit_codes(exit_meanings) +
         ".PP\nAnother signal than that of Ctrl\\-C gives 128 and its number.\n";
}

std::string usage(Command const& command) {
  std::string line = "holt " + std::string(command.words);
  if (!command.synopsis.empty()) line.append(" ").append(command.synopsis);
  return line;
}

std::vector<Command const*> shown_commands() {
  std::vector<Command const*> shown;
  std::ranges::copy_if(all_commands(), std::back_inserter(shown),
                       [](Command const* command) { return !command->hidden; });
  return shown;
}

std::string synopsis_line(Command const& command) {
  return "\\fBholt " + escaped(command.words) + "\\fP " + escaped(command.synopsis) + '\n';
}

}  // namespace

std::string page_name(Command const& command) {
  auto name = "holt-" + std::string(command.words);
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string manual_page() {
  auto page = head("holt", "coordinate replicas on the database they already run");
  page += section("SYNOPSIS");
  for (auto const* const command : shown_commands()) page += synopsis_line(*command) + ".br\n";
  page += section("EXAMPLES") + verbatim(examples(group_examples({})));
  page += section("DESCRIPTION") + as_roff(manual_description) + section("COMMANDS");
  for (auto const* const command : shown_commands()) {
    page +=
        ".TP\n.BR " + escaped(page_name(*command)) + " (1)\n" + escaped(command->summary) + '\n';
  }
  page += section("SETTINGS") + as_roff(manual_notes) + exit_section(false);
  page +=
      ".PP\n.B holt run\nends with:\n" + exit_section(true).substr(section("EXIT STATUS").size());
  return page + section("SEE ALSO") + ".BR flock (1),\n.BR timeout (1)\n";
}

std::string manual_page(Command const& command) {
  auto page = head(page_name(command), command.summary);
  page += section("SYNOPSIS") + synopsis_line(command);
  page += section("EXAMPLES") + verbatim(examples(command.examples));
  if (!command.details.empty() || !command.manual.empty()) {
    page += section("DESCRIPTION") + as_roff(command.details);
    if (!command.manual.empty()) page += ".PP\n" + as_roff(command.manual);
  }
  page += options(command) + exit_section(command.runs_child, command.runs_many);
  return page + section("SEE ALSO") + ".BR holt (1)\n";
}

namespace {

std::string as_markdown(std::string_view text) {
  std::string page;
  for (auto const& block : blocks(text)) {
    bool const in_list = block.kind == Block::Kind::item;
    if (!in_list || !page.ends_with("\n") || page.find("\n- ") == std::string::npos) page += '\n';
    switch (block.kind) {
      case Block::Kind::heading:
        page += "### " + block.text + '\n';
        break;
      case Block::Kind::item:
        page += "- " + block.text + '\n';
        break;
      case Block::Kind::verbatim:
        page += "```\n" + block.text + "```\n";
        break;
      case Block::Kind::paragraph:
        page += block.text + '\n';
        break;
    }
  }
  return page;
}

std::string options_table(Command const& command) {
  std::string table = "\n| flag | what | variable | in a file |\n| --- | --- | --- | --- |\n";
  auto const code = [](std::string const& text) {
    return text.empty() ? std::string() : '`' + text + '`';
  };
  for (auto const& flag : declared(command).flags) {
    std::string name(flag.names);
    if (auto const comma = name.find(','); comma != std::string::npos) name.insert(comma + 1, " ");
    if (flag.takes_value()) name.append(" ").append(flag.placeholder);
    table += "| `" + name + "` | " + std::string(flag.help) + " | " +
             code(variable_name(command, flag)) + " | " + code(key_name(command, flag)) + " |\n";
  }
  return table;
}

}  // namespace

namespace {

/// The page that somebody has written about the command, with use cases and an example.
std::string guide(Command const& command) {
  std::string name(command.guide.empty() ? command.words : command.guide);
  std::ranges::replace(name, ' ', '-');
  return "commands/" + name + ".md";
}

std::string index_of_commands() {
  std::string table = "\n| command | what | its flags |\n| --- | --- | --- |\n";
  for (auto const* const command : shown_commands()) {
    table += "| [`holt " + std::string(command->words) + "`](" + guide(*command) + ") | " +
             std::string(command->summary) + " | [flags](#" + page_name(*command) + ") |\n";
  }
  return table;
}

}  // namespace

std::string command_reference() {
  std::string page =
      "<!-- Made from src/cli by `holt __docs docs`; a change belongs there. -->\n"
      "# Commands\n\nEach has a page with what it is for and an example; below is what `holt "
      "COMMAND "
      "--help` says, and more. [Configuration](configuration.md) says how variables and files "
      "work.\n" +
      index_of_commands();
  for (auto const* const command : shown_commands()) {
    page += "\n## holt " + std::string(command->words) + "\n\n" + std::string(command->summary) +
            ". [Use cases, an example](" + guide(*command) + ").\n\n```sh\n" + usage(*command) +
            "\n```\n\n```sh\n";
    page += examples(command->examples) + "```\n" + options_table(*command) +
            as_markdown(command->details) + as_markdown(command->manual);
  }
  return page;
}

}  // namespace holt::cli
