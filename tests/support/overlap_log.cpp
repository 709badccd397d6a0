// SPDX-License-Identifier: Apache-2.0
#include "support/overlap_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace holt::test {
namespace {

/// One tenure as the log tells it, times in ns.
struct Span {
  std::string holder;
  std::uint64_t fence = 0;
  std::int64_t entered = 0;
  std::int64_t believed = 0;  ///< the latest moment noted
  bool trusts = false;        ///< deadlines are noted
  std::optional<std::int64_t> left;
  std::optional<std::int64_t> lost;  ///< when it noticed

  [[nodiscard]] std::int64_t end() const {
    if (left && !trusts) return *left;
    return std::min({believed, left.value_or(believed), lost.value_or(believed)});
  }
};

std::string told(Span const& span) {
  return span.holder + " (fence " + std::to_string(span.fence) + ", " +
         std::to_string(span.entered) + " to " + std::to_string(span.end()) + " ns)";
}

using Spans = std::map<std::string, std::vector<Span>>;  ///< by name

void add_line(Spans& spans, std::string const& line) {
  std::istringstream words(line);
  std::string what;
  std::string name;
  Span seen;
  std::int64_t at = 0;
  std::int64_t until = 0;
  if (!(words >> what >> name >> seen.fence >> seen.holder >> at >> until)) {
    throw std::runtime_error("overlap log: cannot read the line '" + line + "'");
  }
  auto& of_name = spans[name];
  if (what == "enter") {
    seen.entered = at;
    seen.believed = std::max(at, until);
    seen.trusts = until != 0;
    of_name.push_back(seen);
    return;
  }
  auto const own = std::ranges::find_if(of_name.rbegin(), of_name.rend(), [&](Span const& span) {
    return span.holder == seen.holder && span.fence == seen.fence;
  });
  if (own == of_name.rend()) throw std::runtime_error("overlap log: nobody entered for: " + line);
  own->trusts |= until != 0;
  own->believed = std::max(own->believed, until);
  if (what == "leave") own->left = at;
  if (what == "lost") own->lost = at;
  if (what == "still") own->believed = std::max(own->believed, at);
}

Spans read(std::string const& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("overlap log: cannot read " + path);
  Spans spans;
  for (std::string line; std::getline(file, line);) add_line(spans, line);
  for (auto& [name, of_name] : spans) {
    std::ranges::sort(of_name, {}, [](Span const& it) { return std::pair(it.entered, it.fence); });
  }
  return spans;
}

}  // namespace

OverlapLog::OverlapLog(std::string const& file)
    : file_(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
  if (file_ < 0) throw std::system_error(errno, std::generic_category(), "overlap log: " + file);
}

OverlapLog::~OverlapLog() { ::close(file_); }

OverlapLog::Tenure OverlapLog::enter(std::string name, Fence fence, std::string holder,
                                     Instant trusted_until) {
  Tenure const tenure(*this, std::move(name), fence, std::move(holder));
  tenure.note("enter", BootClock::now(), trusted_until);
  return tenure;
}

bool OverlapLog::Tenure::still(std::function<bool()> const& held, Instant trusted_until) {
  auto const now = BootClock::now();  // before the question: what was true later was true then
  bool const yes = held();
  if (yes) {
    note("still", now, trusted_until);
  } else {
    note("lost", BootClock::now(), {});
  }
  return yes;
}

void OverlapLog::Tenure::leave(Instant trusted_until) {
  note("leave", BootClock::now(), trusted_until);
}

void OverlapLog::Tenure::note(char const* what, Instant at, Instant until) const {
  std::ostringstream line;
  line << what << ' ' << name_ << ' ' << fence_.value() << ' ' << holder_ << ' '
       << at.time_since_epoch().count() << ' ' << until.time_since_epoch().count() << '\n';
  auto const text = line.str();
  // One write on a file opened for appending: lines of several processes do not mix.
  if (::write(log_->file_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw std::system_error(errno, std::generic_category(), "overlap log: cannot write");
  }
}

std::vector<std::string> overlaps_in(std::string const& file) {
  std::vector<std::string> found;
  for (auto const& [name, spans] : read(file)) {
    Span const* longest = nullptr;  // of those that entered before, who believed the longest
    std::uint64_t highest = 0;
    for (auto const& span : spans) {
      if (longest != nullptr && span.entered < longest->end()) {
        found.push_back(name + ": " + told(span) + " entered while it was held by " +
                        told(*longest));
      }
      if (span.fence <= highest) {
        found.push_back(name + ": " + told(span) + " has no higher fence than " +
                        std::to_string(highest) + ", given before");
      }
      highest = std::max(highest, span.fence);
      if (longest == nullptr || span.end() > longest->end()) longest = &span;
    }
  }
  return found;
}

std::size_t tenures_in(std::string const& file) {
  std::size_t count = 0;
  for (auto const& [name, spans] : read(file)) count += spans.size();
  return count;
}

}  // namespace holt::test
