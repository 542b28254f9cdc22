// pack_genomes.cpp: reads neat-python's gene objects into flat arrays. A Python loop over the genes
// costs more than everything that evonet does with them afterwards, so they are walked here, by
// interned attribute names, with the GIL held: genes are Python objects.
#include <algorithm>
#include <numeric>
#include <tuple>
#include <vector>

#include "native/bind/bindings.h"
#include "native/gene_buffers.h"
#include "native/neat_python/python_reading.h"

namespace evonet {

namespace {

// Genomes between two checks for Ctrl-C.
constexpr int64_t kGenomesPerSignal = 256;

// Looks up names of functions. Genes mostly share one string object, so the last one is kept.
class FunctionIds {
 public:
  explicit FunctionIds(nb::dict ids) : ids_(std::move(ids)) {}

  uint8_t operator()(nb::object name) {
    if (!name.is(last_name_)) {
      PyObject* found = PyDict_GetItemWithError(ids_.ptr(), name.ptr());
      if (found == nullptr) {
        if (!PyErr_Occurred()) PyErr_SetObject(PyExc_KeyError, name.ptr());
        throw nb::python_error();
      }
      const nb::object kept = nb::borrow(found);
      const int64_t id = read_whole(kept.ptr());
      if (id < 0 || id > UINT8_MAX) throw nb::value_error("an id does not fit into a byte");
      last_id_ = static_cast<uint8_t>(id);
      last_name_ = std::move(name);
    }
    return last_id_;
  }

 private:
  nb::dict ids_;
  nb::object last_name_;
  uint8_t last_id_ = 0;
};

// The dicts of genes of all genomes, and where each one's genes begin.
struct GeneDicts {
  std::vector<nb::object> of_genome;
  Buffer<int64_t> start;

  // False if some genome's genes are not in a dict.
  bool read(const nb::tuple& genomes, PyObject* name) {
    const size_t count = nb::len(genomes);
    start = Buffer<int64_t>(static_cast<int64_t>(count) + 1);
    start.data[0] = 0;
    of_genome.reserve(count);
    for (size_t g = 0; g < count; ++g) {
      nb::object genes = attribute(nb::object(genomes[g]).ptr(), name);
      if (!PyDict_Check(genes.ptr())) return false;
      start.data[g + 1] = start.data[g] + PyDict_GET_SIZE(genes.ptr());
      of_genome.push_back(std::move(genes));
    }
    return true;
  }

  int64_t total() const { return start.data[start.size - 1]; }

  // visit(position, key, gene) for every gene.
  template <class Visit>
  void each(Visit visit) const {
    for (size_t g = 0; g < of_genome.size(); ++g) {
      if (g % kGenomesPerSignal == 0 && PyErr_CheckSignals() != 0) throw nb::python_error();
      int64_t position = start.data[g];
      each_entry(of_genome[g].ptr(), [&](PyObject* key, PyObject* gene) {
        if (position < start.data[g + 1]) visit(position, key, gene);
        ++position;
      });
      if (position != start.data[g + 1]) {
        throw nb::value_error("a genome changed while it was read");
      }
    }
  }

