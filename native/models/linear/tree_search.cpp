#include "models/linear/tree_search.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "levels.hpp"
#include "parallel.hpp"
#include "rank_keys.hpp"

namespace lw {
namespace {

// Up to so many labels and nodes lie in order, which answers all questions at once; more in heaps. Up to so many nodes are no heap
// yet: to look through all of them for the best takes less than to keep one.
constexpr std::int64_t kMostInOrder = 128;
constexpr std::size_t kMostLookedThrough = 256;
constexpr float kNone = -std::numeric_limits<float>::infinity();

// The best keys in order, best first; 0 where there is none. Room for `n` of them, and some more for whole vectors.
class KeysInOrder {
public:
    KeysInOrder(std::vector<RankKey>& keys, std::int64_t n) : keys_(keys) { keys_.assign(n <= 8 ? 8 : n <= 16 ? 16 : n <= 32 ? 32 : n <= 64 ? 64 : 128, 0); }

    RankKey operator[](std::int64_t place) const { return keys_[static_cast<std::size_t>(place)]; }
    void put(const RankKey* fresh, int n) { kernels().put_best_keys(keys_.data(), static_cast<int>(keys_.size()), fresh, n); }
    RankKey take_best() {
        const RankKey best = keys_[0];
        std::copy(keys_.begin() + 1, keys_.end(), keys_.begin());
        keys_.back() = 0;
        return best;
    }

private:
    std::vector<RankKey>& keys_;
};

// The nodes that are still closed; the best comes out first. Where only `most` more will be opened, only as many are kept:
// the others have too many better ones before them, whatever comes.
class ClosedNodes {
public:
    ClosedNodes(SearchMemory& memory, std::int64_t most)
        : nodes_(memory.closed), most_(most), in_order_(most <= kMostInOrder), ordered_(memory.ordered_nodes, in_order_ ? most : 0) { nodes_.clear(); }

    bool empty() const { return in_order_ ? most_ == 0 || ordered_[0] == 0 : nodes_.empty(); }
    void put(const RankKey* fresh, int n) {
        if (in_order_) {
            ordered_.put(fresh, n);
        } else {
            nodes_.insert(nodes_.end(), fresh, fresh + n);
        }
    }
    Frontier take_best() {
        const RankKey best = in_order_ ? ordered_.take_best() : best_of_nodes();
        taken_one();
        return {score_of(best), number_of(best)};
    }
    // The node that comes after so many others, if these are all that are left; -1: not known.
    std::int32_t coming(std::int64_t place) const { return in_order_ && place < most_ && ordered_[place] ? number_of(ordered_[place]) : -1; }
    // Also for a node that is opened without having been among these.
    void taken_one() { most_ -= most_ < kNoLimit; }
    // The score that a node needs to be kept; minus infinity while every one is.
    float needs() const {
        const RankKey last = in_order_ && most_ > 0 ? ordered_[most_ - 1] : 0;
        return last ? score_of(last) : kNone;
    }

    static constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

private:
    RankKey best_of_nodes() {
        if (n_in_heap_ == 0 && nodes_.size() <= kMostLookedThrough) {
            std::swap(nodes_[static_cast<std::size_t>(kernels().best_key(nodes_.data(), static_cast<int>(nodes_.size())))], nodes_.back());
        } else {
            make_heap();
            std::pop_heap(nodes_.begin(), nodes_.end());
            --n_in_heap_;
        }
        const RankKey best = nodes_.back();
        nodes_.pop_back();
        return best;
    }
    // The nodes that were put since the last was taken go into the heap together: a wide node brings many at once.
    void make_heap() {
        if (2 * n_in_heap_ < nodes_.size()) {
            std::make_heap(nodes_.begin(), nodes_.end());
            n_in_heap_ = nodes_.size();
        }
        while (n_in_heap_ < nodes_.size()) std::push_heap(nodes_.begin(), nodes_.begin() + static_cast<std::ptrdiff_t>(++n_in_heap_));
    }
    std::vector<RankKey>& nodes_;
    std::int64_t most_;
    std::size_t n_in_heap_ = 0;
    bool in_order_;
    KeysInOrder ordered_;
};

// The labels found so far, and how good a node must be to be opened: able to better the last of the n_sure best
// labels even after it lost `slack`.
class Found {
public:
    Found(SearchMemory& memory, std::int32_t k, std::int32_t n_sure, float slack)
        : k_(k), n_sure_(n_sure), in_order_(k <= kMostInOrder), ordered_(memory.ordered_labels, in_order_ ? k : 0),
          best_(resized(memory.best, in_order_ ? 0 : k), k), bound_(resized(memory.bound, in_order_ ? 0 : n_sure), n_sure),
          narrower_(n_sure < k), slack_(slack) {}

