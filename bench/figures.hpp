// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every benchmark needs: a folder for its store, percentiles, and one line per figure with
// the target beside it. Figures are ratios or latencies of one run on one machine.

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace holt::bench {

/// A fresh folder, beside the build unless said otherwise (a real disk, unlike /tmp on some
/// machines), gone at the end.
class Folder {
 public:
  explicit Folder(std::filesystem::path const& in = std::filesystem::current_path());
  ~Folder();
  Folder(Folder const&) = delete;
  Folder& operator=(Folder const&) = delete;
  [[nodiscard]] std::filesystem::path const& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// The value below which `share` (0 to 1) of them lie. Sorts a copy. 0 for none.
double percentile(std::vector<double> values, double share);
inline double median(std::vector<double> values) { return percentile(std::move(values), 0.5); }

/// CPU time of this process so far.
double cpu_seconds();

/// "6.1", of Linux.
std::string kernel_text();

/// Prints the head of a table with how it was measured, in lines of 100 columns.
void head(std::string const& title, std::string const& how);
/// Prints a row: what, its figure, and the target it is held against.
void row(std::string const& what, std::string const& figure, std::string const& target = "");

/// "12.3 µs", "0.45 ms", "1.20 s" from seconds.
std::string time_text(double seconds);
/// "0.93x"
std::string ratio_text(double ratio);

}  // namespace holt::bench
