// registration.h: lets the compiler tell the parameter types of a kernel, and makes the loop that
// runs its threads. source.py puts one Registration behind every kernel.
#pragma once

#include "entry.h"
#include "self.h"

namespace simt {

// clang-format off
template <class T> constexpr char kKind = 'V';
template <> inline constexpr char kKind<bool> = 'b';
template <> inline constexpr char kKind<char> = 'i';
template <> inline constexpr char kKind<signed char> = 'i';
template <> inline constexpr char kKind<short> = 'i';
template <> inline constexpr char kKind<int> = 'i';
template <> inline constexpr char kKind<long> = 'i';
template <> inline constexpr char kKind<long long> = 'i';
template <> inline constexpr char kKind<unsigned char> = 'u';
template <> inline constexpr char kKind<unsigned short> = 'u';
template <> inline constexpr char kKind<unsigned> = 'u';
template <> inline constexpr char kKind<unsigned long> = 'u';
template <> inline constexpr char kKind<unsigned long long> = 'u';
template <> inline constexpr char kKind<float> = 'f';
template <> inline constexpr char kKind<double> = 'f';
template <class T> inline constexpr char kKind<T*> = 'p';

template <class T> struct Plain { using type = T; static constexpr bool is_const = false; };
template <class T> struct Plain<const T> : Plain<T> { static constexpr bool is_const = true; };
template <class T> struct Plain<volatile T> : Plain<T> {};
template <class T> struct Plain<const volatile T> : Plain<T> { static constexpr bool is_const = true; };
// clang-format on

template <class T>
constexpr Parameter describe_value() {
  if constexpr (__is_enum(T)) {
    return describe_value<__underlying_type(T)>();
  } else {
    using Scalar = typename ScalarOf<T>::type;
    return {kKind<Scalar>, false, false, int(sizeof(Scalar)), int(sizeof(T))};
  }
}

template <class T>
struct Describe {
  static constexpr Parameter value = describe_value<typename Plain<T>::type>();
};
template <class T>
struct Describe<T*> {
  static constexpr Parameter make() {
    Parameter pointee = describe_value<typename Plain<T>::type>();
    pointee.is_pointer = true;
    pointee.is_const = Plain<T>::is_const;
    return pointee;
  }
  static constexpr Parameter value = make();
};
template <>
struct Describe<void*> {
  static constexpr Parameter value = {'v', true, false, 1, 1};
};
template <>
struct Describe<const void*> {
  static constexpr Parameter value = {'v', true, true, 1, 1};
};

template <unsigned... index>
struct Indices {};
template <unsigned count, unsigned... index>
struct CountTo : CountTo<count - 1, count - 1, index...> {};
template <unsigned... index>
struct CountTo<0, index...> {
  using type = Indices<index...>;
};

// True if the calling fiber shall run another thread; false if one that waited comes first.
__forceinline__ bool start_thread() {
  Self& self = *simt_self;
  if (self.next == self.last || self.num_ready != 0) return false;
  self.thread = *self.next++;
  self.thread_index = self.indices[self.thread];
  return true;
}
__forceinline__ void exit_thread() {
  Self& self = *simt_self;
  self.exited_lanes[self.thread / 32] |= 1u << (self.thread % 32);
  ++self.num_exited;
}

template <auto kernel>
struct Runner;
template <class... P, void (*kernel)(P...)>
struct Runner<kernel> {
  static constexpr int num_parameters = sizeof...(P);
  static constexpr Parameter parameters[sizeof...(P) + 1] = {Describe<P>::value..., {}};

  template <unsigned... index>
  __attribute__((no_sanitize("thread"))) static void run_threads(void** args, Indices<index...>) {
    while (start_thread()) {
      kernel(*static_cast<typename Plain<P>::type*>(args[index])...);
      exit_thread();
    }
  }
  static void run(void** args) { run_threads(args, typename CountTo<sizeof...(P)>::type()); }
};

}  // namespace simt

// The kernels of one module, as a list.
extern "C" {
__attribute__((visibility("default"))) const simt::Entry* simt_entries = nullptr;
}

namespace simt {

struct Registration {
  Entry entry;

  template <auto kernel>
  static Entry describe(const char* name, const char* parameter_names, int max_threads = 0, int = 0,
                        int = 0) {
    using R = Runner<kernel>;
    return {name, parameter_names, max_threads, R::num_parameters, R::parameters, &R::run, nullptr};
  }
  explicit Registration(const Entry& described) : entry(described) {
    entry.next = simt_entries;
    simt_entries = &entry;
  }
};

}  // namespace simt