    void offer(const RankKey* fresh, int n) {
        if (in_order_) {
            size_ = std::min(size_ + n, k_);
            ordered_.put(fresh, n);
            return;
        }
        for (int i = 0; i < n; ++i) {
            const float score = score_of(fresh[i]);
            if (best_.full() && !(score >= best_.worst())) continue;
            best_.offer(score, number_of(fresh[i]));
            if (narrower_ && (!bound_.full() || score > bound_.worst())) bound_.offer(score, number_of(fresh[i]));
        }
    }
    // The score that a label needs; minus infinity while any is taken.
    float label_needs() const {
        if (in_order_) return size_ == k_ ? score_of(ordered_[k_ - 1]) : kNone;
        return best_.full() ? best_.worst() : kNone;
    }
    // The score that a node must be above; minus infinity while any is opened.
    float node_needs() const {
        if (in_order_) return size_ >= n_sure_ ? score_of(ordered_[n_sure_ - 1]) + slack_ : kNone;
        const TopKHeap& sure = narrower_ ? bound_ : best_;
        return sure.full() ? sure.worst() + slack_ : kNone;
    }
    std::int32_t k() const { return k_; }
    // Writes labels and scores, best first, and returns how many; nothing can be offered any more.
    std::int32_t take(std::int32_t* labels, float* scores) {
        const std::int32_t n = in_order_ ? size_ : best_.size();
        const Scored* best = in_order_ ? nullptr : best_.sorted();
        for (std::int32_t j = 0; j < n; ++j) {
            labels[j] = best ? best[j].label : number_of(ordered_[j]);
            scores[j] = best ? best[j].score : score_of(ordered_[j]);
        }
        return n;
    }

private:
    static Scored* resized(std::vector<Scored>& entries, std::int32_t n) {
        entries.resize(static_cast<std::size_t>(n));
        return entries.data();
    }