  // Whether the first gene has an attribute; `otherwise` if there are no genes.
  bool first_has(PyObject* name, bool otherwise) const {
    for (const nb::object& genes : of_genome) {
      PyObject *key, *gene;
      Py_ssize_t at = 0;
      if (PyDict_Next(genes.ptr(), &at, &key, &gene)) {
        const nb::object kept = nb::borrow(gene);
        return has_attribute(kept.ptr(), name);
      }
    }
    return otherwise;
  }
};

// Where each gene belongs so that keys ascend inside every genome; empty if they already do.
// Sets `repeats` if a key occurs twice in a genome.
std::vector<int64_t> order_within(const Buffer<int64_t>& start, const Buffer<long long>& keys,
                                  bool& repeats) {
  const long long* const key = keys.data.get();
  std::vector<int64_t> order;
  for (int64_t g = 0; g + 1 < start.size; ++g) {
    const int64_t begin = start.data[g], end = start.data[g + 1];
    bool sorted = true;
    for (int64_t i = begin + 1; i < end; ++i) sorted &= key[i - 1] < key[i];
    if (sorted) continue;
    if (order.empty()) {
      order.resize(start.data[start.size - 1]);
      std::iota(order.begin(), order.end(), int64_t{0});
    }
    std::sort(order.begin() + begin, order.begin() + end,
              [&](int64_t a, int64_t b) { return key[a] < key[b]; });
    for (int64_t i = begin + 1; i < end; ++i) repeats |= key[order[i - 1]] == key[order[i]];
  }
  return order;
}

template <class E>
void rearrange(Buffer<E>& values, const std::vector<int64_t>& order) {
  if (order.empty()) return;
  Buffer<E> moved(values.size);
  for (int64_t i = 0; i < values.size; ++i) moved.data[i] = values.data[order[i]];
  values = std::move(moved);
}

bool pack_nodes(const nb::tuple& genomes, const nb::dict& activations, const nb::dict& aggregations,
                nb::dict& arrays) {
  Names names;
  GeneDicts nodes;
  if (!nodes.read(genomes, names("nodes"))) return false;
  PyObject *bias_name = names("bias"), *response_name = names("response"),
           *time_name = names("time_constant"), *activation_name = names("activation"),
           *aggregation_name = names("aggregation");
  const bool has_time = nodes.first_has(time_name, false);
  GeneBuffers<double> genes(nodes.total(), 0);
  FunctionIds activation_id(activations), aggregation_id(aggregations);
  nodes.each([&](int64_t i, PyObject* key, PyObject* gene) {
    genes.node_key.data[i] = read_whole(key);
    genes.bias.data[i] = read_real(attribute(gene, bias_name));
    genes.response.data[i] = read_real(attribute(gene, response_name));
    // neat-python before 2 has no time constants.
    genes.time_constant.data[i] = has_time ? read_real(attribute(gene, time_name)) : 1.0;
    genes.activation.data[i] = activation_id(attribute(gene, activation_name));
    genes.aggregation.data[i] = aggregation_id(attribute(gene, aggregation_name));
  });
  bool repeats = false;
  const std::vector<int64_t> order = order_within(nodes.start, genes.node_key, repeats);
  arrays["node_start"] = to_numpy(nodes.start);
  genes.each_node_gene([&](const char* name, auto& values) {
    rearrange(values, order);
    arrays[name] = to_numpy(values);
  });
  return true;
}

bool pack_connections(const nb::tuple& genomes, nb::dict& arrays) {
  Names names;
  GeneDicts connections;
  if (!connections.read(genomes, names("connections"))) return false;
  PyObject *innovation_name = names("innovation"), *weight_name = names("weight"),
           *enabled_name = names("enabled");
  if (!connections.first_has(innovation_name, true)) return false;
  GeneBuffers<double> genes(0, connections.total());
  Buffer<int32_t> rank(connections.total());
  connections.each([&](int64_t i, PyObject* key, PyObject* gene) {
    std::tie(genes.source.data[i], genes.target.data[i]) = read_ends(key);
    genes.innovation.data[i] = read_whole(attribute(gene, innovation_name).ptr());
    genes.weight.data[i] = read_real(attribute(gene, weight_name));
    genes.enabled.data[i] = read_truth(attribute(gene, enabled_name));
  });
  for (int64_t g = 0; g + 1 < connections.start.size; ++g) {
    const int64_t begin = connections.start.data[g], end = connections.start.data[g + 1];
    std::iota(rank.data.get() + begin, rank.data.get() + end, 0);
  }
  bool repeats = false;
  const std::vector<int64_t> order = order_within(connections.start, genes.innovation, repeats);
  if (repeats) return false;
  arrays["conn_start"] = to_numpy(connections.start);
  const auto add = [&](const char* name, auto& values) {
    rearrange(values, order);
    arrays[name] = to_numpy(values);
  };
  genes.each_connection_gene(add);
  add("rank", rank);
  return true;
}

// None for unusual genomes: no dicts, no innovation numbers, or one twice.
nb::object pack_neat(const nb::list& listed, const nb::dict& activations,
                     const nb::dict& aggregations) {
  const nb::tuple genomes = hold_items(listed);
  nb::dict arrays;
  const bool ordinary =
      pack_nodes(genomes, activations, aggregations, arrays) && pack_connections(genomes, arrays);
  return ordinary ? nb::object(arrays) : nb::none();
}

}  // namespace

void bind_pack_neat(nb::module_& m) {
  using namespace nb::literals;
  m.def("pack_neat", &pack_neat, "genomes"_a, "activations"_a, "aggregations"_a,
        "The arrays of a float64 Population by name, from neat-python genomes; None if they need "
        "the readable path.");
}

}  // namespace evonet
