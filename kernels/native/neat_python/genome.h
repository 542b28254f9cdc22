// genome.h: the genes of a neat-python genome as plain numbers, so that everything after
// reading them can do without Python and the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "native/neat_python/python_reading.h"

namespace evonet {

constexpr uint8_t kPythonFunction = 255;  // the id of a function that only Python can call

struct NeatConnectionGene {
  int64_t source, target;
  double weight;  // 0 if it is disabled
  bool enabled;
};

// Functions have an id, and a place in a table of Python functions.
struct NeatNodeGene {
  int64_t key;
  double bias, response, time_constant;
  uint8_t activation, aggregation;
  int32_t activation_place, aggregation_place;
};

struct NeatGenome {
  std::vector<NeatNodeGene> nodes;
  std::vector<NeatConnectionGene> connections;
};

// The Python functions of some networks. They are only touched with the GIL held.
struct NeatFunctions {
  std::vector<nb::object> table;
  std::unordered_map<PyObject*, int32_t> place;

  int32_t add(const nb::object& function);
};

// Sets the Python functions with the ids 0, 1, ... of functions.def; None for one that neat-python
// does not have. Python's sum() of floats is compensated from 3.12 on.
void set_neat_functions(const nb::list& activations, const nb::list& aggregations, nb::object sum,
                        bool compensates_sums);

bool compensates_sums();

uint8_t activation_number(const nb::object& function);
uint8_t aggregation_number(const nb::object& function);

// Reads the dict of a genome's connections, in its order, and replaces what is there.
class NeatConnectionReader {
 public:
  void read(PyObject* connections, std::vector<NeatConnectionGene>& found);

 private:
  Names names_;
  PyObject *weight_ = names_("weight"), *enabled_ = names_("enabled");
};

// Reads genomes of one config, one after another.
class NeatGenomeReader {
 public:
  // Registries are those of a config. The time constant is read from the genes if it is None.
  NeatGenomeReader(nb::object activations, nb::object aggregations, const nb::object& time_constant,
                   NeatFunctions& functions);

  // Replaces what is there and reuses its memory.
  void read(PyObject* genome, NeatGenome& found);

 private:
  // Finds functions in one of neat-python's registries, which raises if there is none.
  struct Registry {
    nb::object registry, functions, last_name;
    int32_t place = 0;
    uint8_t number = kPythonFunction;

    explicit Registry(nb::object registry);
    void find(nb::object name, uint8_t (*number_of)(const nb::object&), NeatFunctions& table);
  };

  Names names_;
  PyObject *nodes_, *connections_, *bias_, *response_, *activation_, *aggregation_, *time_constant_;
  NeatConnectionReader connection_reader_;
  Registry activations_, aggregations_;
  bool reads_time_;
  double given_time_;
  NeatFunctions& functions_;
};

}  // namespace evonet