    std::int32_t k_, n_sure_, size_ = 0;
    bool in_order_;
    KeysInOrder ordered_;
    TopKHeap best_, bound_;
    bool narrower_;
    float slack_;
};

constexpr std::int32_t kSettingTheBar = 32;
constexpr float kAlike = 1e-6f;  // least_margin cannot tell how little makes the best score there is

// While nothing is known, every label of a leaf would be taken. A margin that k of them reach is enough for all of them.
float first_bar(Link link, float above, const float* margins, std::int32_t n, std::int32_t k) {
    if (k > kSettingTheBar || n <= k) return kNone;
    const float reached = kernels().reached_by(margins, n, k);
    return reached == kNone ? kNone : least_margin(link, above, path_score(link, above, reached) - kAlike);
}

// Nodes above others wait: they stand in line as if their scores were so much lower. The scores themselves are kept here, by
// node, since a difference that is added again is not what it was. all: every child of the node that is opened now waits.
struct Wait {
    float lead = 0;
    float* scores = nullptr;
    bool all = false;
};

// Scores the children of one node: labels go to `found`, nodes to `visit(keys, n)`, which may leave out those below
// `visit_needs()`.
template <class Visit, class Needs>
std::int32_t expand(const WeightBlocks& blocks, const SearchTree& tree, const SearchOptions& options, const Query& query,
                    const float* known_margins, const Wait& wait, const Frontier& from, Found& found, Visit&& visit, Needs&& visit_needs) {
    alignas(64) float computed[kMaxChildren];
    RankKey labels[kMaxChildren], nodes[kMaxChildren];
    const bool leaf = tree.n_children[from.node] == 0;
    std::int32_t first_child = leaf ? tree.first_label[from.node] : tree.first_child[from.node];
    const std::int64_t first = tree.first_block[from.node], last = tree.first_block[from.node + 1];
    for (std::int64_t b = first; b < last; ++b) {
        const bool known = known_margins && blocks.child_start[b] < tree.n_together;
        if (!known) kernels().score_block(blocks, b, query, computed);
        const float* margins = known ? known_margins + blocks.child_start[b] : computed;
        const std::int32_t n = static_cast<std::int32_t>(blocks.child_start[b + 1] - blocks.child_start[b]);
        // Most children are far from good enough: they are left out sixteen at a time, without a score. A bar of minus
        // infinity takes all of them, also those whose margin is no number; so the first few, which set the bar, come alone.
        for (std::int32_t begin = 0, size = kSettingTheBar; begin < n; begin += size, size = kMaxChildren) {
            // Where some wait, what a node needs to be put in line is its place alone: each that comes out counts, opened or not.
            const float label_bar = found.label_needs(), node_bar = wait.scores ? kNone : found.node_needs();
            const float nodes_need = leaf ? label_bar : std::max(node_bar, visit_needs() + (wait.all ? wait.lead : 0.0f));
            float least = least_margin(options.link, from.score, leaf || !tree.lone_labels ? nodes_need : std::min(label_bar, nodes_need));
            if (leaf && label_bar == kNone && !options.allowed) {
                least = first_bar(options.link, from.score, margins + begin, n - begin, found.k());
                if (least != kNone) size = n;
            }
            const std::int32_t here = std::min(size, n - begin);
            std::uint8_t chosen[kMaxChildren];
            const bool all = least == kNone;
            const int n_chosen = all ? here : kernels().at_least(margins + begin, here, least, chosen);
            int n_labels = 0, n_nodes = 0;
            for (int i = 0; i < n_chosen; ++i) {
                const std::int32_t c = begin + (all ? i : chosen[i]), child = first_child + c;
                const float score = path_score(options.link, from.score, margins[c]);
                if (leaf || tree.is_label(child)) {
                    const std::int32_t place = leaf ? child : tree.first_label[child];
                    labels[n_labels] = rank_key(score, tree.label_order[place]);
                    n_labels += !options.allowed || options.allowed[place];
                } else if (!options.open || options.open[child]) {
                    const bool waits = wait.scores && tree.n_children[child];
                    nodes[n_nodes] = rank_key(waits ? score - wait.lead : score, child);
                    if (waits) wait.scores[child] = score;
                    n_nodes += !(score <= node_bar);
                }
            }
            if (n_labels) found.offer(labels, n_labels);
            if (n_nodes) visit(nodes, n_nodes);
        }
        first_child += n;
    }
    return static_cast<std::int32_t>(last - first);
}

// Writes the margins under the classifiers that are scored together.
void score_together(const WeightBlocks& blocks, const SearchTree& tree, const Query& query, std::vector<float>& room, float* margins) {
    if (tree.rows.n_blocks) {
        room.resize(static_cast<std::size_t>(tree.rows.n_blocks) * kMaxChildren);
        return kernels().score_feature_rows(blocks, tree.rows, query, room.data(), margins);
    }
    alignas(64) float block_margins[kMaxChildren];
    for (std::int64_t b = 0; blocks.child_start[b] < tree.n_together; ++b) {
        kernels().score_block(blocks, b, query, block_margins);
        std::copy(block_margins, block_margins + (blocks.child_start[b + 1] - blocks.child_start[b]), margins + blocks.child_start[b]);
    }
}

// The best child of the root, the first of equal ones. Only for roots without labels among their children.
Frontier best_root_child(const SearchTree& tree, Link link, const float* margins) {
    const std::int32_t n = tree.n_children[0];
    float most = kNone;  // a margin that is no number is no more than that
    for (std::int32_t c = 0; c < n; ++c) most = margins[c] > most ? margins[c] : most;
    const float score = path_score(link, 0.0f, most);
    // Margins above 1 score alike, and others may by rounding.
    const float least = least_margin(link, 0.0f, score - kAlike);
    std::int32_t best = 0;
    while (best + 1 < n && (margins[best] < least || path_score(link, 0.0f, margins[best]) != score)) ++best;
    return {score, tree.first_child[0] + best};
}

// A model that is larger than the caches: while one node is opened, the memory of those that are likely to follow is asked for.
constexpr std::int64_t kLargePayload = 16 << 20;

void ask_ahead(const WeightBlocks& blocks, const SearchTree& tree, const Query& query, const ClosedNodes& closed) {
    const std::int32_t next = closed.coming(0), after = closed.coming(1), later = closed.coming(2);
    if (later >= 0) {
        const std::int64_t block = tree.first_block[later];
        for (std::int32_t t = 0; t < blocks.n_top; t += 8) __builtin_prefetch(blocks.top_bits + block * blocks.n_top + t);
        for (std::int32_t t = 0; t < blocks.n_top; t += 16) __builtin_prefetch(blocks.top_rank + block * blocks.n_top + t);
    }
    if (after >= 0) kernels().ask_for_words(blocks, tree.first_block[after], query);
    if (next >= 0) kernels().ask_for_codes(blocks, tree.first_block[next], query);
}

std::int32_t best_first(const WeightBlocks& blocks, const SearchTree& tree, const SearchOptions& options, const Query& query,
                        SearchMemory& memory, Found& found) {
    std::int32_t n_blocks = 0;
    std::int64_t n_opened = 0;
    ClosedNodes closed(memory, options.max_nodes ? options.max_nodes : ClosedNodes::kNoLimit);
    const bool best_of_root_first = tree.root_of_nodes && !options.open;
    const float* margins = memory.margins;
    if (!margins && (best_of_root_first || tree.rows.n_blocks)) {
        memory.own_margins.resize(static_cast<std::size_t>(tree.n_together));
        score_together(blocks, tree, query, memory.room, memory.own_margins.data());
        margins = memory.own_margins.data();
    }
    const bool large = blocks.payload_start[blocks.n_blocks] > kLargePayload;
    Wait waits;
    if (options.max_nodes && options.lead > 0) {
        memory.waiting.resize(static_cast<std::size_t>(tree.n_nodes));
        waits = {options.lead, memory.waiting.data(), false};
    }
    RankKey opened = 0;
    const auto open = [&](const Frontier& node) {
        waits.all = tree.even && tree.n_children[node.node] && tree.n_children[tree.first_child[node.node]];
        return expand(blocks, tree, options, query, margins, waits, node, found,
                      [&](RankKey* keys, int n) { closed.put(keys, static_cast<int>(std::remove(keys, keys + n, opened) - keys)); },
                      [&] { return closed.needs(); });
    };
    const auto enough = [&] {
        return (options.max_blocks && n_blocks >= options.max_blocks) || (options.max_nodes && n_opened >= options.max_nodes);
    };
    if (options.open && !options.open[0]) return 0;
    if (best_of_root_first) {
        // What the best child holds tells that most of the others need not be kept at all.
        n_blocks = static_cast<std::int32_t>(tree.first_block[1]);
        if (enough()) return n_blocks;
        const Frontier best = best_root_child(tree, options.link, margins);
        closed.taken_one();
        n_blocks += open(best);
        ++n_opened;
        opened = rank_key(best.score - (tree.n_children[best.node] ? waits.lead : 0.0f), best.node);
        open({0.0f, 0});
        opened = 0;
    } else {
        n_blocks = open({0.0f, 0});
    }
    while (!enough() && !closed.empty()) {
        Frontier next = closed.take_best();
        if (waits.scores && tree.n_children[next.node]) next.score = waits.scores[next.node];
        if (next.score <= found.node_needs()) {
            if (!waits.scores) break;
            ++n_opened;  // those behind it may be better
            continue;
        }
        if (large) ask_ahead(blocks, tree, query, closed);
        n_blocks += open(next);
        ++n_opened;
    }
    return n_blocks;
}

// Level by level, the best `beam` nodes of each; a leaf that is reached early gives its labels at once.
std::int32_t beam_search(const WeightBlocks& blocks, const SearchTree& tree, const SearchOptions& options, const Query& query,
                         SearchMemory& memory, Found& found) {
    std::int32_t n_blocks = 0;
    memory.frontier.clear();
    if (!options.open || options.open[0]) memory.frontier.push_back({0.0f, 0});
    while (!memory.frontier.empty()) {
        memory.next.clear();
        for (const Frontier& from : memory.frontier) {
            if (from.score <= found.node_needs()) continue;
            n_blocks += expand(blocks, tree, options, query, memory.margins, {}, from, found,
                               [&](const RankKey* keys, int n) {
                                   for (int i = 0; i < n; ++i) memory.next.push_back({score_of(keys[i]), number_of(keys[i])});
                               },
                               [] { return kNone; });
            if (options.max_blocks && n_blocks >= options.max_blocks) return n_blocks;
        }
        // Larger score first; equal scores to the smaller node, so that the order never depends on what came first.
        const auto before = [](const Frontier& a, const Frontier& b) { return a.score > b.score || (a.score == b.score && a.node < b.node); };
        const std::size_t kept = std::min<std::size_t>(memory.next.size(), static_cast<std::size_t>(options.beam));
        std::partial_sort(memory.next.begin(), memory.next.begin() + static_cast<std::ptrdiff_t>(kept), memory.next.end(), before);
        memory.next.resize(kept);
        std::swap(memory.frontier, memory.next);
    }
    return n_blocks;
}

// Numbers of each kind that a thread holds at once: 4 MB.
constexpr std::int64_t kNumbersTogether = 1 << 20;

// What a slice of rows needs: the margins that one tree scores together and the rows in the order of their best child; then what
// each tree found for each row.
struct SliceMemory {
    std::vector<float> margins, room;
    std::vector<std::pair<std::int64_t, std::int64_t>> order;  // best child, row
    std::vector<std::int32_t> labels, n_found;
    std::vector<float> scores;
};

std::int32_t sure_labels(const SearchOptions& options, std::int32_t k_each) {
    return options.n_sure ? std::min(options.n_sure, k_each) : k_each;
}

std::int64_t n_root_children(const ForestTree& tree) { return tree.blocks->child_start[tree.tree->first_block[1]]; }

// The filters of a forest lie one behind the other.
void skip_filter(const SearchTree& tree, SearchOptions& options) {
    if (!options.allowed) return;
    options.allowed += tree.n_labels;
    options.open += tree.n_nodes;
}

// Small trees are scored whole, row after row: which rows follow each other makes no difference to them.
template <class QueryOf>
void score_roots(const ForestTree& tree, std::int64_t begin, std::int64_t end, QueryOf&& query_of, SliceMemory& slice) {
    const WeightBlocks& blocks = *tree.blocks;
    const std::int64_t n_root = n_root_children(tree);
    slice.order.clear();
    slice.margins.clear();
    if (tree.tree->n_together > n_root) {
        for (std::int64_t r = begin; r < end; ++r) slice.order.emplace_back(0, r);
        return;
    }
    slice.margins.resize(static_cast<std::size_t>((end - begin) * n_root));
    for (std::int64_t r = begin; r < end; ++r) {
        float* margins = slice.margins.data() + (r - begin) * n_root;
        check_interrupt();
        score_together(blocks, *tree.tree, query_of(r), slice.room, margins);
        slice.order.emplace_back(std::max_element(margins, margins + n_root) - margins, r);
    }
    std::sort(slice.order.begin(), slice.order.end());
}

// Adds up what the trees say of each label, in the order given, and leaves each label once, where it came first.
void add_up(std::vector<Scored>& found, std::vector<std::int32_t>& slots) {
    const auto mask = static_cast<std::uint32_t>(std::bit_ceil(2 * found.size()) - 1);
    slots.assign(mask + 1, -1);
    std::int32_t kept = 0;
    for (const Scored one : found) {
        std::uint32_t slot = static_cast<std::uint32_t>(one.label) * 0x9e3779b1u >> 7 & mask;
        while (slots[slot] >= 0 && found[static_cast<std::size_t>(slots[slot])].label != one.label) slot = (slot + 1) & mask;
        if (slots[slot] < 0) {
            slots[slot] = kept;
            found[static_cast<std::size_t>(kept++)] = one;
        } else {
            found[static_cast<std::size_t>(slots[slot])].score += one.score;
        }
    }
    found.resize(static_cast<std::size_t>(kept));
}

// The k best labels by the sum of what the trees say of them, best first; returns how many. found: tree after tree.
std::int32_t merge(std::vector<Scored>& found, std::int32_t n_trees, std::int32_t k, SearchMemory& memory, std::int32_t* labels, float* scores) {
    const auto divisor = static_cast<float>(n_trees);
    if (n_trees > 1 && k <= kMostInOrder) {
        KeysInOrder best(memory.ordered_labels, k);
        std::int32_t kept = 0;
        if (found.size() <= kMostAddedUp) {
            // Looking each up among those before is faster than a table.
            std::int32_t names[kMostAddedUp];
            float totals[kMostAddedUp];
            RankKey sums[kMostAddedUp];
            kept = kernels().add_up(found.data(), static_cast<int>(found.size()), names, totals);
            for (int i = 0; i < kept; ++i) sums[i] = rank_key(totals[i] / divisor, names[i]);
            best.put(sums, kept);
        } else {
            add_up(found, memory.slots);
            kept = static_cast<std::int32_t>(found.size());
            memory.sums.clear();
            for (const Scored& sum : found) memory.sums.push_back(rank_key(sum.score / divisor, sum.label));
            best.put(memory.sums.data(), kept);
        }
        const std::int32_t n = std::min(k, kept);
        for (std::int32_t j = 0; j < n; ++j) {
            labels[j] = number_of(best[j]);
            scores[j] = score_of(best[j]);
        }
        return n;
    }
    if (n_trees > 1) {
        add_up(found, memory.slots);
        for (Scored& sum : found) sum.score /= divisor;
        const std::size_t wanted = std::min<std::size_t>(found.size(), static_cast<std::size_t>(k));
        std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(wanted), found.end(), better);
    }
    const std::int32_t n = std::min(k, static_cast<std::int32_t>(found.size()));
    for (std::int32_t j = 0; j < n; ++j) {
        labels[j] = found[static_cast<std::size_t>(j)].label;
        scores[j] = found[static_cast<std::size_t>(j)].score;
    }
    return n;
}

}  // namespace

