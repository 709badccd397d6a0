// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/slot_map.hpp"

#include "engines/redis/errors.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace holt::redis {
namespace {

/// CRC16 as XMODEM has it: polynomial 0x1021, starting at 0.
constexpr std::array<std::uint16_t, 256> crc_table = [] {
  std::array<std::uint16_t, 256> table{};
  for (unsigned byte = 0; byte < table.size(); ++byte) {
    unsigned crc = byte << 8U;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 0x8000U) != 0 ? (crc << 1U) ^ 0x1021U : crc << 1U;
    }
    table[byte] = static_cast<std::uint16_t>(crc);
  }
  return table;
}();

unsigned crc16(std::string_view text) {
  unsigned crc = 0;
  for (char const c : text) {
    auto const byte = static_cast<unsigned char>(c);
    crc = ((crc << 8U) ^ crc_table[((crc >> 8U) ^ byte) & 0xffU]) & 0xffffU;
  }
  return crc;
}

std::string_view word(std::string_view& text) {
  auto const end = std::min(text.find(' '), text.size());
  auto const found = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return found;
}

/// "host:port", where an IPv6 address has no brackets; the host may be missing.
std::optional<Endpoint> endpoint_in(std::string_view text, Endpoint const& from) {
  auto const colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  Endpoint endpoint{std::string(text.substr(0, colon)), 0};
  auto const port = text.substr(colon + 1);
  auto const [end, error] = std::from_chars(port.begin(), port.end(), endpoint.port);
  if (error != std::errc() || end != port.end() || endpoint.port == 0) return std::nullopt;
  if (endpoint.host.empty()) endpoint.host = from.host;
  if (endpoint.host == "?") return std::nullopt;
  return endpoint;
}

/// {host or nil, port, id, ...}; nothing: the node does not know where that is.
std::optional<Endpoint> endpoint_in(ReplyView const& node, Endpoint const& from) {
  Endpoint endpoint{from.host, static_cast<std::uint16_t>(node[1].integer())};
  if (!node[0].is_nil() && !node[0].text().empty()) endpoint.host = node[0].text();
  if (endpoint.host == "?" || endpoint.port == 0) return std::nullopt;
  return endpoint;
}

}  // namespace

unsigned slot_of(std::string_view key) {
  auto const open = key.find('{');
  if (open != std::string_view::npos) {
    auto const close = key.find('}', open + 1);
    if (close != std::string_view::npos && close > open + 1) {
      key = key.substr(open + 1, close - open - 1);
    }
  }
  return crc16(key) % slots;
}

std::optional<Redirect> redirect_of(std::string_view error, Endpoint const& from) {
  using enum Redirect::Kind;
  auto rest = error;
  auto const kind = word(rest);
  if (kind == "TRYAGAIN") return Redirect{later, {}};
  if (kind == "CLUSTERDOWN") return Redirect{no_one, {}};
  if (kind != "MOVED" && kind != "ASK") return std::nullopt;
  word(rest);  // the slot
  auto to = endpoint_in(word(rest), from);
  // Somebody has it, and this node does not know where that is: another node may.
  if (!to) return Redirect{no_one, {}};
  return Redirect{kind == "MOVED" ? moved : ask, std::move(*to)};
}

SlotMap::SlotMap() { owner_.fill(nobody); }

SlotMap::SlotMap(ReplyView const& answer, Endpoint const& from) : SlotMap() {
  if (!answer.is_array()) {
    throw failed(ErrorCode::internal, Outcome::not_applied, "look at the cluster",
                 "the answer to CLUSTER SLOTS is no list", "is this a Redis server?");
  }
  for (std::size_t i = 0; i < answer.size(); ++i) {
    auto const range = answer[i];
    auto const first = std::clamp<std::int64_t>(range[0].integer(), 0, slots);
    auto const last = std::clamp<std::int64_t>(range[1].integer(), -1, slots - 1);
    auto const master = endpoint_in(range[2], from);
    if (!master || last < first) continue;
    std::fill(owner_.begin() + first, owner_.begin() + last + 1, number_of(*master));
  }
}

std::uint16_t SlotMap::number_of(Endpoint const& master) {
  auto const found = std::ranges::find(masters_, master);
  auto const number = static_cast<std::uint16_t>(found - masters_.begin());
  if (found == masters_.end()) masters_.push_back(master);
  return number;
}

Endpoint const* SlotMap::master_of(unsigned slot) const {
  auto const owner = owner_.at(slot);
  return owner == nobody ? nullptr : &masters_[owner];
}

unsigned SlotMap::covered() const {
  return static_cast<unsigned>(slots - std::ranges::count(owner_, nobody));
}

}  // namespace holt::redis
