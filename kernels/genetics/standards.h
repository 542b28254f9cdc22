// standards.h: up to 16 genomes that others are measured against, laid out so that one look at a
// gene compares it with all of them. Not in a namespace per instruction set: this crosses from one
// translation unit to another.
#pragma once

#include "genetics/genome_view.h"

namespace evonet {

static constexpr int kStandards = 16;

// What a row of a dictionary holds for each standard.
enum NodeRow { NODE_HELD, NODE_BIAS, NODE_RESPONSE, NODE_TIME, NODE_ACT, NODE_AGG, NODE_ROWS };
enum LinkRow { LINK_HELD, LINK_WEIGHT, LINK_ENABLED, LINK_ROWS };

// A dictionary of all genes of the standards: node keys, or the two ends of a connection.
template <class T>
struct GeneDictionary {
  int num_words;
  int slot_bits;
  int* slots;         // [2^slot_bits] word in each slot of a hash table, or -1
  long long* first;   // node key or source of each word
  long long* second;  // 0 or target
  T* rows;            // [words, attributes, kStandards]
};

template <class T>
struct Standards {
  int count;
  GeneDictionary<T> nodes, links;
  long long* numbers;  // [words of links, kStandards] innovation numbers
  T num_nodes[kStandards];
  T num_conns[kStandards];
  long long last[kStandards];  // largest innovation number
};

}  // namespace evonet
