// wide.cpp: what threads do with wide levels. A thread owns a table, a sample or a range of rows,
// and walks through it in order, so that no sum depends on how many threads there are.
#include "native/wide.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "wide/hash.h"
#include "wide/rows.h"

namespace evonet {
namespace {

// Short work is never interrupted: half an update would leave a level that nobody trained.
bool never() { return false; }

}  // namespace

void draw_weights(float* weights, int64_t num_rows, int32_t hidden, int32_t width, float scale,
                  uint64_t seed, uint32_t level, int threads) {
  constexpr int64_t kChunk = 1024;
  parallel_for(
      threads, (num_rows + kChunk - 1) / kChunk,
      [&](int, int64_t chunk, Interrupt&) {
        const int64_t end = std::min(num_rows, (chunk + 1) * kChunk);
        for (int64_t row = chunk * kChunk; row < end; ++row) {
          const Draws draws{seed, level, static_cast<uint32_t>(row)};
          float* const to = weights + row * width;
          for (int32_t j = 0; j < width; j += 4) {
            const Philox draw = draws(FOR_WIDE_WEIGHT, static_cast<uint32_t>(j / 4));
            for (int32_t i = 0; i < 4; ++i) {
              to[j + i] = j + i < hidden ? first_weight(draw.word[i]) * scale : 0.0f;
            }
          }
        }
      },
      never);
}

void build_tables(const BuildCall& call, int threads) {
  parallel_for(
      threads, call.num_tables,
      [&](int, int64_t table, Interrupt&) {
        const int32_t* const codes = call.codes + table * call.num_rows;
        int32_t* const starts = call.starts + table * (int64_t{call.num_buckets} + 1);
        int32_t* const ids = call.ids + table * call.num_rows;
        std::vector<int32_t> count(call.num_buckets), rank(call.num_buckets);
        for (int64_t row = 0; row < call.num_rows; ++row) ++count[codes[row]];
        starts[0] = 0;
        for (int32_t b = 0; b < call.num_buckets; ++b) {
          starts[b + 1] = starts[b] + std::min(count[b], call.capacity);
        }
        for (int64_t row = 0; row < call.num_rows; ++row) {
          const int32_t b = codes[row];
          const int32_t slot =
              bucket_slot(rank[b]++, count[b], call.capacity, call.keep, call.seed, call.epoch,
                          static_cast<uint32_t>(table), static_cast<uint32_t>(row));
          if (slot >= 0) ids[starts[b] + slot] = static_cast<int32_t>(row);
        }
      },
      never);
}

void find_active(const ActiveCall& call, int threads) {
  const int workers = usable_threads(threads);
  std::vector<std::vector<int32_t>> found(workers), other(workers);
  parallel_for(
      workers, call.num_samples,
      [&](int worker, int64_t sample, Interrupt&) {
        std::vector<int32_t>&rows = found[worker], &joined = other[worker];
        rows.clear();
        const int32_t first =
            first_table(call.seed, call.step, static_cast<uint32_t>(sample), call.num_tables);
        int64_t room = call.limit;
        for (int32_t i = 0; i < call.num_tables && room > 0; ++i) {
          const int64_t table = (first + i) % call.num_tables;
          const int32_t code = call.codes[sample * call.num_tables + table];
          const int32_t* const start = call.starts + table * (int64_t{call.num_buckets} + 1) + code;
          const int32_t* const ids = call.ids + table * call.num_rows;
          const int64_t take = std::min<int64_t>(room, start[1] - start[0]);
          rows.insert(rows.end(), ids + start[0], ids + start[0] + take);
          room -= take;
        }
        const int32_t* const labels = call.labels + call.label_start[sample];
        rows.insert(rows.end(), labels, call.labels + call.label_start[sample + 1]);
        const auto sort_once = [](std::vector<int32_t>& list) {
          std::sort(list.begin(), list.end());
          list.erase(std::unique(list.begin(), list.end()), list.end());
        };
        sort_once(rows);
        joined.resize(rows.size() + call.num_shared);
        joined.resize(std::set_union(rows.begin(), rows.end(), call.shared,
                                     call.shared + call.num_shared, joined.begin()) -
                      joined.begin());
        const int64_t missing =
            std::min(call.minimum - static_cast<int64_t>(joined.size()), call.num_fill);
        if (missing > 0) {
          joined.insert(joined.end(), call.fill, call.fill + missing);
          sort_once(joined);
        }
        std::copy(joined.begin(), joined.end(), call.active + sample * call.most);
        call.count[sample] = static_cast<int64_t>(joined.size());
      },
      never);
}

void update_rows(const LevelView& level, const RowLists& lists, const float* coefficient,
                 const float* dense, const AdamCall& adam, bool with_bias,
                 const WideKernels& kernels, int threads) {
  // Ranges of rows: small enough that counters stay in the first cache, and enough of them that
  // threads end together. Lists ascend, so that a range is a stretch of each.
  const int64_t range = std::clamp<int64_t>(level.num_rows / 256, 64, 4096);
  const int workers = usable_threads(threads);
  struct Scratch {
    std::vector<int64_t> first;  // where a range starts in each list
    std::vector<int32_t> start, sample;
    std::vector<float> coefficient;
  };
  std::vector<Scratch> scratch(workers);
  parallel_for(
      workers, (level.num_rows + range - 1) / range,
      [&](int worker, int64_t index, Interrupt&) {
        Scratch& own = scratch[worker];
        const int64_t begin = index * range, end = std::min(begin + range, level.num_rows);
        own.first.assign(lists.num_lists, 0);
        own.start.assign(range + 1, 0);
        int64_t total = 0;
        for (int64_t b = 0; b < lists.num_lists; ++b) {
          const int32_t* const last = lists.rows + lists.end[b];
          const int32_t* at = std::lower_bound(lists.rows + lists.begin[b], last, begin);
          own.first[b] = at - lists.rows;
          for (; at != last && *at < end; ++at, ++total) ++own.start[*at - begin];
        }
        if (total == 0) return;
        int32_t sum = 0;
        for (int64_t r = 0; r < range; ++r) sum += std::exchange(own.start[r], sum);
        own.sample.resize(total);
        own.coefficient.resize(total);
        for (int64_t b = 0; b < lists.num_lists; ++b) {
          for (int64_t e = own.first[b]; e < lists.end[b] && lists.rows[e] < end; ++e) {
            const int32_t place = own.start[lists.rows[e] - begin]++;
            own.sample[place] = static_cast<int32_t>(b);
            own.coefficient[place] = coefficient[e];
          }
        }
        int32_t from = 0;  // start[r] has become the end of row r
        for (int64_t r = 0; begin + r < end; ++r) {
          const int32_t until = own.start[r];
          if (until == from) continue;
          kernels.update(level, adam, with_bias, begin + r, dense, own.sample.data() + from,
                         own.coefficient.data() + from, until - from);
          from = until;
        }
      },
      never);
}

bool find_top(const LevelView& level, const float* dense, int64_t num_samples, int64_t k,
              const WideKernels& kernels, int threads, const Interrupt::Poll& poll, int32_t* ids,
              float* scores) {
  constexpr int64_t kTile = 64;  // samples whose rows stay in the first cache
  using Found = std::pair<float, int32_t>;
  const auto better = [](const Found& a, const Found& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  };
  return parallel_for(
      threads, (num_samples + kTile - 1) / kTile,
      [&](int, int64_t tile, Interrupt& interrupt) {
        const int64_t begin = tile * kTile, count = std::min(kTile, num_samples - begin);
        std::vector<std::vector<Found>> heap(count);  // the worst of each comes first
        float found[kTile];
        for (int64_t row = 0; row < level.num_rows; ++row) {
          if (row % 4096 == 0 && interrupt.requested()) return;
          kernels.dots(dense + begin * level.width, nullptr, level.width, nullptr, count,
                       level.weights + row * level.width, found);
          const float bias = level.state[row * kRowState];
          for (int64_t b = 0; b < count; ++b) {
            const Found here{found[b] + bias, static_cast<int32_t>(row)};
            std::vector<Found>& best = heap[b];
            if (static_cast<int64_t>(best.size()) < k) {
              best.push_back(here);
              std::push_heap(best.begin(), best.end(), better);
            } else if (better(here, best.front())) {
              std::pop_heap(best.begin(), best.end(), better);
              best.back() = here;
              std::push_heap(best.begin(), best.end(), better);
            }
          }
        }
        for (int64_t b = 0; b < count; ++b) {
          std::sort_heap(heap[b].begin(), heap[b].end(), better);
          for (int64_t i = 0; i < k; ++i) {
            scores[(begin + b) * k + i] = heap[b][i].first;
            ids[(begin + b) * k + i] = heap[b][i].second;
          }
        }
      },
      poll);
}

}  // namespace evonet
