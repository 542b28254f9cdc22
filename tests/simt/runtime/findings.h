// findings.h: what went wrong in a launch, each kind of fault once per line of source.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "vector_types.h"

namespace simt {

struct Finding {
  const char* kind;
  // Return addresses within the module, relative to its base; 0 is unknown.
  uint64_t site, other_site;
  uint3 block, thread;
  uint64_t count;
  char text[360];
};

class Findings {
 public:
  // Counts a finding with the same kind and sites as an earlier one, keeps any other.
  void add(const Finding& finding);
  bool known(const char* kind, uint64_t site, uint64_t other_site);
  const std::vector<Finding>& all() const { return all_; }

 private:
  using Key = std::tuple<const char*, uint64_t, uint64_t>;
  std::mutex mutex_;
  std::map<Key, size_t> index_;
  std::vector<Finding> all_;
};

}  // namespace simt
