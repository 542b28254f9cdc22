#include "native/xmc_text.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

namespace evonet {
namespace {

constexpr int64_t kMostColumns = 2147483646;  // positions are int32, and a bias may follow them

// One line, read from the left.
class Line {
 public:
  Line(std::string_view text, int64_t number) : text_(text), number_(number) {
    if (!text_.empty() && text_.back() == '\r') text_.remove_suffix(1);
  }

  bool done() const { return at_ >= text_.size(); }
  bool next_is(char c) const { return !done() && text_[at_] == c; }
  bool skip(char c) {
    const bool found = next_is(c);
    at_ += found;
    return found;
  }
  void skip_spaces() {
    while (next_is(' ') || next_is('\t')) ++at_;
  }

  int64_t whole(const char* what, int64_t end) {
    int64_t value = -1;
    const char* const first = text_.data() + at_;
    const char* const last = text_.data() + text_.size();
    const auto found = std::from_chars(first, last, value);
    if (found.ec != std::errc() || value < 0 || *first == '-') {
      fail(std::string("expected ") + what + ", found " + word());
    }
    if (value >= end) {
      fail(std::string(what) + " " + word() + " is out of range. Expected 0 to " +
           std::to_string(end - 1));
    }
    at_ += static_cast<size_t>(found.ptr - first);
    return value;
  }

  float number() {
    float value = __builtin_nanf("");
    const char* const first = text_.data() + at_;
    const char* const last = text_.data() + text_.size();
    const char* end = first;
#if defined(__cpp_lib_to_chars)
    const auto found = std::from_chars(first, last, value);
    if (found.ec != std::errc::invalid_argument) end = found.ptr;
    const bool rounded = found.ec == std::errc();
#else
    const bool rounded = false;
#endif
    if (!rounded) {  // or too large or small for the type: the C library decides which
      const std::string copy(first, std::min<size_t>(last - first, 64));
      char* stop = nullptr;
      value = std::strtof(copy.c_str(), &stop);
      end = first + (stop - copy.c_str());
      const auto digit = [](char c) { return (c >= '0' && c <= '9') || c == '.'; };
      if (end == first || !digit(*first == '-' ? first[1] : *first)) end = first;
    }
    if (end == first || !__builtin_isfinite(value))
      fail("expected a finite number, found " + word());
    at_ += static_cast<size_t>(end - first);
    return value;
  }

  // Throws unless the word ends here.
  void end_of_word(const char* expected) {
    if (!done() && !next_is(' ') && !next_is('\t')) {
      fail(std::string("expected ") + expected + ", found " + word());
    }
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw XmcError("line " + std::to_string(number_) + ": " + what + ".");
  }

 private:
  // What comes next, short and printable.
  std::string word() const {
    if (done()) return "the end of the line";
    std::string shown;
    for (size_t i = at_; i < text_.size() && i < at_ + 24 && text_[i] != ' '; ++i) {
      const auto c = static_cast<unsigned char>(text_[i]);
      shown += c >= 32 && c < 127 ? static_cast<char>(c) : '?';
    }
    return "\"" + shown + "\"";
  }

  std::string_view text_;
  int64_t number_;
  size_t at_ = 0;
};

class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}

  bool done() const { return at_ >= text_.size(); }
  int64_t number() const { return number_; }
  Line next() {
    size_t end = text_.find('\n', at_);
    if (end == std::string_view::npos) end = text_.size();
    const std::string_view found = text_.substr(at_, end - at_);
    at_ = end + 1;
    return Line(found, ++number_);
  }

 private:
  std::string_view text_;
  size_t at_ = 0;
  int64_t number_ = 0;
};

void read_labels(Line& line, XmcText& out) {
  const size_t first = out.labels.size();
  if (!line.done() && !line.next_is(' ') && !line.next_is('\t')) {
    do {
      out.labels.push_back(static_cast<int32_t>(line.whole("a label", out.num_labels)));
    } while (line.skip(','));
    line.end_of_word("a comma or a space after a label");
  }
  std::sort(out.labels.begin() + first, out.labels.end());
  const auto twice = std::adjacent_find(out.labels.begin() + first, out.labels.end());
  if (twice != out.labels.end()) line.fail("label " + std::to_string(*twice) + " appears twice");
}

void read_features(Line& line, XmcText& out, std::vector<std::pair<int32_t, float>>& found) {
  found.clear();
  bool sorted = true;
  for (line.skip_spaces(); !line.done(); line.skip_spaces()) {
    const auto feature = static_cast<int32_t>(line.whole("a feature", out.num_features));
    if (!line.skip(':')) line.fail("expected feature:value, found no colon");
    const float value = line.number();
    line.end_of_word("a space after a value");
    sorted &= found.empty() || found.back().first < feature;
    found.emplace_back(feature, value);
  }
  if (!sorted) {
    std::sort(found.begin(), found.end());
    for (size_t i = 1; i < found.size(); ++i) {
      if (found[i - 1].first == found[i].first) {
        line.fail("feature " + std::to_string(found[i].first) + " appears twice");
      }
    }
  }
  for (const auto& [feature, value] : found) {
    out.features.push_back(feature);
    out.values.push_back(value);
  }
}

}  // namespace

XmcText read_xmc(std::string_view text) {
  XmcText out;
  Lines lines(text);
  Line header = lines.next();
  const char* const names[] = {"the number of samples", "the number of features",
                               "the number of labels"};
  int64_t* const counts[] = {&out.num_samples, &out.num_features, &out.num_labels};
  for (int i = 0; i < 3; ++i) {
    header.skip_spaces();
    *counts[i] = header.whole(names[i], kMostColumns);
    header.end_of_word(names[i]);
    if (*counts[i] == 0) header.fail(std::string(names[i]) + " is 0");
  }
  header.skip_spaces();
  if (!header.done()) header.fail("expected three numbers: samples, features and labels");
  out.feature_start.push_back(0);
  out.label_start.push_back(0);
  std::vector<std::pair<int32_t, float>> found;
  for (int64_t i = 0; i < out.num_samples; ++i) {
    if (lines.done()) {
      throw XmcError("line " + std::to_string(lines.number()) + ": the file ends after " +
                     std::to_string(i) + " samples, and its first line promises " +
                     std::to_string(out.num_samples) + ".");
    }
    Line line = lines.next();
    read_labels(line, out);
    read_features(line, out, found);
    out.feature_start.push_back(static_cast<int64_t>(out.features.size()));
    out.label_start.push_back(static_cast<int64_t>(out.labels.size()));
  }
  while (!lines.done()) {
    Line line = lines.next();
    line.skip_spaces();
    if (!line.done()) {
      line.fail("there are more samples than the " + std::to_string(out.num_samples) +
                " that the first line promises");
    }
  }
  return out;
}

}  // namespace evonet
