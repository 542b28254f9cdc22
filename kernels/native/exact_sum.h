// exact_sum.h: sums of doubles that are rounded once, in any order: every number is added to one
// large fixed-point number that covers the whole range of the type.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

namespace evonet {

class ExactSum {
 public:
  // Adds a finite number.
  void add(double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const int exponent = static_cast<int>(bits >> 52 & 0x7FF);
    uint64_t mantissa = bits & kMantissa;
    if (exponent > 0) mantissa += kMantissa + 1;
    // In units of 2^-1074, the number is mantissa << shift.
    const int shift = exponent > 0 ? exponent - 1 : 0;
    const auto wide = static_cast<unsigned __int128>(mantissa) << shift % 32;
    const int64_t sign = bits >> 63 ? -1 : 1;
    int64_t* const at = limbs_.data() + shift / 32;
    at[0] += sign * static_cast<int64_t>(static_cast<uint32_t>(wide));
    at[1] += sign * static_cast<int64_t>(static_cast<uint32_t>(wide >> 32));
    at[2] += sign * static_cast<int64_t>(static_cast<uint32_t>(wide >> 64));
    if (++pending_ == kMostPending) carry();
  }

  // Adds another sum.
  void add(ExactSum other) {
    other.carry();
    carry();
    for (size_t i = 0; i < limbs_.size(); ++i) limbs_[i] += other.limbs_[i];
    carry();
  }

  // The sum, to the nearest double, ties to even; infinite beyond the largest one.
  double rounded() {
    carry();
    const bool negative = limbs_.back() < 0;
    if (negative) {
      for (int64_t& limb : limbs_) limb = -limb;
      carry();
    }
    const double magnitude = round_magnitude();
    if (negative) {
      for (int64_t& limb : limbs_) limb = -limb;
    }
    return negative ? -magnitude : magnitude;
  }

 private:
  // Lets every limb but the last hold 32 bits.
  void carry() {
    pending_ = 0;
    for (size_t i = 0; i + 1 < limbs_.size(); ++i) {
      limbs_[i + 1] += limbs_[i] >> 32;
      limbs_[i] &= 0xFFFFFFFF;
    }
  }

  double round_magnitude() const {
    int top = static_cast<int>(limbs_.size()) - 1;
    while (top >= 0 && limbs_[top] == 0) --top;
    if (top < 0) return 0.0;
    const int highest = 32 * top + 63 - __builtin_clzll(static_cast<uint64_t>(limbs_[top]));
    const int lowest = highest > 52 ? highest - 52 : 0;
    uint64_t mantissa = 0;
    for (int bit = highest; bit >= lowest; --bit) mantissa = mantissa << 1 | bit_at(bit);
    if (lowest > 0 && bit_at(lowest - 1) && (mantissa & 1 || any_below(lowest - 1))) ++mantissa;
    // Of a number below 2^53 units the bits are its mantissa; each doubling adds to the exponent.
    const uint64_t bits = (static_cast<uint64_t>(lowest) << 52) + mantissa;
    const uint64_t infinite = uint64_t{0x7FF} << 52;
    const uint64_t found = bits < infinite ? bits : infinite;
    double value;
    std::memcpy(&value, &found, sizeof value);
    return value;
  }

  uint64_t bit_at(int bit) const {
    const size_t whole = static_cast<size_t>(bit) / 32, limb = whole < kLimbs ? whole : kLimbs - 1;
    return static_cast<uint64_t>(limbs_[limb]) >> (bit - 32 * static_cast<int>(limb)) & 1;
  }

  bool any_below(int bit) const {
    for (int limb = 0; limb < bit / 32; ++limb) {
      if (limbs_[limb] != 0) return true;
    }
    return (limbs_[bit / 32] & ((int64_t{1} << bit % 32) - 1)) != 0;
  }

  static constexpr uint64_t kMantissa = (uint64_t{1} << 52) - 1;
  static constexpr int64_t kMostPending = int64_t{1} << 30;  // each adds less than 2^32 to a limb
  // The largest numbers reach into limb 65; the last limb takes what their sums add above.
  static constexpr size_t kLimbs = 68;
  std::array<int64_t, kLimbs> limbs_{};
  int64_t pending_ = 0;
};

}  // namespace evonet
