// xmc_text.h: reads the text format of the extreme classification repository.
//
//   3 10 5               samples, features, labels
//   0,4 1:0.5 7:0.25     labels, then feature:value; a sample without labels starts with a space
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace evonet {

struct XmcText {
  int64_t num_samples = 0, num_features = 0, num_labels = 0;
  std::vector<int64_t> feature_start, label_start;  // [num_samples + 1]
  std::vector<int32_t> features, labels;            // ascending within a sample
  std::vector<float> values;
};

// What is wrong, and in which line.
struct XmcError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws XmcError.
XmcText read_xmc(std::string_view text);

}  // namespace evonet
