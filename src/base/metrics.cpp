// SPDX-License-Identifier: Apache-2.0
#include "base/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holt {
namespace {

/// In label values a backslash, a quote and a newline are escaped.
std::string escaped(std::string_view value) {
  std::string text;
  for (char const c : value) {
    if (c == '\\' || c == '"') text += '\\';
    if (c == '\n') {
      text += "\\n";
    } else {
      text += c;
    }
  }
  return text;
}

std::string key_of(auto const& labels) {
  std::string key;
  for (auto const& [name, value] : labels) {
    key += fmt::format("{}{}=\"{}\"", key.empty() ? "" : ",", name, escaped(value));
  }
  return key;
}

std::string braced(std::string_view labels, std::string_view more = {}) {
  if (labels.empty() && more.empty()) return {};
  return fmt::format("{{{}{}{}}}", labels, labels.empty() || more.empty() ? "" : ",", more);
}

}  // namespace

void Histogram::observe(std::chrono::nanoseconds value) noexcept {
  auto const whole = std::max<std::int64_t>(value.count(), 0);
  auto const seconds = static_cast<double>(whole) * 1e-9;
  auto const bucket = std::ranges::lower_bound(bounds, seconds) - bounds.begin();
  counts_.at(static_cast<std::size_t>(bucket)).fetch_add(1, std::memory_order_relaxed);
  sum_ns_.fetch_add(static_cast<std::uint64_t>(whole), std::memory_order_relaxed);
}

void Histogram::write(std::string& text, std::string_view name, std::string_view labels) const {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    count += counts_.at(i).load(std::memory_order_relaxed);
    auto const bound = i < bounds.size() ? fmt::format("le=\"{}\"", bounds.at(i)) : "le=\"+Inf\"";
    text += fmt::format("{}_bucket{} {}\n", name, braced(labels, bound), count);
  }
  auto const sum = static_cast<double>(sum_ns_.load(std::memory_order_relaxed)) * 1e-9;
  text += fmt::format("{}_sum{} {:.9f}\n", name, braced(labels), sum);
  text += fmt::format("{}_count{} {}\n", name, braced(labels), count);
}

void Counter::write(std::string& text, std::string_view name, std::string_view labels) const {
  text += fmt::format("{}{} {}\n", name, braced(labels), value_.load(std::memory_order_relaxed));
}

template <class Series>
Series& Family<Series>::with(Labels const& labels) {
  auto key = key_of(labels);
  std::scoped_lock const lock(mutex_);
  auto& series = series_[std::move(key)];
  if (!series) series = std::make_unique<Series>();
  return *series;
}

template <class Series>
void Family<Series>::write(std::string& text) const {
  std::scoped_lock const lock(mutex_);
  text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name_, help_, name_, type_);
  for (auto const& [labels, series] : series_) series->write(text, name_, labels);
}

template class Family<Histogram>;
template class Family<Counter>;

Metrics::Metrics() : book_(std::make_unique<Book>()) {}
Metrics::~Metrics() = default;

std::string Metrics::text() const {
  std::string text;
  book_->wait.write(text);
  book_->hold.write(text);
  book_->renew_lag.write(text);
  book_->held.write(text);
  book_->at_risk.write(text);
  book_->lost.write(text);
  book_->store.write(text);
  return text;
}

}  // namespace holt
