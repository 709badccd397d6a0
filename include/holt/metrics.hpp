// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counters and histograms of what clients do, in the text format that Prometheus scrapes. Holt
// brings no web server: put text() behind the one you have.
//
//   auto metrics = std::make_shared<holt::Metrics>();
//   auto holt = holt::open("", {.metrics = metrics});
//   ... answer GET /metrics with metrics->text() and holt::Metrics::content_type
//
// Names and owners are never labels: there may be any number of them.

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace holt {

/// May be given to any number of clients. Any thread.
class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(Metrics const&) = delete;
  Metrics& operator=(Metrics const&) = delete;

  static constexpr std::string_view content_type = "text/plain; version=0.0.4; charset=utf-8";
  [[nodiscard]] std::string text() const;

  /// What the library writes into it; not for users.
  struct Book;
  [[nodiscard]] Book& book() noexcept { return *book_; }

 private:
  std::unique_ptr<Book> book_;
};

}  // namespace holt
#pragma GCC visibility pop
