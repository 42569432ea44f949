#include "models/linear/tree_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "levels.hpp"
#include "parallel.hpp"

namespace lw {
namespace {

// Larger score first; equal scores to the smaller node, so that the order never depends on the heap's history.
bool later(const Frontier& a, const Frontier& b) { return a.score < b.score || (a.score == b.score && a.node > b.node); }

// The nodes that are still closed; the best comes out first. Where only `most` more will be opened, only as many are kept:
// the others have too many better ones before them, whatever comes. They then lie in order, which a wide root fills faster
// than a heap.
class ClosedNodes {
public:
    ClosedNodes(std::vector<Frontier>& nodes, std::int64_t most) : nodes_(nodes), most_(most), in_order_(most <= kMostInOrder) { nodes_.clear(); }

    bool empty() const { return nodes_.empty(); }
    void put(float score, std::int32_t node) {
        const Frontier fresh{score, node};
        if (!in_order_) {
            nodes_.push_back(fresh);
            return;
        }
        if (is_full()) {
            if (most_ == 0 || !later(nodes_.front(), fresh)) return;
            nodes_.erase(nodes_.begin());
        }
        nodes_.insert(std::upper_bound(nodes_.begin(), nodes_.end(), fresh, later), fresh);
    }
    Frontier take_best() {
        if (!in_order_) {
            make_heap();
            std::pop_heap(nodes_.begin(), nodes_.end(), later);
            --n_in_heap_;
        }
        const Frontier best = nodes_.back();
        nodes_.pop_back();
        most_ -= most_ < kNoLimit;
        return best;
    }
    // The score that a node needs to be kept; minus infinity while every one is.
    float needs() const { return in_order_ && is_full() && most_ > 0 ? nodes_.front().score : -std::numeric_limits<float>::infinity(); }

    static constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

private:
    static constexpr std::int64_t kMostInOrder = 64;
    // The nodes that were put since the last was taken go into the heap together: a wide node brings many at once.
    void make_heap() {
        if (2 * n_in_heap_ < nodes_.size()) {
            std::make_heap(nodes_.begin(), nodes_.end(), later);
            n_in_heap_ = nodes_.size();
        }
        while (n_in_heap_ < nodes_.size()) std::push_heap(nodes_.begin(), nodes_.begin() + static_cast<std::ptrdiff_t>(++n_in_heap_), later);
    }
    bool is_full() const { return static_cast<std::int64_t>(nodes_.size()) >= most_; }
    std::vector<Frontier>& nodes_;
    std::int64_t most_;
    std::size_t n_in_heap_ = 0;
    bool in_order_;
};

// The labels found so far, and how good a node must be to be opened: able to better the last of the n_sure best
// labels even after it lost `slack`. Few labels lie in order, which answers all questions at once; many in heaps.
class Found {
public:
    Found(std::vector<Scored>& best, std::int32_t k, std::vector<Scored>& bound, std::int32_t n_sure, float slack)
        : entries_(best.data()), k_(k), n_sure_(n_sure), in_order_(k <= kMostInOrder), best_(best.data(), k),
          bound_(bound.data(), n_sure), narrower_(n_sure < k), slack_(slack) {}

    void offer(float score, std::int32_t label) {
        if (in_order_) {
            // A score that is no number counts as the worst one.
            insert({score == score ? score : kNone, label});
            return;
        }
        if (best_.full() && !(score >= best_.worst())) return;
        best_.offer(score, label);
        if (narrower_ && (!bound_.full() || score > bound_.worst())) bound_.offer(score, label);
    }
    // The score that a label needs; minus infinity while any is taken.
    float label_needs() const {
        if (in_order_) return size_ == k_ ? entries_[k_ - 1].score : kNone;
        return best_.full() ? best_.worst() : kNone;
    }
    // The score that a node must be above; minus infinity while any is opened.
    float node_needs() const {
        if (in_order_) return size_ >= n_sure_ ? entries_[n_sure_ - 1].score + slack_ : kNone;
        const TopKHeap& sure = narrower_ ? bound_ : best_;
        return sure.full() ? sure.worst() + slack_ : kNone;
    }
    std::int32_t size() const { return in_order_ ? size_ : best_.size(); }
    // Best first; nothing can be offered any more.
    const Scored* sorted() { return in_order_ ? entries_ : best_.sorted(); }

private:
    static constexpr std::int32_t kMostInOrder = 64;
    static constexpr float kNone = -std::numeric_limits<float>::infinity();

    void insert(const Scored& fresh) {
        if (size_ == k_) {
            if (!better(fresh, entries_[k_ - 1])) return;
            --size_;
        }
        std::int32_t place = size_++;
        for (; place > 0 && better(fresh, entries_[place - 1]); --place) entries_[place] = entries_[place - 1];
        entries_[place] = fresh;
    }

