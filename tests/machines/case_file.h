// case_file.h: files of named arrays, as tests/machines/case_file.py writes and reads them. Each
// array is a line "case name bytes" and its bytes.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

// The arrays of one case by name. Scalars are arrays of one number: int64 or double.
class Case {
 public:
  std::string name;

  void add(const std::string& array, std::vector<uint64_t> words, size_t bytes) {
    arrays_[array] = {std::move(words), bytes};
  }

  bool has(const std::string& array) const { return arrays_.count(array) > 0; }

  template <class E>
  const E* data(const std::string& array) const {
    return reinterpret_cast<const E*>(find(array).words.data());
  }
  template <class E>
  int64_t count(const std::string& array) const {
    return static_cast<int64_t>(find(array).bytes / sizeof(E));
  }
  int64_t integer(const std::string& scalar) const { return *data<int64_t>(scalar); }
  double real(const std::string& scalar) const { return *data<double>(scalar); }

 private:
  struct Array {
    std::vector<uint64_t> words;  // aligned for every type
    size_t bytes;
  };

  const Array& find(const std::string& array) const {
    const auto found = arrays_.find(array);
    if (found != arrays_.end()) return found->second;
    std::fprintf(stderr, "%s has no %s\n", name.c_str(), array.c_str());
    std::exit(2);
  }

  std::map<std::string, Array> arrays_;
};

inline std::vector<Case> read_cases(const char* path) {
  std::vector<Case> cases;
  std::FILE* file = std::fopen(path, "rb");
  char name[256], array[256];
  unsigned long long bytes;
  while (file && std::fscanf(file, "%255s %255s %llu", name, array, &bytes) == 3) {
    if (cases.empty() || cases.back().name != name) {
      cases.emplace_back();
      cases.back().name = name;
    }
    std::vector<uint64_t> words(bytes / 8 + 2);
    std::fgetc(file);  // the end of the line
    if (std::fread(words.data(), 1, bytes, file) != bytes) std::exit(2);
    cases.back().add(array, std::move(words), bytes);
  }
  if (!file || !std::feof(file)) std::exit(2);
  std::fclose(file);
  return cases;
}

class ResultFile {
 public:
  explicit ResultFile(const char* path) : file_(std::fopen(path, "wb")) {
    if (!file_) std::exit(2);
  }
  ~ResultFile() { std::fclose(file_); }

  template <class E>
  void write(const std::string& name, const char* array, const E* data, int64_t count) {
    const size_t bytes = static_cast<size_t>(count) * sizeof(E);
    std::fprintf(file_, "%s %s %zu\n", name.c_str(), array, bytes);
    if (std::fwrite(data, 1, bytes, file_) != bytes) std::exit(2);
  }

 private:
  std::FILE* file_;
};
