// image.cpp: asks the dynamic linker.
#include "image.h"

#include <link.h>

#include <algorithm>

struct TlsIndex {
  unsigned long module, offset;
};
extern "C" void* __tls_get_addr(TlsIndex*);

namespace simt {

Image::Image(const void* inside) {
  struct Search {
    uintptr_t address;
    Image* image;
  } search{reinterpret_cast<uintptr_t>(inside), this};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) -> int {
        auto& search = *static_cast<Search*>(data);
        uintptr_t begin = UINTPTR_MAX, end = 0;
        size_t tls_size = 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& header = info->dlpi_phdr[i];
          if (header.p_type == PT_LOAD) {
            begin = std::min<uintptr_t>(begin, info->dlpi_addr + header.p_vaddr);
            end = std::max<uintptr_t>(end, info->dlpi_addr + header.p_vaddr + header.p_memsz);
          } else if (header.p_type == PT_TLS) {
            tls_size = header.p_memsz;
          }
        }
        if (search.address < begin || search.address >= end) return 0;
        Image& image = *search.image;
        image.base_ = info->dlpi_addr;
        image.begin_ = begin;
        image.end_ = end;
        image.tls_size_ = tls_size;
        image.tls_module_ = info->dlpi_tls_modid;
        return 1;
      },
      &search);
}

char* Image::thread_locals() const {
  if (tls_size_ == 0) return nullptr;
  TlsIndex index{tls_module_, 0};
  return static_cast<char*>(__tls_get_addr(&index));
}

}  // namespace simt
