// standard_section.h: some groups of standards that share a dictionary, so that a gene is looked up
// once for all of them. A word has a row in every group in which a standard knows it.
#pragma once

#include "genetics/standards.h"

namespace evonet {

// What every standard of a group that has a node agrees on, if they agree.
template <class T>
struct SharedNode {
  bool agree;
  unsigned char activation, aggregation;
  T response, time_constant;
};

template <class T>
struct StandardGroup {
  Standards<T> standards;  // whose dictionaries have rows alone
  SharedNode<T>* shared;   // [rows of nodes]
};

template <class T>
struct StandardSection {
  GeneDictionary<T> nodes, links;  // without rows
  int num_groups;
  int* node_row;  // [words of nodes, num_groups] the row of a word in each group, or -1
  int* link_row;  // [words of links, num_groups]
  StandardGroup<T>* groups;
};

}  // namespace evonet
