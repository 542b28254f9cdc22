// A generation in three steps:
//   1. workers breed chunks of children into buffers of their own, noting structural mutations;
//   2. one pass in child order hands out node keys and innovation numbers, equal ones for equal
//      mutations, so the numbers do not depend on the threads;
//   3. workers put the numbers in and join the chunks.
#include "native/breed.h"

#include <array>
#include <unordered_map>
#include <vector>

#include "genetics/numbering.h"
#include "native/packed_parents.h"
#include "numerics/key_table.h"

namespace evonet {
namespace {

// The children that one task bred.
template <class T>
struct ChildrenPart {
  GeneBuffers<T> genes;
  std::vector<int32_t> num_nodes, num_conns;  // per child
  std::vector<Request> requests;
  int64_t nodes = 0, conns = 0;

  Child<T> next_child(int* scratch) {
    Child<T> child{};
    child.genes = genes.genes().at(nodes, conns);
    child.scratch = scratch;
    return child;
  }

  void append(const Child<T>& child) {
    num_nodes.push_back(child.num_nodes);
    num_conns.push_back(child.num_conns);
    requests.push_back(child.request);
    nodes += child.num_nodes;
    conns += child.num_conns;
  }
};

struct PairHash {
  size_t operator()(const std::array<long long, 2>& pair) const {
    return hash_pair(pair[0], pair[1]);
  }
};

// Gives equal numbers to equal mutations of a generation, by the rule of genetics/numbering.h.
class NumberRegistry {
 public:
  explicit NumberRegistry(Numbers& numbers) : numbers_(numbers) {}

  GivenNumbers give(const Request& request) {
    GivenNumbers given;
    if (request.split >= 0) {
      const auto [at, fresh] = splits_.try_emplace(request.split);
      if (fresh) {
        at->second = split_numbers(numbers_.node_key, numbers_.innovation);
        numbers_.node_key += 1;
        numbers_.innovation += kSplitInnovations;
      }
      given = at->second;
    }
    if (request.target >= 0) {
      const AddedEnds ends = added_ends(request, given);
      const auto [at, fresh] = added_.try_emplace({ends.source, ends.target}, numbers_.innovation);
      numbers_.innovation += fresh;
      given.added = at->second;
    }
    return given;
  }

