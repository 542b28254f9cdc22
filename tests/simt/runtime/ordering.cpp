#include "ordering.h"

#include <algorithm>
#include <cstring>

#include "launch.h"

namespace simt {

void Ordering::begin_block(uint64_t linear) {
  block_ = uint32_t(linear + 1);
  epoch_ = 0;
  memset(lanes_, 0, sizeof(Lane) * current_launch->num_threads);
  fenced_.clear();
  by_thread_.clear();
  by_block_.clear();
}

void Ordering::barrier() {
  ++epoch_;
  for (const auto& [thread, acquired] : by_thread_) {
    for (const Acquired& one : acquired) acquire(by_block_, one);
  }
  by_thread_.clear();
}

void Ordering::lanes_met(unsigned warp, unsigned mask) {
  Lane* lanes = lanes_ + warp * 32;
  uint32_t seen[32] = {};
  for (unsigned i = 0; i < 32; ++i) {
    if (!(mask >> i & 1)) continue;
    for (unsigned j = 0; j < 32; ++j) seen[j] = std::max(seen[j], lanes[i].seen[j]);
    seen[i] = std::max(seen[i], ++lanes[i].clock);
  }
  for (unsigned i = 0; i < 32; ++i) {
    if (mask >> i & 1) memcpy(lanes[i].seen, seen, sizeof seen);
  }
}

void Ordering::fence(bool whole_device) {
  fences_used_ = true;
  unsigned thread = simt_self->thread;
  Lane& lane = lanes_[thread];
  lane.seen[thread % 32] = ++lane.clock;
  Release release{block_, epoch_, thread / 32, {}, whole_device};
  memcpy(release.seen, lane.seen, sizeof lane.seen);
  fenced_[thread] = release;
}

void Ordering::atomic(uintptr_t address) {
  if (!fences_used_) return;
  unsigned thread = simt_self->thread;
  Log& log = logs_[address];
  acquire(by_thread_[thread], {&log, log.releases.size()});
  auto fenced = fenced_.find(thread);
  if (fenced == fenced_.end()) return;
  log.of_block[block_].push_back(uint32_t(log.releases.size()));
  log.releases.push_back(fenced->second);
}

void Ordering::acquire(std::vector<Acquired>& all, const Acquired& one) {
  for (Acquired& known : all) {
    if (known.log == one.log) {
      known.length = std::max(known.length, one.length);
      return;
    }
  }
  all.push_back(one);
}

bool Ordering::covers(const Release& release, const Stamp& stamp) {
  if (stamp.epoch < release.epoch) return true;
  return stamp.epoch == release.epoch && stamp.thread / 32 == release.warp &&
         stamp.clock < release.seen[stamp.thread % 32];
}

bool Ordering::was_acquired(const std::vector<Acquired>& acquired, const Stamp& stamp) const {
  for (const auto& [log, length] : acquired) {
    auto places = log->of_block.find(stamp.block);
    if (places == log->of_block.end()) continue;
    for (uint32_t place : places->second) {
      if (place >= length) break;
      const Release& release = log->releases[place];
      if ((release.whole_device || stamp.block == block_) && covers(release, stamp)) return true;
    }
  }
  return false;
}

bool Ordering::was_acquired(const Stamp& stamp) const {
  if (was_acquired(by_block_, stamp)) return true;
  auto own = by_thread_.find(simt_self->thread);
  return own != by_thread_.end() && was_acquired(own->second, stamp);
}

}  // namespace simt
