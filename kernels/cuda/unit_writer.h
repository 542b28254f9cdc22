// unit_writer.h: what the units of schedule_units.h hold, word by word, for those who write them.
#pragma once

#include "cuda/schedule_units.h"

EVONET_NAMESPACE_BEGIN

template <class T>
struct HeaderWords {
  unsigned word[kHeaderUnits<T> * kUnit / 4];
};
template <class T>
struct LinkWords {
  unsigned word[kUnit / 4 / kLinksPerUnit<T>];
};

template <class T>
EVONET_FN int64 units_of(int64 num_links) {
  return kHeaderUnits<T> + (num_links + kLinksPerUnit<T> - 1) / kLinksPerUnit<T>;
}

EVONET_FN void write_number(unsigned* to, float x) { to[0] = unsigned(to_bits(x)); }
EVONET_FN void write_number(unsigned* to, double x) {
  const auto bits = (unsigned long long)to_bits(x);
  to[0] = unsigned(bits);
  to[1] = unsigned(bits >> 32);
}

// Words that are left over are 0.
template <class T>
EVONET_FN HeaderWords<T> header_words(T bias, T response, int32 num_links,
                                      unsigned char aggregation, int32 slot, bool is_last,
                                      unsigned char activation) {
  constexpr int kNumber = sizeof(T) / 4;
  HeaderWords<T> words{};
  write_number(words.word, bias);
  write_number(words.word + kNumber, response);
  words.word[2 * kNumber] = unsigned(num_links) << 8 | aggregation;
  words.word[2 * kNumber + 1] = unsigned(slot) << 9 | unsigned(is_last) << 8 | activation;
  return words;
}

template <class T>
EVONET_FN LinkWords<T> link_words(int32 back, T weight) {
  LinkWords<T> words{};
  words.word[0] = unsigned(back);
  write_number(words.word + sizeof(T) / 4, weight);
  return words;
}

EVONET_NAMESPACE_END
