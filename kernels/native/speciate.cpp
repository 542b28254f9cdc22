// neat-python's order of events, in parallel:
//   1. each old species, in order, takes the genome nearest to its old representative, if any is
//      left; 2. every other genome joins the nearest of these; 3. the first genome that is near
//      none founds a species, which later genomes may prefer; and so on. Who founds one depends
//      only on those that are near none, so that founders are found among them first, and
//      everybody is then measured against all of them at once.
#include "native/speciate.h"

#include <algorithm>
#include <limits>

#include "native/standard_set.h"

namespace evonet {
namespace {

// Genes that a thread looks up before it asks for more: some 20 microseconds.
constexpr int64_t kGenesPerChunk = 4096;

template <class T>
struct Nearest {
  T distance = std::numeric_limits<T>::infinity();
  int64_t genome = std::numeric_limits<int64_t>::max();

  void offer(T d, int64_t g) {
    if (d < distance || (d == distance && g < genome)) {
      distance = d;
      genome = g;
    }
  }
};

// The nearest genomes to each of some standards, of those that a worker has met, which come in
// ascending order: of equals the first stays.
template <class T>
struct NearestToEach {
  std::vector<T> distance;
  std::vector<int64_t> genome;

  explicit NearestToEach(int64_t count)
      : distance(count, Nearest<T>().distance), genome(count, Nearest<T>().genome) {}

