// SPDX-License-Identifier: Apache-2.0
#pragma once
// The standard streams. Data goes to stdout, talk to stderr; neither goes through iostreams, whose
// start-up every command would pay for.

#include <string_view>

namespace holt::cli {

/// Makes sure that descriptors 0 to 2 are open, so that no file of ours becomes one of them.
void open_standard_streams() noexcept;

/// Writes data to stdout at once. Throws Failure when it cannot be written.
void write_data(std::string_view data);

/// Writes one line of talk to stderr, "holt: " before it. What cannot be written is dropped, and
/// passwords in URLs are hidden.
void talk(std::string_view line) noexcept;

/// The same for what went wrong: in red on a terminal.
void talk_of_trouble(std::string_view line) noexcept;

/// "Try: " and what a person could try next.
void talk_of_a_way_out(std::string_view line) noexcept;

/// The same without a word before it.
void talk_plainly(std::string_view line) noexcept;

/// Text with its line end, from a signal handler or where one may run: only system calls.
void talk_in_handler(std::string_view text) noexcept;

/// Shows a line on a terminal that is replaced by the next one; talk goes above it.
void show_line(std::string_view line) noexcept;
void clear_line() noexcept;

}  // namespace holt::cli