std::int32_t search_tree(const WeightBlocks& blocks, const SearchTree& tree, const SearchOptions& options, const Query& query,
                         std::int32_t k, std::int32_t n_sure, SearchMemory& memory, std::int32_t* labels, float* scores, std::int32_t* n_blocks) {
    Found found(memory, k, n_sure, options.slack);
    *n_blocks = options.beam ? beam_search(blocks, tree, options, query, memory, found)
                             : best_first(blocks, tree, options, query, memory, found);
    return found.take(labels, scores);
}

std::int32_t search_forest(const ForestTree* trees, std::int32_t n_trees, const SearchOptions& options, const Query& query, std::int32_t k,
                           std::int32_t k_each, ForestMemory& memory, std::int32_t* labels, float* scores, std::int32_t* n_blocks) {
    *n_blocks = 0;
    memory.merged.clear();
    memory.labels.resize(static_cast<std::size_t>(k_each));
    memory.scores.resize(static_cast<std::size_t>(k_each));
    memory.search.margins = nullptr;
    SearchOptions own = options;
    for (std::int32_t t = 0; t < n_trees; ++t) {
        std::int32_t used = 0;
        const std::int32_t n = search_tree(*trees[t].blocks, *trees[t].tree, own, query, k_each, sure_labels(options, k_each), memory.search,
                                           memory.labels.data(), memory.scores.data(), &used);
        *n_blocks += used;
        skip_filter(*trees[t].tree, own);
        for (std::int32_t j = 0; j < n; ++j) memory.merged.push_back({std::exp(memory.scores[j]), memory.labels[j]});
    }
    return merge(memory.merged, n_trees, k, memory.search, labels, scores);
}

