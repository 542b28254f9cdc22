// genome_view.h: the genes of one genome as pointers; evonet/population.py explains each array.
// Not in a namespace per instruction set: these structs cross from one translation unit to another.
#pragma once

#include "numerics/portable.h"

namespace evonet {

// Of a genome that is being written, or with const types of one that is only read.
template <class T, class Key, class Byte, class Flag>
struct GenesOf {
  Key* node_key;
  T* bias;
  T* response;
  Byte* activation;
  Byte* aggregation;
  T* time_constant;
  Key* innovation;
  Key* source;
  Key* target;
  T* weight;
  Flag* enabled;

  EVONET_METHOD GenesOf at(long long node, long long conn) const {
    return {node_key + node,    bias + node,          response + node,   activation + node,
            aggregation + node, time_constant + node, innovation + conn, source + conn,
            target + conn,      weight + conn,        enabled + conn};
  }
};

template <class T>
using Genes = GenesOf<T, long long, unsigned char, bool>;
template <class T>
using ConstGenes = GenesOf<const T, const long long, const unsigned char, const bool>;

template <class T>
struct Genome {
  ConstGenes<T> genes;
  int num_nodes, num_conns;
};

// The structural mutations of one child; see breeding.h.
struct Request {
  long long split;           // innovation of the connection that the new node splits, or -1
  long long source, target;  // of the added connection; target is -1 for none
  int num_new;               // connections at the end that still need numbers
};

// A child under construction.
template <class T>
struct Child {
  Genes<T> genes;
  int num_nodes, num_conns;
  Request request;
  int* scratch;  // cycle_scratch words
};

}  // namespace evonet
