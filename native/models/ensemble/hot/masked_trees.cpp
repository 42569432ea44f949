// What small trees say of sixteen items.
#include "models/ensemble/masked_trees.hpp"

#include "simd.hpp"

namespace lw::LW_LEVEL {

void add_masked_trees(const MaskedTrees& trees, std::int64_t begin, std::int64_t end, const float* columns, double* sums) {
    for (std::int64_t tree = begin; tree < end; ++tree) {
        ipiece left[kPieces];  // the leaves that items may still reach
        for (int p = 0; p < kPieces; ++p) left[p] = ipiece{} - 1;
        for (std::int32_t n = trees.first_nodes[tree]; n < trees.first_nodes[tree + 1]; ++n) {
            const MaskedNode& node = trees.nodes[n];
            const F16 asked = F16::load(columns + static_cast<std::int64_t>(node.feature) * kItemsAtOnce);
            const fpiece threshold = fpiece{} + node.threshold;
            const ipiece kept = ipiece{} + static_cast<std::int32_t>(~node.left_leaves);
            for (int p = 0; p < kPieces; ++p) left[p] = asked.part[p] > threshold ? left[p] & kept : left[p];
        }
        const float* leaves = trees.leaves + tree * kMostLeaves;
        std::int32_t leaf[kItemsAtOnce];
        for (int p = 0; p < kPieces; ++p) {
            // The lowest bit as a float: its exponent is the number of the leaf.
            const fpiece lowest = __builtin_convertvector(left[p] & -left[p], fpiece);
            std::int32_t bits[kPieceLanes];
            __builtin_memcpy(bits, &lowest, sizeof bits);
            for (int i = 0; i < kPieceLanes; ++i) leaf[p * kPieceLanes + i] = (bits[i] >> 23) - 127;
        }
        for (int i = 0; i < kItemsAtOnce; ++i) sums[i] += leaves[leaf[i]];
    }
}

}  // namespace lw::LW_LEVEL