    Scored* entries_;
    std::int32_t k_, n_sure_, size_ = 0;
    bool in_order_;
    TopKHeap best_, bound_;
    bool narrower_;
    float slack_;
};

constexpr std::int32_t kSettingTheBar = 32;

// Scores the children of one node: labels go to `found`, nodes to `visit(score, node)`, which may leave out those below
// `visit_needs()`.
template <class Visit, class Needs>
std::int32_t expand(const WeightBlocks& blocks, const SearchTree& tree, const SearchOptions& options, const Query& query,
                    const float* root_margins, const Frontier& from, Found& found, Visit&& visit, Needs&& visit_needs) {
    alignas(64) float computed[kMaxChildren];
    const bool leaf = tree.n_children[from.node] == 0;
    std::int32_t first_child = leaf ? tree.first_label[from.node] : tree.first_child[from.node];
    const std::int64_t first = tree.first_block[from.node], last = tree.first_block[from.node + 1];
    for (std::int64_t b = first; b < last; ++b) {
        const bool known = root_margins && from.node == 0;
        if (!known) kernels().score_block(blocks, b, query, computed);
        const float* margins = known ? root_margins + blocks.child_start[b] - blocks.child_start[first] : computed;
        const std::int32_t n = static_cast<std::int32_t>(blocks.child_start[b + 1] - blocks.child_start[b]);
        // Most children are far from good enough: they are left out sixteen at a time, without a score. A bar of minus
        // infinity takes all of them, also those whose margin is no number; so the first few, which set the bar, come alone.
        for (std::int32_t begin = 0, size = kSettingTheBar; begin < n; begin += size, size = kMaxChildren) {
            const std::int32_t here = std::min(size, n - begin);
            const float label_bar = found.label_needs(), node_bar = found.node_needs();
            const float least = least_margin(options.link, from.score, leaf ? label_bar : std::min(label_bar, std::max(node_bar, visit_needs())));
            std::uint8_t chosen[kMaxChildren];
            const bool all = least == -std::numeric_limits<float>::infinity();
            const int n_chosen = all ? here : kernels().at_least(margins + begin, here, least, chosen);
            for (int i = 0; i < n_chosen; ++i) {
                const std::int32_t c = begin + (all ? i : chosen[i]), child = first_child + c;
                if (leaf || tree.is_label(child)) {
                    const std::int32_t place = leaf ? child : tree.first_label[child];
                    if (options.allowed && !options.allowed[place]) continue;
                    found.offer(path_score(options.link, from.score, margins[c]), tree.label_order[place]);
                } else {
                    if (options.open && !options.open[child]) continue;
                    const float score = path_score(options.link, from.score, margins[c]);
                    if (!(score <= node_bar)) visit(score, child);
                }
            }
        }
        first_child += n;
    }
    return static_cast<std::int32_t>(last - first);
}

std::int32_t best_first(const WeightBlocks& blocks, const SearchTree& tree, const SearchOptions& options, const Query& query,
                        SearchMemory& memory, Found& found) {
    std::int32_t n_blocks = 0;
    std::int64_t n_opened = 0;
    ClosedNodes closed(memory.frontier, options.max_nodes ? options.max_nodes : ClosedNodes::kNoLimit);
    const auto open = [&](const Frontier& node) {
        n_blocks += expand(blocks, tree, options, query, memory.root_margins, node, found,
                           [&](float score, std::int32_t child) { closed.put(score, child); }, [&] { return closed.needs(); });
    };
    if (options.open && !options.open[0]) return 0;
    for (Frontier next{0.0f, 0};; ++n_opened) {
        open(next);
        if ((options.max_blocks && n_blocks >= options.max_blocks) || (options.max_nodes && n_opened >= options.max_nodes)) break;
        if (closed.empty()) break;
        next = closed.take_best();
        if (next.score <= found.node_needs()) break;
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
            n_blocks += expand(blocks, tree, options, query, memory.root_margins, from, found,
                               [&](float score, std::int32_t node) { memory.next.push_back({score, node}); },
                               [] { return -std::numeric_limits<float>::infinity(); });
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

// Numbers of each kind that a thread holds at once: 4 MB.
constexpr std::int64_t kNumbersTogether = 1 << 20;

// What a slice of rows needs: the margins under one tree's root and the rows in the order of their best child; then what
// each tree found for each row.
struct SliceMemory {
    std::vector<float> margins;
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

template <class QueryOf>
void score_roots(const ForestTree& tree, std::int64_t begin, std::int64_t end, QueryOf&& query_of, SliceMemory& slice) {
    const WeightBlocks& blocks = *tree.blocks;
    const std::int64_t n_root = n_root_children(tree);
    alignas(64) float block_margins[kMaxChildren];
    slice.margins.resize(static_cast<std::size_t>((end - begin) * n_root));
    slice.order.clear();
    for (std::int64_t r = begin; r < end; ++r) {
        float* margins = slice.margins.data() + (r - begin) * n_root;
        check_interrupt();
        for (std::int64_t b = 0; b < tree.tree->first_block[1]; ++b) {
            kernels().score_block(blocks, b, query_of(r), block_margins);
            std::copy(block_margins, block_margins + (blocks.child_start[b + 1] - blocks.child_start[b]), margins + blocks.child_start[b]);
        }
        slice.order.emplace_back(std::max_element(margins, margins + n_root) - margins, r);
    }
    std::sort(slice.order.begin(), slice.order.end());
}

constexpr std::size_t kFewFound = 64;

// The k best labels by the sum of what the trees say of them, best first; returns how many. found: tree after tree.
std::int32_t merge(std::vector<Scored>& found, std::int32_t n_trees, std::int32_t k, std::int32_t* labels, float* scores) {
    if (n_trees > 1 && found.size() <= kFewFound) {
        // Looking each up among those before is faster than sorting them, and adds up in the same order.
        std::size_t kept = 0;
        for (const Scored& one : found) {
            std::size_t place = 0;
            while (place < kept && found[place].label != one.label) ++place;
            if (place == kept) {
                found[kept++] = one;
            } else {
                found[place].score += one.score;
            }
        }
        found.resize(kept);
        for (Scored& one : found) one.score /= static_cast<float>(n_trees);
        const std::size_t wanted = std::min<std::size_t>(kept, static_cast<std::size_t>(k));
        std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(wanted), found.end(), better);
    } else if (n_trees > 1) {
        std::stable_sort(found.begin(), found.end(), [](const Scored& a, const Scored& b) { return a.label < b.label; });
        std::size_t kept = 0;
        for (std::size_t i = 0; i < found.size();) {
            Scored sum = found[i];
            for (++i; i < found.size() && found[i].label == sum.label; ++i) sum.score += found[i].score;
            sum.score /= static_cast<float>(n_trees);
            found[kept++] = sum;
        }
        found.resize(kept);
        const std::size_t wanted = std::min<std::size_t>(kept, static_cast<std::size_t>(k));
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
    memory.best.resize(static_cast<std::size_t>(k));
    memory.bound.resize(static_cast<std::size_t>(n_sure));
    Found found(memory.best, k, memory.bound, n_sure, options.slack);
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
    memory.search.root_margins = nullptr;
    SearchOptions own = options;
    for (std::int32_t t = 0; t < n_trees; ++t) {
        std::int32_t used = 0;
        const std::int32_t n = search_tree(*trees[t].blocks, *trees[t].tree, own, query, k_each, sure_labels(options, k_each), memory.search,
                                           memory.labels.data(), memory.scores.data(), &used);
        *n_blocks += used;
        skip_filter(*trees[t].tree, own);
        for (std::int32_t j = 0; j < n; ++j) memory.merged.push_back({std::exp(memory.scores[j]), memory.labels[j]});
    }
    return merge(memory.merged, n_trees, k, labels, scores);
}

void search_forest_rows(const ForestTree* trees, std::int32_t n_trees, const SearchOptions& options, std::int64_t n_rows,
                        const std::int64_t* indptr, const std::int32_t* indices, const float* data, std::int32_t k, std::int32_t k_each,
                        int n_threads, std::int32_t* labels, float* scores, std::int32_t* n_blocks) {
    if (n_threads < 1) n_threads = max_threads();
    const auto query_of = [&](std::int64_t r) {
        return Query{static_cast<std::int32_t>(indptr[r + 1] - indptr[r]), indices + indptr[r], data + indptr[r]};
    };
    std::int64_t n_root = 1;
    for (std::int32_t t = 0; t < n_trees; ++t) n_root = std::max(n_root, n_root_children(trees[t]));
    // Enough rows together that several share a child, few enough that every thread has some slices to do.
    const std::int64_t slice = std::clamp<std::int64_t>(n_rows / (4 * n_threads), 64, std::max<std::int64_t>(64, kNumbersTogether / std::max<std::int64_t>(n_root, n_trees * k_each)));
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
                own.search.root_margins = of_slice.margins.data() + (r - begin) * width;
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
            merge(own.merged, n_trees, k, labels + r * k, scores + r * k);
        }
    });
}

}  // namespace lw
