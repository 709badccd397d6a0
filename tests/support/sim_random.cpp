// SPDX-License-Identifier: Apache-2.0
#include "support/sim_random.hpp"

#include <bit>

namespace holt::sim {
namespace {

std::uint64_t split_mix(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111eb;
  return z ^ (z >> 31U);
}

}  // namespace

Random::Random(std::uint64_t seed) {
  for (auto& word : state_) word = split_mix(seed);
}

Random::Random(std::uint64_t seed, std::string_view purpose)
    : Random(mix(mix(mix_start, seed), purpose)) {}

std::uint64_t Random::next() {
  auto const result = std::rotl(state_[1] * 5, 7) * 9;
  auto const shifted = state_[1] << 17U;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::int64_t Random::between(std::int64_t low, std::int64_t high) {
  // The bias of the remainder is of no matter here.
  auto const span = static_cast<std::uint64_t>(high - low) + 1;
  return low + static_cast<std::int64_t>(next() % span);
}

Nanos Random::between(Nanos low, Nanos high) { return Nanos(between(low.count(), high.count())); }

bool Random::chance(std::uint32_t per_million) { return next() % 1'000'000 < per_million; }

std::uint64_t mix(std::uint64_t hash, std::string_view bytes) {
  for (char const byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  return hash;
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t number) {
  for (unsigned shift = 0; shift < 64; shift += 8) {
    hash = (hash ^ ((number >> shift) & 0xffU)) * 0x100000001b3;
  }
  return hash;
}

}  // namespace holt::sim
