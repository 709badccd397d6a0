// SPDX-License-Identifier: Apache-2.0
#include "figures.hpp"

#include <fmt/core.h>

#include <sys/resource.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace holt::bench {

Folder::Folder(std::filesystem::path const& in) {
  std::string pattern = (in / "holt-bench-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make " + pattern);
  path_ = pattern;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  auto const last = static_cast<double>(values.size() - 1);
  return values[static_cast<std::size_t>(std::lround(last * share))];
}

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  auto const of = [](timeval const& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return of(used.ru_utime) + of(used.ru_stime);
}

std::string kernel_text() {
  utsname system{};
  ::uname(&system);
  std::string_view const release = system.release;
  auto const minor = release.find('.');
  return std::string(release.substr(0, release.find_first_not_of("0123456789", minor + 1)));
}

void head(std::string const& title, std::string const& how) {
  fmt::print("\n## {}\n\n{}\n\n| what | figure | target |\n| --- | --- | --- |\n", title, how);
}

void row(std::string const& what, std::string const& figure, std::string const& target) {
  fmt::print("| {} | {} | {} |\n", what, figure, target);
  std::fflush(stdout);
}

std::string time_text(double seconds) {
  if (std::abs(seconds) < 1e-3) return fmt::format("{:.1f} µs", seconds * 1e6);
  if (std::abs(seconds) < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

std::string ratio_text(double ratio) { return fmt::format("{:.2f}x", ratio); }

}  // namespace holt::bench
