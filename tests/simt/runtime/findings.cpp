#include "findings.h"

namespace simt {

void Findings::add(const Finding& finding) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto [place, is_new] =
      index_.try_emplace({finding.kind, finding.site, finding.other_site}, all_.size());
  if (is_new) {
    all_.push_back(finding);
  } else {
    all_[place->second].count += finding.count;
  }
}

bool Findings::known(const char* kind, uint64_t site, uint64_t other_site) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto place = index_.find({kind, site, other_site});
  if (place == index_.end()) return false;
  ++all_[place->second].count;
  return true;
}

}  // namespace simt
