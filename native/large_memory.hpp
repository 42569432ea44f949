// LargeMemory: bytes that are read at random places, in huge pages where the system has them.
//
// With pages of 4 KB nearly every read of a table of a hundred megabytes first waits for the address of its page.
#pragma once
#include <cstdint>
#include <memory>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace lw {

class LargeMemory {
public:
    LargeMemory() = default;
    explicit LargeMemory(std::uint64_t n) : bytes_(static_cast<std::uint8_t*>(::operator new(n, kPage))) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
        // A wish: where it is not granted, the pages are small. Less than a page would only take more room.
        if (n >= static_cast<std::uint64_t>(kPage)) madvise(bytes_.get(), n, MADV_HUGEPAGE);
#endif
    }
    std::uint8_t* data() const { return bytes_.get(); }

private:
    static constexpr std::align_val_t kPage{2 << 20};
    struct Free {
        void operator()(std::uint8_t* bytes) const { ::operator delete(bytes, kPage); }
    };
    std::unique_ptr<std::uint8_t, Free> bytes_;
};

}  // namespace lw
