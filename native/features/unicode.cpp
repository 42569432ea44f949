#include "features/unicode.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <new>

#include "features/unicode_tables.hpp"

namespace lw::unicode {
namespace {

struct Free {
    void operator()(std::uint8_t* p) const { std::free(p); }
};

template <std::size_t N>
void mark(std::uint8_t* flags, const Range (&ranges)[N], Class flag) {
    for (const Range& range : ranges) {
        for (std::uint32_t code = range.first; code <= range.last; ++code) flags[code] |= flag;
    }
}

std::unique_ptr<std::uint8_t, Free> expanded() {
    // calloc: the pages of planes without characters are never touched, so they cost no memory.
    std::unique_ptr<std::uint8_t, Free> flags(static_cast<std::uint8_t*>(std::calloc(kCodePoints, 1)));
    if (!flags) throw std::bad_alloc();
    mark(flags.get(), kWord, kIsWord);
    mark(flags.get(), kSpace, kIsSpace);
    mark(flags.get(), kCased, kIsCased);
    mark(flags.get(), kIgnorable, kIsIgnorable);
    for (const LowerRange& range : kLower) {
        for (std::uint32_t code = range.first; code <= range.last; code += range.step) flags.get()[code] |= kHasLower;
    }
    for (const LowerPair& pair : kLowerPairs) flags.get()[pair.code] |= kHasLower;
    return flags;
}

}  // namespace

const std::uint8_t* classes() {
    static const std::unique_ptr<std::uint8_t, Free> flags = expanded();
    return flags.get();
}

int lower(std::uint32_t code, std::uint32_t out[2]) {
    for (const LowerPair& pair : kLowerPairs) {
        if (pair.code == code) {
            out[0] = pair.first;
            out[1] = pair.second;
            return 2;
        }
    }
    const LowerRange* found = std::upper_bound(std::begin(kLower), std::end(kLower), code,
                                               [](std::uint32_t c, const LowerRange& range) { return c < range.first; });
    out[0] = code;
    if (found != std::begin(kLower)) {
        --found;
        if (code <= found->last && (code - found->first) % found->step == 0) {
            out[0] = static_cast<std::uint32_t>(static_cast<std::int64_t>(code) + found->delta);
        }
    }
    return 1;
}

// Final if the nearest character before that is not ignorable is cased, and the nearest one behind is not.
bool is_final_sigma(const char* text, const char* at, const char* end) {
    const std::uint8_t* flags = classes();
    int n_bytes = 0;
    bool cased_before = false;
    for (const char* p = at; p > text;) {
        --p;
        while (p > text && (static_cast<unsigned char>(*p) & 0xc0u) == 0x80u) --p;
        const std::uint8_t flag = flags[decode(p, end, n_bytes)];
        if (flag & kIsIgnorable) continue;
        cased_before = flag & kIsCased;
        break;
    }
    if (!cased_before) return false;
    decode(at, end, n_bytes);
    for (const char* p = at + n_bytes; p < end; p += n_bytes) {
        const std::uint8_t flag = flags[decode(p, end, n_bytes)];
        if (!(flag & kIsIgnorable)) return !(flag & kIsCased);
    }
    return true;
}

}  // namespace lw::unicode
