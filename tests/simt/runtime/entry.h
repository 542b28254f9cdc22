// entry.h: what a module tells the loader and the runtime library about a kernel.
#pragma once

namespace simt {

// kind is NumPy's letter: b i u f, V for a struct; v is void and p a pointer to a pointer.
struct Parameter {
  char kind;
  char is_pointer;
  char is_const;    // points to const
  int scalar_size;  // bytes of one scalar: 4 for float4
  int size;         // bytes of the value, or of what the pointer points to
};

struct Entry {
  const char* name;
  const char* parameter_names;  // separated by commas
  int max_threads;              // __launch_bounds__, or 0
  int num_parameters;
  const Parameter* parameters;
  void (*run)(void** args);  // runs threads that have not started, one after the other
  const Entry* next;
};

}  // namespace simt