void search_forest_rows(const ForestTree* trees, std::int32_t n_trees, const SearchOptions& options, std::int64_t n_rows,
                        const std::int64_t* indptr, const std::int32_t* indices, const float* data, std::int32_t k, std::int32_t k_each,
                        int n_threads, std::int32_t* labels, float* scores, std::int32_t* n_blocks) {
    if (n_threads < 1) n_threads = max_threads();
    const auto query_of = [&](std::int64_t r) {
        return Query{static_cast<std::int32_t>(indptr[r + 1] - indptr[r]), indices + indptr[r], data + indptr[r]};
    };
    std::int64_t widest = 1;
    for (std::int32_t t = 0; t < n_trees; ++t) widest = std::max(widest, n_root_children(trees[t]));
    // Enough rows together that several share a child, few enough that every thread has some slices to do.
    const std::int64_t slice = std::clamp<std::int64_t>(n_rows / (4 * n_threads), 64, std::max<std::int64_t>(64, kNumbersTogether / std::max<std::int64_t>(widest, n_trees * k_each)));
    std::vector<ForestMemory> memory(static_cast<std::size_t>(n_threads));
    std::vector<SliceMemory> slices(static_cast<std::size_t>(n_threads));
    parallel_for((n_rows + slice - 1) / slice, n_threads, 1, [&](std::int64_t s, int thread) {
        const std::int64_t begin = s * slice, end = std::min(n_rows, begin + slice);
        SliceMemory& of_slice = slices[static_cast<std::size_t>(thread)];
        ForestMemory& own = memory[static_cast<std::size_t>(thread)];
        const std::int64_t n_each = n_trees * k_each;
        of_slice.labels.resize(static_cast<std::size_t>((end - begin) * n_each));
        of_slice.scores.resize(of_slice.labels.size());
        of_slice.n_found.resize(static_cast<std::size_t>((end - begin) * n_trees));
        std::fill(n_blocks + begin, n_blocks + end, 0);
        SearchOptions of_tree = options;
        for (std::int32_t t = 0; t < n_trees; ++t) {
            const std::int64_t width = n_root_children(trees[t]);
            score_roots(trees[t], begin, end, query_of, of_slice);
            for (const auto& [child, r] : of_slice.order) {
                check_interrupt();
                const std::int64_t place = (r - begin) * n_trees + t;
                std::int32_t used = 0;
                own.search.margins = of_slice.margins.empty() ? nullptr : of_slice.margins.data() + (r - begin) * width;
                of_slice.n_found[static_cast<std::size_t>(place)] =
                    search_tree(*trees[t].blocks, *trees[t].tree, of_tree, query_of(r), k_each, sure_labels(options, k_each), own.search,
                                of_slice.labels.data() + place * k_each, of_slice.scores.data() + place * k_each, &used);
                n_blocks[r] += used;
            }
            skip_filter(*trees[t].tree, of_tree);
        }
        for (std::int64_t r = begin; r < end; ++r) {
            own.merged.clear();
            for (std::int64_t place = (r - begin) * n_trees; place < (r - begin + 1) * n_trees; ++place)
                for (std::int64_t j = place * k_each; j < place * k_each + of_slice.n_found[static_cast<std::size_t>(place)]; ++j)
                    own.merged.push_back({std::exp(of_slice.scores[static_cast<std::size_t>(j)]), of_slice.labels[static_cast<std::size_t>(j)]});
            merge(own.merged, n_trees, k, own.search, labels + r * k, scores + r * k);
        }
    });
}

}  // namespace lw
