// CSR arrays -> text rows, the way back of parse.cpp.
#include <charconv>
#include <cstdio>

#include "data/parse.hpp"
#include "parallel.hpp"

namespace lw {
namespace {

constexpr std::int64_t kRowsPerPiece = 512;

void append_number(std::string& out, std::int64_t number) {
    char digits[24];
    const auto result = std::to_chars(digits, digits + sizeof digits, number);
    out.append(digits, result.ptr);
}

// Short decimals like 0.138 without a search: true if `number` is digits / 10^places exactly as the parser reads it.
bool append_short(std::string& out, float number) {
    static constexpr float kPower[7] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f};
    if (!(number >= 1e-4f && number < 1e4f)) return false;
    for (int places = 0; places <= 6; ++places) {
        const float scaled = number * kPower[places];
        if (scaled >= 0x1.0p24f) return false;
        std::uint32_t digits = static_cast<std::uint32_t>(scaled + 0.5f);
        if (static_cast<float>(digits) / kPower[places] != number) continue;
        char text[16];
        char* p = text + sizeof text;
        for (int i = 0; i < places; ++i, digits /= 10) *--p = static_cast<char>('0' + digits % 10);
        if (places > 0) *--p = '.';
        do {
            *--p = static_cast<char>('0' + digits % 10);
            digits /= 10;
        } while (digits != 0);
        out.append(p, text + sizeof text);
        return true;
    }
    return false;
}

void append_number(std::string& out, float number) {
    if (append_short(out, number)) return;
    char digits[32];
#if defined(__cpp_lib_to_chars) && __cpp_lib_to_chars >= 201611L
    const auto result = std::to_chars(digits, digits + sizeof digits, number);  // shortest text that reads back the same
    out.append(digits, result.ptr);
#else
    out.append(digits, static_cast<std::size_t>(std::snprintf(digits, sizeof digits, "%.9g", static_cast<double>(number))));
#endif
}

}  // namespace

std::vector<std::string> format_rows(const std::int64_t* x_starts, const std::int32_t* x_columns, const float* x_values,
                                     const std::int64_t* y_starts, const std::int32_t* y_columns, std::int64_t first,
                                     std::int64_t last, const RowFormat& format, int n_threads) {
    const std::int64_t n_pieces = (last - first + kRowsPerPiece - 1) / kRowsPerPiece;
    std::vector<std::string> pieces(static_cast<std::size_t>(n_pieces));
    parallel_for(n_pieces, n_threads, 1, [&](std::int64_t piece, int) {
        std::string& out = pieces[static_cast<std::size_t>(piece)];
        const std::int64_t from = first + piece * kRowsPerPiece;
        const std::int64_t to = from + kRowsPerPiece < last ? from + kRowsPerPiece : last;
        Pulse pulse;
        for (std::int64_t row = from; row < to; ++row) {
            bool space = false;
            pulse.beat();
            if (format.labels) {
                for (std::int64_t i = y_starts[row]; i < y_starts[row + 1]; ++i) {
                    if (i > y_starts[row]) out += ',';
                    append_number(out, static_cast<std::int64_t>(y_columns[i]));
                }
                space = true;  // a row without labels begins with a space
            }
            const bool nothing = x_starts[row] == x_starts[row + 1] && (!format.labels || y_starts[row] == y_starts[row + 1]);
            for (std::int64_t i = x_starts[row]; i < x_starts[row + 1]; ++i) {
                if (space) out += ' ';
                space = true;
                append_number(out, x_columns[i] + format.index_base);
                out += ':';
                append_number(out, x_values[i]);
            }
            if (nothing && format.svmlight) {  // blank lines are no rows there: a zero keeps the row
                out += ' ';
                append_number(out, format.index_base);
                out += ":0";
            } else if (nothing && format.labels) {
                out += ' ';
            }
            out += '\n';
        }
    });
    return pieces;
}

}  // namespace lw
