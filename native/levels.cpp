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

#ifdef LW_PORTABLE_ONLY
Level levels[] = {{{"portable", portable::solve, portable::score_block, portable::dots}, true}};
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
    {{"v2", v2::solve, v2::score_block, v2::dots}, true},
    {{"v3", v3::solve, v3::score_block, v3::dots}, has_v3()},
    {{"v4", v4::solve, v4::score_block, v4::dots}, has_v4()},
};
#endif

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
