// Tokens of many texts -> a sparse matrix of counts, on several threads, the same for any number of them.
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "features/splitter.hpp"

namespace lw {

using Texts = std::vector<std::string_view>;

// Counts by row: columns[pointers[i] .. pointers[i + 1]) ascending, with their counts.
struct CountRows {
    std::vector<std::int64_t> pointers;
    std::unique_ptr<std::int32_t[]> columns;
    std::unique_ptr<std::int32_t[]> counts;
};

// Different tokens in ascending order of their bytes (which is the order of code points).
struct CountedTokens {
    std::vector<char> bytes;
    std::vector<std::int64_t> offsets;  // token i: bytes[offsets[i] .. offsets[i + 1])
    std::vector<std::int64_t> n_rows;   // rows that hold it
    std::vector<std::int64_t> totals;   // occurrences in all rows
    std::int64_t n_seen = 0;            // different tokens before any were left out
};

// Which tokens become columns: those in min_rows..max_rows rows, of these the max_tokens most frequent ones (equally
// frequent ones: first in order; 0: all).
struct TokenLimits {
    double min_rows, max_rows;
    std::int64_t max_tokens;
    bool want_totals;  // fill CountedTokens::totals, which is zeros otherwise
};

// Finds the tokens of the texts and counts them; rows may be null when only the tokens are wanted.
CountedTokens count_tokens(const Texts& texts, const TokenRules& rules, const TokenLimits& limits, int n_threads, CountRows* rows);

// Counts the tokens that the vocabulary knows; its numbers are the columns.
CountRows look_up_tokens(const Texts& texts, const TokenRules& rules, const TokenTable& vocabulary, int n_threads);

// Counts tokens in columns token_hash(token) % n_buckets.
CountRows hash_tokens(const Texts& texts, const TokenRules& rules, std::uint32_t n_buckets, int n_threads);

// The numbers of a table's tokens in ascending order of their bytes.
std::vector<std::uint32_t> in_byte_order(const TokenTable& table);

}  // namespace lw
