// packed_parents.h: the parents of a generation, the genes of each side by side.
//
// A population keeps every kind of gene in an array of its own. Children read parents in any order,
// so each parent of a few genes costs a dozen cache lines, of which it fills a fraction. Where that
// matters, the parents that have children are copied once, in their order, each into one block:
//
//   int32 num_nodes, num_conns; then every array of population.def, rounded up to 8 bytes
#pragma once

#include <atomic>
#include <cstring>
#include <vector>

#include "native/breed.h"

namespace evonet {

template <class T>
class PackedParents {
 public:
  explicit PackedParents(const BreedPlan<T>& plan) : plan_(plan) {}

  // Copies all parents if they are worth it; returns false if poll asked to stop.
  bool pack(int threads, const Interrupt::Poll& poll) {
    const GenomesView<T>& from = plan_.parents;
    const int64_t count = from.num_genomes;
    const int64_t genes = from.node_start[count] + from.conn_start[count];
    if (genes < kManyGenes || genes > kFewGenes * count) return true;
    std::vector<std::atomic<bool>> used(count);
    if (!parallel_for(
            threads, parts_of(plan_.num_children),
            [&](int, int64_t part, Interrupt&) {
              const int64_t end = std::min((part + 1) * kChunk, plan_.num_children);
              for (int64_t i = part * kChunk; i < end; ++i) {
                used[plan_.fitter[i]].store(true, std::memory_order_relaxed);
                if (plan_.other[i] >= 0) {
                  used[plan_.other[i]].store(true, std::memory_order_relaxed);
                }
              }
            },
            poll)) {
      return false;
    }
    start_ = Buffer<int64_t>(count);
    std::vector<int64_t> words(parts_of(count) + 1);
    const auto place = [&](int64_t part) {
      int64_t next = 0;
      const int64_t end = std::min((part + 1) * kChunk, count);
      for (int64_t g = part * kChunk; g < end; ++g) {
        start_.data[g] = next;
        if (used[g].load(std::memory_order_relaxed)) next += words_of(from[g]);
      }
      words[part + 1] = next;
    };
    const auto copy = [&](int64_t part) {
      const int64_t end = std::min((part + 1) * kChunk, count);
      for (int64_t g = part * kChunk; g < end; ++g) {
        start_.data[g] += words[part];
        if (used[g].load(std::memory_order_relaxed)) write(from[g], start_.data[g]);
      }
    };
    if (!parallel_for(
            threads, parts_of(count), [&](int, int64_t p, Interrupt&) { place(p); }, poll))
      return false;
    for (size_t part = 1; part < words.size(); ++part) words[part] += words[part - 1];
    blocks_ = Buffer<int64_t>(words.back());
    is_packed_ = true;
    return parallel_for(
        threads, parts_of(count), [&](int, int64_t p, Interrupt&) { copy(p); }, poll);
  }

  Genome<T> operator[](int64_t g) const {
    if (!is_packed_) return plan_.parents[g];
    const int64_t* const block = blocks_.data.get() + start_.data[g];
    Genome<T> genome;
    std::memcpy(&genome.num_nodes, block, sizeof(int));
    std::memcpy(&genome.num_conns, reinterpret_cast<const char*>(block) + sizeof(int), sizeof(int));
    const int64_t* at = block + 1;
#define EVONET_NODE_GENE(type, name, meaning) \
  genome.genes.name = take<typename ConstGeneTypes<T>::type##_gene>(at, genome.num_nodes);
#define EVONET_CONNECTION_GENE(type, name, meaning) \
  genome.genes.name = take<typename ConstGeneTypes<T>::type##_gene>(at, genome.num_conns);
#include "genetics/population.def"
    return genome;
  }

  // Fetches where a parent lies, for a child that is bred a while later. Inlined always: GCC
  // removes calls of functions that only prefetch.
  [[gnu::always_inline]] void fetch_place(int64_t g) const {
    if (is_packed_) __builtin_prefetch(start_.data.get() + g);
  }

  // Fetches what a small parent consists of.
  [[gnu::always_inline]] void fetch_genes(int64_t g) const {
    if (!is_packed_) return;
    const int64_t* const block = blocks_.data.get() + start_.data[g];
    for (int line = 0; line < kLines; ++line) __builtin_prefetch(block + 8 * line);
  }

 private:
  // Below, all parents stay in a cache; above, a parent fills the lines that it is spread over.
  static constexpr int64_t kManyGenes = 1 << 18, kFewGenes = 32;
  static constexpr int64_t kChunk = 1 << 13;
  static constexpr int kLines = 3;

  static int64_t parts_of(int64_t count) { return (count + kChunk - 1) / kChunk; }

  template <class E>
  static int64_t words_for(int64_t count) {
    return (count * static_cast<int64_t>(sizeof(E)) + 7) / 8;
  }

  template <class E>
  static const E* take(const int64_t*& at, int64_t count) {
    const E* const found = reinterpret_cast<const E*>(at);
    at += words_for<E>(count);
    return found;
  }

  static int64_t words_of(const Genome<T>& genome) {
    int64_t words = 1;
#define EVONET_NODE_GENE(type, name, meaning) \
  words += words_for<typename ConstGeneTypes<T>::type##_gene>(genome.num_nodes);
#define EVONET_CONNECTION_GENE(type, name, meaning) \
  words += words_for<typename ConstGeneTypes<T>::type##_gene>(genome.num_conns);
#include "genetics/population.def"
    return words;
  }

  template <class E>
  static void put(int64_t*& at, const E* genes, int64_t count) {
    std::memcpy(at, genes, count * sizeof(E));
    at += words_for<E>(count);
  }

  void write(const Genome<T>& genome, int64_t start) {
    int64_t* at = blocks_.data.get() + start;
    std::memcpy(at, &genome.num_nodes, sizeof(int));
    std::memcpy(reinterpret_cast<char*>(at) + sizeof(int), &genome.num_conns, sizeof(int));
    ++at;
#define EVONET_NODE_GENE(type, name, meaning) put(at, genome.genes.name, genome.num_nodes);
#define EVONET_CONNECTION_GENE(type, name, meaning) put(at, genome.genes.name, genome.num_conns);
#include "genetics/population.def"
  }

  const BreedPlan<T>& plan_;
  bool is_packed_ = false;
  Buffer<int64_t> start_;   // [P] the block of each parent, in words
  Buffer<int64_t> blocks_;  // words of 8 bytes
};

}  // namespace evonet