 private:
  Numbers& numbers_;
  std::unordered_map<long long, GivenNumbers> splits_;
  std::unordered_map<std::array<long long, 2>, long long, PairHash> added_;
};

// Genes that a thread breeds before it asks for more: some 50 microseconds.
constexpr int64_t kGenesPerPart = 2048;

// Children between asking for where a parent lies and reading that, and likewise for its genes.
constexpr int64_t kFarAhead = 16, kAhead = 8;

// Runs make(worker, part, index) for all children, then joins the parts. `genes` is about how many
// they will have in all. fetch(index, end) comes before, and may ask for memory that the children
// up to `end` will need.
template <class T, class Fetch, class Room, class Make>
bool make_generation(int64_t count, int64_t genes, int threads, const Interrupt::Poll& poll,
                     Numbers& numbers, Offspring<T>& out, const Fetch& fetch, const Room& room,
                     const Make& make) {
  const int64_t num_parts =
      std::clamp<int64_t>(genes / kGenesPerPart, 1, std::min<int64_t>(count + 1, 64 * threads));
  const auto begin_of = [&](int64_t part) { return count * part / num_parts; };
  std::vector<ChildrenPart<T>> parts(num_parts);
  bool finished = parallel_for(
      threads, num_parts,
      [&](int worker, int64_t index, Interrupt& interrupt) {
        const int64_t begin = begin_of(index), end = begin_of(index + 1);
        int64_t nodes = 0, conns = 0;
        for (int64_t i = begin; i < end; ++i) {
          fetch(i, end);
          const auto [child_nodes, child_conns] = room(i);
          nodes += child_nodes;
          conns += child_conns;
        }
        ChildrenPart<T>& part = parts[index];
        part.genes = GeneBuffers<T>(nodes, conns);
        part.num_nodes.reserve(end - begin);
        part.num_conns.reserve(end - begin);
        part.requests.reserve(end - begin);
        for (int64_t i = begin; i < end; ++i) {
          if ((i & 63) == 63 && interrupt.requested()) return;
          fetch(i, end);
          make(worker, part, i);
        }
      },
      poll);
  if (!finished) return false;

  NumberRegistry registry(numbers);
  std::vector<GivenNumbers> given(count);
  out.node_start = Buffer<int64_t>(count + 1);
  out.conn_start = Buffer<int64_t>(count + 1);
  int64_t* const node_start = out.node_start.data.get();
  int64_t* const conn_start = out.conn_start.data.get();
  node_start[0] = conn_start[0] = 0;
  int64_t child = 0;
  for (const ChildrenPart<T>& part : parts) {
    for (size_t i = 0; i < part.requests.size(); ++i, ++child) {
      given[child] = registry.give(part.requests[i]);
      node_start[child + 1] = node_start[child] + part.num_nodes[i];
      conn_start[child + 1] = conn_start[child] + part.num_conns[i];
    }
  }

  out.genes = GeneBuffers<T>(node_start[count], conn_start[count]);
  out.rank = Buffer<int32_t>(conn_start[count]);
  return parallel_for(
      threads, num_parts,
      [&](int, int64_t index, Interrupt&) {
        ChildrenPart<T>& part = parts[index];
        const int64_t begin = begin_of(index);
        out.genes.copy(node_start[begin], conn_start[begin], part.genes, part.nodes, part.conns);
        for (size_t i = 0; i < part.requests.size(); ++i) {
          const int64_t child = begin + static_cast<int64_t>(i);
          if (part.requests[i].num_new > 0 || part.requests[i].split >= 0) {
            put_numbers(out.genes.genes().at(node_start[child], conn_start[child]),
                        part.num_nodes[i], part.num_conns[i], part.requests[i], given[child]);
          }
          for (int64_t e = conn_start[child]; e < conn_start[child + 1]; ++e) {
            out.rank.data[e] = static_cast<int32_t>(e - conn_start[child]);
          }
        }
        part = ChildrenPart<T>();
      },
      poll);
}

}  // namespace

template <class T>
bool breed_generation(const BreedPlan<T>& plan, const EvolutionKernels<T>& kernels, int threads,
                      const Interrupt::Poll& poll, Numbers& numbers, Offspring<T>& out) {
  threads = usable_threads(threads);
  int most_nodes = 0, most_conns = 0;
  for (int64_t g = 0; g < plan.parents.num_genomes; ++g) {
    most_nodes = std::max(most_nodes, plan.parents[g].num_nodes);
    most_conns = std::max(most_conns, plan.parents[g].num_conns);
  }
  PackedParents<T> parents(plan);
  if (!parents.pack(threads, poll)) return false;
  const int64_t words = kernels.cycle_scratch(most_nodes + 1, most_conns + 3);
  std::vector<std::unique_ptr<int[]>> scratch(threads);
  const int64_t num_parents = plan.parents.num_genomes;
  const int64_t genes = plan.parents.node_start[num_parents] + plan.parents.conn_start[num_parents];
  const bool finished = make_generation(
      plan.num_children, genes * plan.num_children / std::max<int64_t>(1, num_parents), threads,
      poll, numbers, out,
      [&](int64_t i, int64_t end) __attribute__((always_inline)) {
        if (i + kFarAhead < end) {
          parents.fetch_place(plan.fitter[i + kFarAhead]);
          if (plan.other[i + kFarAhead] >= 0) parents.fetch_place(plan.other[i + kFarAhead]);
        }
        if (i + kAhead < end) {
          parents.fetch_genes(plan.fitter[i + kAhead]);
          if (plan.other[i + kAhead] >= 0) parents.fetch_genes(plan.other[i + kAhead]);
        }
      },
      [&](int64_t i) {
        const Genome<T> parent = parents[plan.fitter[i]];
        return std::pair<int64_t, int64_t>(parent.num_nodes + 1, parent.num_conns + 3);
      },
      [&](int worker, ChildrenPart<T>& part, int64_t i) {
        if (!scratch[worker]) scratch[worker].reset(new int[words]);
        Child<T> child = part.next_child(scratch[worker].get());
        const Genome<T> fitter = parents[plan.fitter[i]];
        if (plan.other[i] < 0) {
          child.copy(fitter);
        } else {
          kernels.breed(child, fitter, parents[plan.other[i]], plan.fitter[i] == plan.other[i],
                        plan.rules, plan.parents.num_inputs, plan.parents.num_outputs, plan.random,
                        static_cast<uint32_t>(i));
        }
        part.append(child);
      });
  if (!finished) return false;
  for (int64_t i = 0; i < plan.num_children; ++i) {
    if (plan.other[i] >= 0) continue;
    std::copy_n(plan.rank + plan.parents.conn_start[plan.fitter[i]],
                plan.parents[plan.fitter[i]].num_conns, &out.rank.data[out.conn_start.data[i]]);
  }
  return true;
}

template <class T>
bool first_generation(int64_t num_genomes, const FirstPlan& plan, const GenomeRules<T>& rules,
                      RandomSource random, const EvolutionKernels<T>& kernels, int threads,
                      const Interrupt::Poll& poll, Offspring<T>& out) {
  threads = usable_threads(threads);
  Numbers none{0, 0};
  return make_generation(
      num_genomes, num_genomes * (plan.num_nodes + plan.num_wanted), threads, poll, none, out,
      [](int64_t, int64_t) {},
      [&](int64_t) { return std::pair<int64_t, int64_t>(plan.num_nodes, plan.num_candidates); },
      [&](int, ChildrenPart<T>& part, int64_t i) {
        Child<T> child = part.next_child(nullptr);
        kernels.first(child, plan, rules, random, static_cast<uint32_t>(i));
        part.append(child);
      });
}

#define EVONET_INSTANTIATE(T)                                                                    \
  template bool breed_generation(const BreedPlan<T>&, const EvolutionKernels<T>&, int,           \
                                 const Interrupt::Poll&, Numbers&, Offspring<T>&);               \
  template bool first_generation(int64_t, const FirstPlan&, const GenomeRules<T>&, RandomSource, \
                                 const EvolutionKernels<T>&, int, const Interrupt::Poll&,        \
                                 Offspring<T>&);
EVONET_INSTANTIATE(float)
EVONET_INSTANTIATE(double)

}  // namespace evonet
