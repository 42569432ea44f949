// The k nearest of many dense vectors, by exact inner products: over ranges of the vectors, or over given candidates.
#pragma once
#include <cstdint>

namespace lw {

enum class Stored : int { float32 = 0, bfloat16 = 1, int8 = 2 };

// Dense vectors, padded with zeros to `dim` columns (a multiple of 16). An int8 vector is its numbers times its scale.
struct VectorStore {
    Stored kind = Stored::float32;
    const void* data = nullptr;
    const float* scale = nullptr;  // int8 only
    const float* bias = nullptr;   // added to the product of a vector; may be null
    std::int64_t n = 0;
    std::int32_t dim = 0;
};

struct NeighborQueries {
    const float* values = nullptr;  // (n, dim of the store)
    std::int64_t n = 0;
    std::int32_t k = 0;
    int n_threads = 1;
};

// Where to look: range r holds the vectors starts[r] .. starts[r + 1] - 1; probes (n queries x n_probes) name the ranges
// of each query, -1 for none; without probes all ranges are searched. ids: the number of each vector, or null for its place.
struct VectorRanges {
    const std::int64_t* starts = nullptr;
    std::int32_t n_ranges = 0;
    const std::int32_t* probes = nullptr;
    std::int32_t n_probes = 0;
    const std::int32_t* ids = nullptr;
};

// found (n x k), best first: the largest product + bias, equal ones to the smaller id; padded with -1 and -infinity.
void search_ranges(const VectorStore& store, const VectorRanges& ranges, const NeighborQueries& queries, std::int32_t* found,
                   float* scores);
// The same over candidates (n x n_candidates): places of vectors, -1 for none, each at most once in a row.
void search_candidates(const VectorStore& store, const std::int64_t* candidates, std::int32_t n_candidates,
                       const NeighborQueries& queries, std::int32_t* found, float* scores);

}  // namespace lw
