// dictionary_parameters.h: the arrays of a dictionary as parameters of a kernel. Included inside
// the list of parameters.
int most_nodes, int most_conns, int node_bits, int link_bits, int *__restrict__ node_slots,
    int *__restrict__ link_slots, long long *__restrict__ node_keys,
    long long *__restrict__ link_ends, REAL *__restrict__ node_rows, REAL *__restrict__ link_rows,
    long long *__restrict__ link_numbers, REAL *__restrict__ sizes, long long *__restrict__ last,
#define DICTIONARY                                                                            \
  most_nodes, most_conns, node_bits, link_bits, node_slots, link_slots, node_keys, link_ends, \
      node_rows, link_rows, link_numbers, sizes, last
