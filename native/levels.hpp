// The hot kernels, compiled once per instruction level; kernels() is the table of the best level this CPU has.
#pragma once
#include <cstddef>
#include <cstdint>

#include "models/ensemble/byte_table.hpp"
#include "models/ensemble/masked_trees.hpp"
#include "models/hsoftmax/hsoftmax.hpp"
#include "models/linear/blocks.hpp"
#include "models/linear/feature_rows.hpp"
#include "models/linear/solver.hpp"
#include "models/neural/dense_rows.hpp"
#include "topk.hpp"

namespace lw {

struct Kernels {
    const char* level;
    int (*solve)(const SolveTask&, const SolveOptions&, const SolveScratch&);
    void (*score_block)(const WeightBlocks&, std::int64_t, const Query&, float*);
    void (*score_feature_rows)(const WeightBlocks&, const FeatureRows&, const Query&, float*, float*);
    void (*score_chosen)(const WeightBlocks&, const FeatureRows&, const Query&, const ChosenChildren&, const ChosenRoom&, float*);
    void (*ask_for_words)(const WeightBlocks&, std::int64_t, const Query&);
    void (*ask_for_codes)(const WeightBlocks&, std::int64_t, const Query&);
    int (*at_least)(const float*, int, float, std::uint8_t*);
    void (*put_best_keys)(std::uint64_t*, int, const std::uint64_t*, int);
    int (*best_key)(const std::uint64_t*, int);
    float (*reached_by)(const float*, int, int);
    int (*add_up)(const Scored*, int, std::int32_t*, float*);
    void (*sparse_row_times)(const std::int32_t*, const float*, std::int64_t, const DenseTable&, float*);
    void (*dense_rows_times)(const float*, std::int64_t, const DenseTable&, float*);
    void (*adam_row)(const float*, std::int64_t, const AdamStep&, float*, float*, float*);
    void (*hs_train)(const HsTraining&, const std::int32_t*, std::int64_t, std::int64_t, std::int64_t, std::uint64_t, HsScratch&);
    void (*hs_add_rows)(const HsVectors&, const std::int32_t*, const float*, std::int32_t, float*);
    float (*hs_margin)(const HsVectors&, std::int64_t, const float*);
    void (*dots)(const float*, int, const float*, std::int64_t, std::int32_t, float*);
    void (*gathered_dots)(const float*, const float*, const std::int32_t*, std::int64_t, std::int64_t, float*);
    void (*byte_row_times)(const std::int32_t*, const float*, std::int64_t, const ByteTable&, float*);
    void (*byte_lines_times)(const std::int16_t*, const ByteTable&, float, const float*, float*);
    void (*add_masked_trees)(const MaskedTrees&, std::int64_t, std::int64_t, const float*, double*);
};

#define LW_DECLARE_BLOCKS(name)                                                                                 \
    namespace name {                                                                                            \
    void score_block(const WeightBlocks&, std::int64_t, const Query&, float*);                                  \
    void score_feature_rows(const WeightBlocks&, const FeatureRows&, const Query&, float*, float*);             \
    void ask_for_words(const WeightBlocks&, std::int64_t, const Query&);                                        \
    void ask_for_codes(const WeightBlocks&, std::int64_t, const Query&);                                        \
    }
#define LW_DECLARE_LEVEL(name)                                                                                  \
    LW_DECLARE_BLOCKS(name)                                                                                     \
    namespace name {                                                                                            \
    int solve(const SolveTask&, const SolveOptions&, const SolveScratch&);                                      \
    void score_chosen(const WeightBlocks&, const FeatureRows&, const Query&, const ChosenChildren&,             \
                      const ChosenRoom&, float*);                                                               \
    int at_least(const float*, int, float, std::uint8_t*);                                                      \
    void put_best_keys(std::uint64_t*, int, const std::uint64_t*, int);                                         \
    int best_key(const std::uint64_t*, int);                                                                    \
    float reached_by(const float*, int, int);                                                                   \
    int add_up(const Scored*, int, std::int32_t*, float*);                                                      \
    void sparse_row_times(const std::int32_t*, const float*, std::int64_t, const DenseTable&, float*);          \
    void dense_rows_times(const float*, std::int64_t, const DenseTable&, float*);                               \
    void adam_row(const float*, std::int64_t, const AdamStep&, float*, float*, float*);                         \
    void hs_train(const HsTraining&, const std::int32_t*, std::int64_t, std::int64_t, std::int64_t, std::uint64_t, \
                  HsScratch&);                                                                                  \
    void hs_add_rows(const HsVectors&, const std::int32_t*, const float*, std::int32_t, float*);                \
    float hs_margin(const HsVectors&, std::int64_t, const float*);                                              \
    void dots(const float*, int, const float*, std::int64_t, std::int32_t, float*);                             \
    void gathered_dots(const float*, const float*, const std::int32_t*, std::int64_t, std::int64_t, float*);    \
    void byte_row_times(const std::int32_t*, const float*, std::int64_t, const ByteTable&, float*);             \
    void byte_lines_times(const std::int16_t*, const ByteTable&, float, const float*, float*);                  \
    void add_masked_trees(const MaskedTrees&, std::int64_t, std::int64_t, const float*, double*);               \
    }
#ifdef LW_PORTABLE_ONLY
LW_DECLARE_LEVEL(portable)
#else
LW_DECLARE_LEVEL(v2)
LW_DECLARE_LEVEL(v3)
LW_DECLARE_LEVEL(v4)
LW_DECLARE_BLOCKS(v4vbmi2)
#endif
#undef LW_DECLARE_LEVEL
#undef LW_DECLARE_BLOCKS

const Kernels& kernels();
// The names of the levels this CPU can run, slowest first.
int available_levels(const char** names, int room);
// Use this level from now on (for tests); false if the CPU or the build lacks it.
bool use_level(const char* name);

}  // namespace lw
