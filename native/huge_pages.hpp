// Memory in huge pages, where the system has some: one entry of the page table for 2 MB in place of 512.
#pragma once
#include <cstddef>
#include <cstdint>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace lw {

// Asks for huge pages for the whole pages inside [memory, memory + n_bytes), before they are first written; without effect
// where they are few or the system has none.
inline void in_huge_pages(void* memory, std::size_t n_bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    constexpr std::uintptr_t kHuge = std::uintptr_t{1} << 21;
    const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(memory) + kHuge - 1) / kHuge * kHuge;
    const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(memory) + n_bytes) / kHuge * kHuge;
    if (end > begin) static_cast<void>(madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE));
#else
    static_cast<void>(memory);
    static_cast<void>(n_bytes);
#endif
}

}  // namespace lw
