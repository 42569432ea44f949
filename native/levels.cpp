// Picks the instruction level once, when the module is loaded; LABELWOOD_SIMD names another one for tests.
#include "levels.hpp"

#include <cstdlib>
#include <cstring>

namespace lw {
namespace {

struct Level {
    Kernels kernels;
    bool supported;
};

// The scores of blocks may be of another level than the rest.
#define LW_KERNELS(name, blocks, level) \
    {#name, level::solve, blocks::score_block, blocks::score_feature_rows, level::score_chosen, blocks::ask_for_words, blocks::ask_for_codes, level::at_least, level::put_best_keys, level::best_key, level::reached_by, level::add_up, level::sparse_row_times, level::dense_rows_times, level::adam_row, \
     level::hs_train, level::hs_add_rows, level::hs_margin, level::dots, level::gathered_dots, level::byte_row_times, level::byte_lines_times, level::add_masked_trees}

#ifdef LW_PORTABLE_ONLY
Level levels[] = {{LW_KERNELS(portable, portable, portable), true}};
#else
bool has_v3() {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("f16c");
}
bool has_v4() {
    return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
Level levels[] = {
    {LW_KERNELS(v2, v2, v2), true},
    {LW_KERNELS(v3, v3, v3), has_v3()},
    {LW_KERNELS(v4, v4, v4), has_v4()},
    {LW_KERNELS(v4vbmi2, v4vbmi2, v4), has_v4() && __builtin_cpu_supports("avx512vbmi2")},
};
#endif
#undef LW_KERNELS

const Kernels* best() {
    const Kernels* found = nullptr;
    for (const Level& level : levels)
        if (level.supported) found = &level.kernels;
    const char* wanted = std::getenv("LABELWOOD_SIMD");
    if (wanted)
        for (const Level& level : levels)
            if (level.supported && std::strcmp(level.kernels.level, wanted) == 0) found = &level.kernels;
    return found;
}

const Kernels* chosen = best();

}  // namespace

const Kernels& kernels() { return *chosen; }

int available_levels(const char** names, int room) {
    int n = 0;
    for (const Level& level : levels)
        if (level.supported && n < room) names[n++] = level.kernels.level;
    return n;
}

bool use_level(const char* name) {
    for (const Level& level : levels) {
        if (level.supported && std::strcmp(level.kernels.level, name) == 0) {
            chosen = &level.kernels;
            return true;
        }
    }
    return false;
}

}  // namespace lw
