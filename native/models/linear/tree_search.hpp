// Top-k labels of rows in a tree of weight blocks: best-first (exact) and beam search.
//
// A node's path score is the sum of g(margin) from the root; g <= 0, so scores never grow with depth. Best-first
// search may therefore stop as soon as k labels are at least as good as the best node that is still closed.
#pragma once
#include <cstdint>
#include <vector>

#include "models/linear/blocks.hpp"
#include "models/linear/feature_rows.hpp"
#include "models/linear/link.hpp"
#include "topk.hpp"

namespace lw {

struct SearchTree {
    std::int64_t n_nodes, n_labels;
    const std::int32_t* first_child;   // -1 in leaves
    const std::int32_t* n_children;    // 0 in leaves
    const std::int32_t* first_label;   // place of a leaf's first label in label_order
    const std::int32_t* n_labels_in;
    const std::int32_t* label_order;
    // n_nodes + 1: a node with more than 256 children has several blocks; a leaf of one label may have none, its own
    // classifier (among its parent's) then decides for the label.
    const std::int64_t* first_block;
    bool root_of_nodes;                // the root has children, and none of them is a label
    bool lone_labels;                  // some nodes are labels
    bool even;                         // the children of a node are all above others, or none is
    FeatureRows rows;                  // of the root's blocks, or of all if n_together says so; no blocks: there is no copy
    std::int64_t n_together;           // the first so many classifiers are scored together: the root's, or all of a small tree

    bool is_label(std::int32_t node) const { return n_children[node] == 0 && first_block[node] == first_block[node + 1]; }
};

struct SearchOptions {
    Link link;
    std::int32_t beam;              // 0: best-first; otherwise nodes kept per level
    std::int64_t max_blocks;        // stop after this many blocks; 0: no limit
    const std::uint8_t* allowed;    // per place in label_order (tree after tree in a forest), or null: all
    const std::uint8_t* open;       // per node (tree after tree): has an allowed label below; null: all
    float slack = 0;                // labels count as this much below their node's log score; 0: exact
    std::int64_t max_nodes = 0;     // best-first: stop after this many nodes below the root of each tree; 0: no limit
    float lead = 0;                 // with max_nodes: a node above others stands in line as if its log score were so much lower
    std::int32_t n_sure = 0;        // labels that each tree of a forest is sure of, at most k_each; 0: all
};

struct Frontier {
    float score;
    std::int32_t node;
};

// Memory of one thread, kept between queries.
struct SearchMemory {
    std::vector<Frontier> frontier, next;
    std::vector<std::uint64_t> closed, ordered_nodes, ordered_labels, sums;
    std::vector<std::int32_t> slots;  // a hash table of what the trees found
    std::vector<Scored> best, bound;
    std::vector<float> own_margins, room;
    std::vector<float> waiting;      // log scores of the nodes that wait longer
    const float* margins = nullptr;  // of the row's query under the classifiers that are scored together, if they are known already
};

// Writes up to k labels and log scores, best first; returns how many. *n_blocks: blocks evaluated. The first n_sure of
// the labels are the best ones there are; those behind are the best of the nodes that had to be opened for that.
std::int32_t search_tree(const WeightBlocks& blocks, const SearchTree& tree, const SearchOptions& options, const Query& query,
                         std::int32_t k, std::int32_t n_sure, SearchMemory& memory, std::int32_t* labels, float* scores, std::int32_t* n_blocks);

// One tree of a forest.
struct ForestTree {
    const WeightBlocks* blocks;
    const SearchTree* tree;
};

// Memory of one thread for a whole forest.
struct ForestMemory {
    SearchMemory search;
    std::vector<std::int32_t> labels;
    std::vector<float> scores;
    std::vector<Scored> merged;
};

// The k best labels by the mean over the trees of exp(log score), a tree that did not name a label counting 0; writes
// these means, padded places stay as they were. Each tree is asked for k_each labels.
std::int32_t search_forest(const ForestTree* trees, std::int32_t n_trees, const SearchOptions& options, const Query& query, std::int32_t k,
                           std::int32_t k_each, ForestMemory& memory, std::int32_t* labels, float* scores, std::int32_t* n_blocks);

// All rows, in parallel. Rows that go into the same part of a tree are answered one after another, so that its weights are
// still in the cache: some thousand rows go through one tree after the other, for each the margins under the root are
// computed first, and the rows are then taken in the order of their best child.
void search_forest_rows(const ForestTree* trees, std::int32_t n_trees, const SearchOptions& options, std::int64_t n_rows,
                        const std::int64_t* indptr, const std::int32_t* indices, const float* data, std::int32_t k, std::int32_t k_each,
                        int n_threads, std::int32_t* labels, float* scores, std::int32_t* n_blocks);

}  // namespace lw
