// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a cluster shares its keys: 16384 slots, which of them a key is in, which master has them, and
// what a node says when it has them not. No I/O.

#include "engines/redis/place.hpp"
#include "engines/redis/reply.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace holt::redis {

inline constexpr unsigned slots = 16384;

/// CRC16 of the key, or of its part in braces if that is not empty, modulo `slots`.
[[nodiscard]] unsigned slot_of(std::string_view key);

/// Why a node did not do what it was asked for, though another one, or the same one later, may.
struct Redirect {
  enum class Kind {
    moved,   ///< MOVED: `to` has this slot now
    ask,     ///< ASK: the keys are there already, the slot not yet
    later,   ///< TRYAGAIN: some of the keys are here and some there
    no_one,  ///< CLUSTERDOWN: nobody has the slot, or most masters cannot be reached
  };
  Kind kind;
  Endpoint to;  ///< of moved and ask
};

/// Nothing: this error is none. `from` said it: a node that does not know its host leaves it out.
[[nodiscard]] std::optional<Redirect> redirect_of(std::string_view error, Endpoint const& from);

/// Which master has which slot.
class SlotMap {
 public:
  SlotMap();
  /// The answer to CLUSTER SLOTS of the node at `from`. Throws EngineError{internal} when it is
  /// something else.
  SlotMap(ReplyView const& answer, Endpoint const& from);

  /// Null: no master has it, or none that says where it is.
  [[nodiscard]] Endpoint const* master_of(unsigned slot) const;
  [[nodiscard]] std::vector<Endpoint> const& masters() const { return masters_; }
  /// How many slots have a master.
  [[nodiscard]] unsigned covered() const;

 private:
  [[nodiscard]] std::uint16_t number_of(Endpoint const& master);

  static constexpr std::uint16_t nobody = 0xffff;
  std::vector<Endpoint> masters_;
  std::array<std::uint16_t, slots> owner_;  ///< its number in `masters_`
};

}  // namespace holt::redis
