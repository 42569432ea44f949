// What the tokenizer needs of Unicode: decoding, character classes and lower case as Python's str.lower has it.
#pragma once
#include <cstddef>
#include <cstdint>

namespace lw::unicode {

enum Class : std::uint8_t {
    kIsWord = 1,       // \w
    kIsSpace = 2,      // \s
    kIsCased = 4,      // these two decide about a final sigma
    kIsIgnorable = 8,
    kHasLower = 16,    // lower() changes it
};

inline constexpr std::uint32_t kCodePoints = 0x110000;
inline constexpr std::uint32_t kCapitalSigma = 0x3a3;
inline constexpr std::uint32_t kFinalSigma = 0x3c2;

// The classes of every code point, kCodePoints bytes; made from the ranges at the first call, then shared.
const std::uint8_t* classes();

// Writes the lower case of a code point with kHasLower and returns its length, 1 or 2.
int lower(std::uint32_t code, std::uint32_t out[2]);

// The code point that starts at `at`, and its number of bytes. A byte that starts no valid sequence counts as U+FFFD
// of one byte, so that no input can lead outside `end`.
inline std::uint32_t decode(const char* at, const char* end, int& n_bytes) {
    const auto byte = [at](int i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(at[i])); };
    const auto follows = [&](int i) { return (byte(i) & 0xc0u) == 0x80u; };
    const std::uint32_t lead = byte(0);
    const std::ptrdiff_t left = end - at;
    n_bytes = 1;
    if (lead < 0x80) return lead;
    if (lead >= 0xc2 && lead < 0xe0 && left >= 2 && follows(1)) {
        n_bytes = 2;
        return (lead & 0x1fu) << 6 | (byte(1) & 0x3fu);
    }
    if (lead >= 0xe0 && lead < 0xf0 && left >= 3 && follows(1) && follows(2)) {
        const std::uint32_t code = (lead & 0x0fu) << 12 | (byte(1) & 0x3fu) << 6 | (byte(2) & 0x3fu);
        if (code >= 0x800 && (code < 0xd800 || code > 0xdfff)) {
            n_bytes = 3;
            return code;
        }
    }
    if (lead >= 0xf0 && lead < 0xf5 && left >= 4 && follows(1) && follows(2) && follows(3)) {
        const std::uint32_t code =
            (lead & 0x07u) << 18 | (byte(1) & 0x3fu) << 12 | (byte(2) & 0x3fu) << 6 | (byte(3) & 0x3fu);
        if (code >= 0x10000 && code < kCodePoints) {
            n_bytes = 4;
            return code;
        }
    }
    return 0xfffd;
}

// Writes the code point as UTF-8 (at most 4 bytes) and returns the place behind it.
inline char* encode(std::uint32_t code, char* out) {
    if (code < 0x80) {
        *out++ = static_cast<char>(code);
    } else if (code < 0x800) {
        *out++ = static_cast<char>(0xc0u | code >> 6);
        *out++ = static_cast<char>(0x80u | (code & 0x3fu));
    } else if (code < 0x10000) {
        *out++ = static_cast<char>(0xe0u | code >> 12);
        *out++ = static_cast<char>(0x80u | (code >> 6 & 0x3fu));
        *out++ = static_cast<char>(0x80u | (code & 0x3fu));
    } else {
        *out++ = static_cast<char>(0xf0u | code >> 18);
        *out++ = static_cast<char>(0x80u | (code >> 12 & 0x3fu));
        *out++ = static_cast<char>(0x80u | (code >> 6 & 0x3fu));
        *out++ = static_cast<char>(0x80u | (code & 0x3fu));
    }
    return out;
}

// True if the capital sigma at text[at .. at+2) ends a word, so that its lower case is the final sigma.
bool is_final_sigma(const char* text, const char* at, const char* end);

}  // namespace lw::unicode
