#include "models/linear/tree_search.hpp"

#include <algorithm>
#include <cmath>

#include "levels.hpp"
#include "parallel.hpp"

namespace lw {
namespace {

// Larger score first; equal scores to the smaller node, so that the order never depends on the heap's history.
bool later(const Frontier& a, const Frontier& b) { return a.score < b.score || (a.score == b.score && a.node > b.node); }

// Scores the children of one node: labels go to `found`, nodes to `visit(score, node)`.
template <class Visit>
std::int32_t expand(const WeightBlocks& blocks, const SearchTree& tree, const SearchOptions& options, const Query& query,
                    const float* root_margins, const Frontier& from, TopKHeap& found, Visit&& visit) {
    alignas(64) float computed[kMaxChildren];
    const bool leaf = tree.n_children[from.node] == 0;
    std::int32_t child = leaf ? tree.first_label[from.node] : tree.first_child[from.node];
    const std::int64_t first = tree.first_block[from.node], last = tree.first_block[from.node + 1];
    for (std::int64_t b = first; b < last; ++b) {
        const bool known = root_margins && from.node == 0;
        if (!known) kernels().score_block(blocks, b, query, computed);
        const float* margins = known ? root_margins + blocks.child_start[b] - blocks.child_start[first] : computed;
        const std::int32_t n = static_cast<std::int32_t>(blocks.child_start[b + 1] - blocks.child_start[b]);
        for (std::int32_t c = 0; c < n; ++c, ++child) {
            if (leaf || tree.is_label(child)) {
                const std::int32_t place = leaf ? child : tree.first_label[child];
                if (options.allowed && !options.allowed[place]) continue;
                const float score = path_score(options.link, from.score, margins[c]);
                if (!found.full() || score >= found.worst()) found.offer(score, tree.label_order[place]);
            } else {
                if (options.open && !options.open[child]) continue;
                const float score = path_score(options.link, from.score, margins[c]);
                if (!found.full() || score - options.slack > found.worst()) visit(score, child);
            }
        }
    }
    return static_cast<std::int32_t>(last - first);
}

std::int32_t best_first(const WeightBlocks& blocks, const SearchTree& tree, const SearchOptions& options, const Query& query,
                        SearchMemory& memory, TopKHeap& found) {
    std::vector<Frontier>& frontier = memory.frontier;
    std::int32_t n_blocks = 0;
    while (!frontier.empty()) {
        std::pop_heap(frontier.begin(), frontier.end(), later);
        const Frontier next = frontier.back();
        frontier.pop_back();
        if (found.full() && next.score - options.slack <= found.worst()) break;
        n_blocks += expand(blocks, tree, options, query, memory.root_margins, next, found, [&](float score, std::int32_t node) {
            frontier.push_back({score, node});
            std::push_heap(frontier.begin(), frontier.end(), later);
        });
        if (options.max_blocks && n_blocks >= options.max_blocks) break;
    }
    return n_blocks;
}

// Level by level, the best `beam` nodes of each; a leaf that is reached early gives its labels at once.
std::int32_t beam_search(const WeightBlocks& blocks, const SearchTree& tree, const SearchOptions& options, const Query& query,
                         SearchMemory& memory, TopKHeap& found) {
    std::int32_t n_blocks = 0;
    while (!memory.frontier.empty()) {
        memory.next.clear();
        for (const Frontier& from : memory.frontier) {
            if (found.full() && from.score - options.slack <= found.worst()) continue;
            n_blocks += expand(blocks, tree, options, query, memory.root_margins, from, found,
                               [&](float score, std::int32_t node) { memory.next.push_back({score, node}); });
            if (options.max_blocks && n_blocks >= options.max_blocks) return n_blocks;
        }
        const auto before = [](const Frontier& a, const Frontier& b) { return later(b, a); };
        const std::size_t kept = std::min<std::size_t>(memory.next.size(), static_cast<std::size_t>(options.beam));
        std::partial_sort(memory.next.begin(), memory.next.begin() + static_cast<std::ptrdiff_t>(kept), memory.next.end(), before);
        memory.next.resize(kept);
        std::swap(memory.frontier, memory.next);
    }
    return n_blocks;
}

// Floats of root margins that a thread holds at once: 4 MB.
constexpr std::int64_t kMarginsTogether = 1 << 20;

// The root's margins of a slice of rows, and the rows in the order of their best child.
struct RootMemory {
    std::vector<float> margins;
    std::vector<std::pair<std::int64_t, std::int64_t>> order;  // best child, row
};

template <class QueryOf>
void score_roots(const WeightBlocks& blocks, std::int64_t n_root_blocks, std::int64_t n_root, std::int64_t begin, std::int64_t end,
                 QueryOf&& query_of, RootMemory& root) {
    alignas(64) float block_margins[kMaxChildren];
    root.margins.resize(static_cast<std::size_t>((end - begin) * n_root));
    root.order.clear();
    for (std::int64_t r = begin; r < end; ++r) {
        float* margins = root.margins.data() + (r - begin) * n_root;
        check_interrupt();
        for (std::int64_t b = 0; b < n_root_blocks; ++b) {
            kernels().score_block(blocks, b, query_of(r), block_margins);
            std::copy(block_margins, block_margins + (blocks.child_start[b + 1] - blocks.child_start[b]), margins + blocks.child_start[b]);
        }
        root.order.emplace_back(std::max_element(margins, margins + n_root) - margins, r);
    }
    std::sort(root.order.begin(), root.order.end());
}

}  // namespace

std::int32_t search_tree(const WeightBlocks& blocks, const SearchTree& tree, const SearchOptions& options, const Query& query,
                         std::int32_t k, SearchMemory& memory, std::int32_t* labels, float* scores, std::int32_t* n_blocks) {
    memory.best.resize(static_cast<std::size_t>(k));
    memory.frontier.clear();
    if (!options.open || options.open[0]) memory.frontier.push_back({0.0f, 0});
    TopKHeap found(memory.best.data(), k);
    *n_blocks = options.beam ? beam_search(blocks, tree, options, query, memory, found)
                             : best_first(blocks, tree, options, query, memory, found);
    const Scored* best = found.sorted();
    for (std::int32_t j = 0; j < found.size(); ++j) {
        labels[j] = best[j].label;
        scores[j] = best[j].score;
    }
    return found.size();
}

std::int32_t search_forest(const ForestTree* trees, std::int32_t n_trees, const SearchOptions& options, const Query& query, std::int32_t k,
                           std::int32_t k_each, ForestMemory& memory, std::int32_t* labels, float* scores, std::int32_t* n_blocks) {
    *n_blocks = 0;
    memory.merged.clear();
    memory.labels.resize(static_cast<std::size_t>(k_each));
    memory.scores.resize(static_cast<std::size_t>(k_each));
    SearchOptions own = options;
    for (std::int32_t t = 0; t < n_trees; ++t) {
        std::int32_t used = 0;
        const std::int32_t n = search_tree(*trees[t].blocks, *trees[t].tree, own, query, k_each, memory.search,
                                           memory.labels.data(), memory.scores.data(), &used);
        *n_blocks += used;
        memory.search.root_margins = nullptr;  // they are those of the first tree
        if (options.allowed) {
            own.allowed += trees[t].tree->n_labels;
            own.open += trees[t].tree->n_nodes;
        }
        for (std::int32_t j = 0; j < n; ++j) memory.merged.push_back({std::exp(memory.scores[j]), memory.labels[j]});
    }
    std::vector<Scored>& all = memory.merged;
    if (n_trees > 1) {  // add up what the trees say of the same label
        std::stable_sort(all.begin(), all.end(), [](const Scored& a, const Scored& b) { return a.label < b.label; });
        std::size_t kept = 0;
        for (std::size_t i = 0; i < all.size();) {
            Scored sum = all[i];
            for (++i; i < all.size() && all[i].label == sum.label; ++i) sum.score += all[i].score;
            sum.score /= static_cast<float>(n_trees);
            all[kept++] = sum;
        }
        all.resize(kept);
        std::sort(all.begin(), all.end(), better);
    }
    const std::int32_t n = std::min(k, static_cast<std::int32_t>(all.size()));
    for (std::int32_t j = 0; j < n; ++j) {
        labels[j] = all[static_cast<std::size_t>(j)].label;
        scores[j] = all[static_cast<std::size_t>(j)].score;
    }
    return n;
}

void search_forest_rows(const ForestTree* trees, std::int32_t n_trees, const SearchOptions& options, std::int64_t n_rows,
                        const std::int64_t* indptr, const std::int32_t* indices, const float* data, std::int32_t k, std::int32_t k_each,
                        int n_threads, std::int32_t* labels, float* scores, std::int32_t* n_blocks) {
    if (n_threads < 1) n_threads = max_threads();
    const auto query_of = [&](std::int64_t r) {
        return Query{static_cast<std::int32_t>(indptr[r + 1] - indptr[r]), indices + indptr[r], data + indptr[r]};
    };
    const WeightBlocks& blocks = *trees[0].blocks;
    const std::int64_t last_root_block = trees[0].tree->first_block[1], n_root = blocks.child_start[last_root_block];
    // Enough rows together that several share a child, few enough that every thread has some slices to do.
    const std::int64_t slice = std::clamp<std::int64_t>(n_rows / (4 * n_threads), 64, std::max<std::int64_t>(64, kMarginsTogether / n_root));
    std::vector<ForestMemory> memory(static_cast<std::size_t>(n_threads));
    std::vector<RootMemory> roots(static_cast<std::size_t>(n_threads));
    parallel_for((n_rows + slice - 1) / slice, n_threads, 1, [&](std::int64_t s, int thread) {
        const std::int64_t begin = s * slice, end = std::min(n_rows, begin + slice);
        RootMemory& root = roots[static_cast<std::size_t>(thread)];
        ForestMemory& own = memory[static_cast<std::size_t>(thread)];
        score_roots(blocks, last_root_block, n_root, begin, end, query_of, root);
        for (const auto& [child, r] : root.order) {
            check_interrupt();
            own.search.root_margins = root.margins.data() + (r - begin) * n_root;
            search_forest(trees, n_trees, options, query_of(r), k, k_each, own, labels + r * k, scores + r * k, n_blocks + r);
        }
    });
}

}  // namespace lw
