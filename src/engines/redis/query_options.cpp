// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/query_options.hpp"

#include <holt/error.hpp>

#include <boost/url/encode.hpp>
#include <boost/url/pct_string_view.hpp>
#include <boost/url/rfc/unreserved_chars.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace holt::redis {
namespace {

std::string decoded(std::string_view option, std::string_view value) {
  auto const view = boost::urls::make_pct_string_view({value.data(), value.size()});
  if (!view) refuse_layout(fmt::format("{}= has a '%' without two hex digits behind it", option));
  return view->decode();
}

/// Answers the rest of the query.
std::string take(std::string_view query, std::span<std::string_view const> names,
                 QueryOptions& found) {
  std::string rest;
  while (!query.empty()) {
    auto const end = std::min(query.find('&'), query.size());
    auto const part = query.substr(0, end);
    auto const equals = std::min(part.find('='), part.size());
    auto const option = part.substr(0, equals);
    if (std::ranges::find(names, option) == names.end()) {
      rest.append(rest.empty() ? "" : "&").append(part);
    } else if (!found
                    .emplace(option,
                             decoded(option, part.substr(std::min(equals + 1, part.size()))))
                    .second) {
      refuse_layout(fmt::format("it says {} twice", option));
    }
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return rest;
}

}  // namespace

QueryOptions take_query_options(std::string& url, std::span<std::string_view const> names) {
  QueryOptions found;
  auto const mark = url.find('?');
  // An '@' behind it: '?' is part of a password, which no error may show.
  if (mark == std::string::npos || url.find('@', mark) != std::string::npos) return found;
  auto const end = std::min(url.find('#', mark), url.size());
  auto const rest = take(std::string_view(url).substr(mark + 1, end - mark - 1), names, found);
  if (!found.empty()) url.replace(mark, end - mark, rest.empty() ? rest : "?" + rest);
  return found;
}

void refuse_layout(std::string const& why) {
  throw InvalidArgument("the store's address is wrong: " + why);
}

std::string query_text(std::string_view text) {
  return boost::urls::encode({text.data(), text.size()}, boost::urls::unreserved_chars);
}

}  // namespace holt::redis