  void offer(const T* d, int64_t g) {
    for (size_t s = 0; s < distance.size(); ++s) {
      if (!(d[s] < distance[s])) continue;
      distance[s] = d[s];
      genome[s] = g;
    }
  }
};

}  // namespace

template <class T>
bool speciate(const GenomesView<T>& population, const std::vector<Genome<T>>& old, T threshold,
              const DistanceRules<T>& rules, const EvolutionKernels<T>& kernels, int threads,
              const Interrupt::Poll& poll, Speciation& out) {
  threads = usable_threads(threads);
  const int64_t count = population.num_genomes, num_old = old.size();
  const int64_t genes = population.node_start[count] + population.conn_start[count];
  const int64_t chunk = std::clamp<int64_t>(kGenesPerChunk * count / (genes + 1), 1, 256);
  const int64_t num_chunks = (count + chunk - 1) / chunk;
  int64_t most_genes = 0;
  for (int64_t g = 0; g < count; ++g) {
    most_genes = std::max<int64_t>(most_genes, population[g].num_nodes + population[g].num_conns);
  }
  std::vector<std::vector<int>> words(threads);
  std::vector<std::vector<T>> distances(threads);

  // Calls visit(worker, g, distances to the standards) for all genomes from `first` on that
  // concern it.
  const auto measure_all = [&](const StandardSet<T>& standards, int64_t first, const auto& concerns,
                               const auto& visit) {
    const int64_t first_chunk = first / chunk;
    return parallel_for(
        threads, num_chunks - first_chunk,
        [&](int worker, int64_t index, Interrupt&) {
          words[worker].resize(2 * most_genes);
          distances[worker].resize(standards.num_distances());
          const int64_t begin = (first_chunk + index) * chunk;
          for (int64_t g = std::max(begin, first); g < std::min(begin + chunk, count); ++g) {
            if (!concerns(g)) continue;
            standards.measure(population[g], rules, words[worker].data(), distances[worker].data());
            visit(worker, g, distances[worker].data());
          }
        },
        poll);
  };
  const auto all = [](int64_t) { return true; };

  out.species.assign(count, -1);
  out.representative.assign(num_old, -1);
  std::vector<NearestToEach<T>> found(threads, NearestToEach<T>(num_old));
  if (num_old > 0 &&
      !measure_all(StandardSet<T>(old, kernels), 0, all,
                   [&](int worker, int64_t g, const T* distance) {
                     NearestToEach<T>& nearest = found[worker];
                     // Hardly ever: most genomes are not the nearest so far to anybody.
                     if (kernels.any_below(distance, nearest.distance.data(), num_old)) {
                       nearest.offer(distance, g);
                     }
                   })) {
    return false;
  }
  int64_t free = count;  // genomes; a species whose distances are all NaN takes none
  for (int64_t s = 0; s < num_old && free > 0; ++s) {
    Nearest<T> nearest;
    for (const auto& by_worker : found) {
      nearest.offer(by_worker.distance[s], by_worker.genome[s]);
    }
    if (nearest.genome >= count || out.species[nearest.genome] >= 0) {
      // Taken by an earlier species: look again among the others.
      std::vector<Nearest<T>> again(threads);
      if (!measure_all(
              StandardSet<T>({old[s]}, kernels), 0, [&](int64_t g) { return out.species[g] < 0; },
              [&](int worker, int64_t g, const T* distance) {
                again[worker].offer(distance[0], g);
              })) {
        return false;
      }
      nearest = Nearest<T>();
      for (const Nearest<T>& by_worker : again) {
        nearest.offer(by_worker.distance, by_worker.genome);
      }
    }
    if (nearest.genome >= count) continue;
    out.species[nearest.genome] = static_cast<int32_t>(s);
    out.representative[s] = nearest.genome;
    --free;
  }

  // best[g] is the distance to the representative of the species that g is in.
  std::vector<T> best(count, threshold);
  for (int64_t s = 0; s < num_old; ++s) {
    if (out.representative[s] >= 0) best[out.representative[s]] = T(-1);
  }
  const auto undecided = [&](int64_t g) { return best[g] > T(0); };
  std::vector<Genome<T>> genomes;
  for (const int64_t g : out.representative) genomes.push_back(g < 0 ? Genome<T>{} : population[g]);
  std::vector<int64_t> absent;
  for (int64_t s = 0; s < num_old; ++s) {
    if (out.representative[s] < 0) absent.push_back(s);
  }
  const auto join_nearest = [&](int64_t g, const T* distance, int64_t num_species, int64_t first) {
    const int64_t s = kernels.first_least(distance, num_species, best[g]);
    if (s < 0) return;
    best[g] = distance[s];
    out.species[g] = static_cast<int32_t>(first + s);
  };
  if (num_old > 0 && !measure_all(StandardSet<T>(genomes, kernels), 0, undecided,
                                  [&](int, int64_t g, T* distance) {
                                    for (const int64_t s : absent)
                                      distance[s] = Nearest<T>().distance;
                                    join_nearest(g, distance, num_old, 0);
                                  })) {
    return false;
  }

  // Founders are the genomes that are near no species and no earlier founder.
  std::vector<int64_t> founders, left, still;
  for (int64_t g = 0; g < count; ++g) {
    if (out.species[g] < 0) left.push_back(g);
  }
  if (!(threshold > T(0))) founders.swap(left);  // nobody is nearer than that
  for (std::vector<char> near; !left.empty(); left.swap(still)) {
    founders.push_back(left.front());
    const StandardSet<T> founder({population[left.front()]}, kernels);
    const auto num_left = static_cast<int64_t>(left.size());
    near.assign(num_left, 1);
    if (!parallel_for(
            threads, (num_left - 1 + chunk - 1) / chunk,
            [&](int worker, int64_t index, Interrupt&) {
              words[worker].resize(2 * most_genes);
              distances[worker].resize(founder.num_distances());
              const int64_t begin = 1 + index * chunk, end = std::min(begin + chunk, num_left);
              for (int64_t i = begin; i < end; ++i) {
                founder.measure(population[left[i]], rules, words[worker].data(),
                                distances[worker].data());
                near[i] = distances[worker][0] < threshold;
              }
            },
            poll)) {
      return false;
    }
    still.clear();
    for (int64_t i = 1; i < num_left; ++i) {
      if (!near[i]) still.push_back(left[i]);
    }
  }
  if (founders.empty()) return true;
  genomes.clear();
  for (const int64_t founder : founders) {
    genomes.push_back(population[founder]);
    best[founder] = T(-1);
    out.species[founder] = static_cast<int32_t>(out.representative.size());
    out.representative.push_back(founder);
  }
  return measure_all(StandardSet<T>(genomes, kernels), founders.front() + 1, undecided,
                     [&](int, int64_t g, const T* distance) {
                       const auto later = std::lower_bound(founders.begin(), founders.end(), g);
                       join_nearest(g, distance, later - founders.begin(), num_old);
                     });
}

void group_members(const int32_t* species, int64_t count, int64_t num_species, int64_t* members,
                   int64_t* starts) {
  std::fill(starts, starts + num_species + 1, 0);
  for (int64_t g = 0; g < count; ++g) ++starts[species[g] + 1];
  for (int64_t s = 0; s < num_species; ++s) starts[s + 1] += starts[s];
  std::vector<int64_t> next(starts, starts + num_species);
  for (int64_t g = 0; g < count; ++g) members[next[species[g]]++] = g;
}

template bool speciate(const GenomesView<float>&, const std::vector<Genome<float>>&, float,
                       const DistanceRules<float>&, const EvolutionKernels<float>&, int,
                       const Interrupt::Poll&, Speciation&);
template bool speciate(const GenomesView<double>&, const std::vector<Genome<double>>&, double,
                       const DistanceRules<double>&, const EvolutionKernels<double>&, int,
                       const Interrupt::Poll&, Speciation&);

}  // namespace evonet
