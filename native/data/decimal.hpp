// Decimal text -> numbers: eight digits in one step, floats correctly rounded to float32.
#pragma once
#include <bit>
#include <cfloat>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

namespace lw {

// The readers below look at 8 bytes at once, so this many bytes after a line's end must be readable.
inline constexpr std::size_t kSlack = 16;

struct Digits {
    std::uint32_t value;
    std::uint32_t count;  // digits read; 8 means that there may be more
};

// The run of up to 8 digits at p. No branch depends on the length: lengths vary from entry to entry, and a wrong guess
// costs more than the whole conversion.
inline Digits leading_digits(const char* p) {
    if constexpr (std::endian::native == std::endian::little) {
        std::uint64_t x;
        std::memcpy(&x, p, 8);
        x ^= 0x3030303030303030ull;  // digits become 0..9
        const std::uint64_t stops = (((x & 0x7f7f7f7f7f7f7f7full) + 0x7676767676767676ull) | x) & 0x8080808080808080ull;
        const std::uint32_t count = stops ? static_cast<std::uint32_t>(std::countr_zero(stops)) >> 3 : 8;
        if (count == 0) return {0, 0};
        x <<= 64 - 8 * count;  // leading zeros in front
        x = x * 10 + (x >> 8);
        x = ((x & 0x000000ff000000ffull) * 0x000f424000000064ull + ((x >> 16) & 0x000000ff000000ffull) * 0x0000271000000001ull) >> 32;
        return {static_cast<std::uint32_t>(x), count};
    } else {
        Digits d{0, 0};
        while (d.count < 8 && p[d.count] >= '0' && p[d.count] <= '9') {
            d.value = d.value * 10 + static_cast<std::uint32_t>(p[d.count] - '0');
            ++d.count;
        }
        return d;
    }
}

enum class NumberFault { none, not_a_number, not_finite, too_large };

struct Number {
    float value;
    const char* end;
    NumberFault fault;
};

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// The library's own conversion, for what the fast ways cannot decide. `text` has no sign.
inline float float_by_library(const char* text, const char* end, std::int64_t magnitude) {
#if defined(__cpp_lib_to_chars) && __cpp_lib_to_chars >= 201611L
    float value = 0;
    const auto result = std::from_chars(text, end, value);
    // Out of range both ways looks alike: the decimal magnitude tells which.
    if (result.ec == std::errc::result_out_of_range) return magnitude > 0 ? HUGE_VALF : 0.0f;
    return value;
#else
    (void)magnitude;
    return std::strtof(std::string(text, end).c_str(), nullptr);
#endif
}

// The float32 nearest to the decimal number at p (ties to even), and where it ends. Needs a readable non-digit at the
// line's end. nan and inf are refused, so are numbers beyond float32; numbers too small become 0.
inline Number read_number(const char* p) {
    static constexpr double kPower[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                          1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const bool negative = *p == '-';
    if (*p == '-' || *p == '+') ++p;
    const char* const text = p;
    std::uint64_t mantissa = 0;
    int kept = 0;                // significant digits in the mantissa
    std::int64_t exponent = 0;   // of ten
    bool any = false, cut = false;
    const auto take = [&](char c) {
        any = true;
        if (kept < 19) {
            mantissa = mantissa * 10 + static_cast<std::uint64_t>(c - '0');
            kept += mantissa != 0;
            return true;
        }
        cut |= c != '0';
        return false;
    };
    for (; is_digit(*p); ++p) exponent += !take(*p);
    if (*p == '.') {
        for (++p; is_digit(*p); ++p) exponent -= take(*p);
    }
    if (!any) {
        char first[3] = {};
        for (int i = 0; i < 3 && (p[i] | 0x20) >= 'a' && (p[i] | 0x20) <= 'z'; ++i) first[i] = static_cast<char>(p[i] | 0x20);
        const bool named = std::memcmp(first, "nan", 3) == 0 || std::memcmp(first, "inf", 3) == 0;
        return {0, p, named ? NumberFault::not_finite : NumberFault::not_a_number};
    }
    if (*p == 'e' || *p == 'E') {
        const char* q = p + 1;
        const bool down = *q == '-';
        if (*q == '-' || *q == '+') ++q;
        if (!is_digit(*q)) return {0, p, NumberFault::not_a_number};
        std::int64_t written = 0;
        for (; is_digit(*q); ++q) {
            if (written < 1000000000) written = written * 10 + (*q - '0');
        }
        exponent += down ? -written : written;
        p = q;
    }
    float value = 0;
    bool decided = mantissa == 0;
    if (!decided && !cut && exponent >= -22 && exponent <= 22) {
        // Two roundings to 53 bits leave an error below 2 units of the double; rounding that once more to float32 is
        // right unless the double lies that near to the middle of two floats.
        const double wide = exponent < 0 ? static_cast<double>(mantissa) / kPower[-exponent]
                                         : static_cast<double>(mantissa) * kPower[exponent];
        const std::uint64_t low = std::bit_cast<std::uint64_t>(wide) & 0x1fffffffull;
        if (wide > 2.0 * FLT_MIN && wide < 0.5 * FLT_MAX && (low < 0x0ffffffcull || low > 0x10000004ull)) {
            value = static_cast<float>(wide);
            decided = true;
        }
    }
    if (!decided) value = float_by_library(text, p, exponent + kept);
    if (std::isinf(value)) return {0, p, NumberFault::too_large};
    return {negative ? -value : value, p, NumberFault::none};
}

}  // namespace lw
