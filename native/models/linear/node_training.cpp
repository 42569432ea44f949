#include "models/linear/node_training.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>

#include "huge_pages.hpp"
#include "levels.hpp"
#include "models/linear/block_rows.hpp"
#include "parallel.hpp"
#include "rng.hpp"
#include "simd.hpp"

namespace lw {
namespace {

// A node with more than this share of all work is solved with all threads on its groups; the others are handed out whole,
// one thread each.
constexpr double kLargeShare = 0.05;

// A group whose positive rows are fewer than one in kFewShare of the at least kLeastRows rows of its node begins with them and
// one in kFirstShare of the others, of which it sees kMostOthers at most. Rust-Commits, 512 children of the root, validation
// rows: 3.3 s in place of 4.2 for all classifiers, P@1/3/5 -0.2/0/0; seeing 64,000 of 170,000 others -0.3/0/0, 32,000
// -0.9/-0.3/-0.2.
constexpr std::size_t kLeastRows = 16384, kFewShare = 8, kFirstShare = 8, kMostOthers = 131072;
// Of the random numbers: passes count from 0.
constexpr std::uint64_t kChoiceStep = 1ull << 32;

// Aligned floats that only grow, in huge pages where there are some: rows are visited in random order, and without them
// nearly every weight and every dual is looked up in the page table first.
class AlignedFloats {
public:
    float* room(std::size_t n) {
        if (n > size_) {
            memory_.reset();
            memory_.reset(static_cast<float*>(::operator new[](n * sizeof(float), kAlignment)));
            size_ = n;
            in_huge_pages(memory_.get(), n * sizeof(float));
        }
        return memory_.get();
    }

private:
    static constexpr std::align_val_t kAlignment{64};
    struct Free {
        void operator()(float* p) const { ::operator delete[](p, kAlignment); }
    };
    std::unique_ptr<float[], Free> memory_;
    std::size_t size_ = 0;
};

// One weight that training starts from.
struct EarlierWeight {
    std::int32_t feature;  // local
    std::int32_t child;    // in its group
    float weight;
};

// The rows of one node with compact feature ids: copies, or the training rows themselves where most of them take part.
struct LocalRows {
    const std::int64_t* begin = nullptr;
    const std::int64_t* end = nullptr;
    const std::int32_t* indices = nullptr;
    const float* data = nullptr;
    const float* scale = nullptr;              // factors of the rows' values; null: 1
    std::vector<std::int64_t> own_begin, own_end;
    std::vector<std::int32_t> own_indices;
    std::vector<float> own_data, own_scale, squares;
    std::vector<std::int32_t> rows;            // local row -> training row
    std::vector<std::int32_t> features;        // local feature -> feature, -1 for a column that no row has
    std::vector<std::int32_t> feature_order;   // local features by ascending feature
    std::vector<std::int64_t> child_start;     // rows of each child: into child_rows
    std::vector<std::int32_t> child_rows;      // local rows
    std::vector<std::uint8_t> positive_only;   // local rows that are nobody's negatives; empty: none
    std::vector<float> cost;                   // factors of the rows' costs; empty: 1
    std::vector<std::vector<EarlierWeight>> earlier;  // of each group; empty for a node that begins from nothing
};

// Maps of one thread from global to local ids; -1 everywhere between two nodes.
struct Maps {
    std::vector<std::int32_t> row, feature;
};

struct SolverMemory {
    AlignedFloats weights, alpha;
    std::vector<std::int32_t> active;
    std::vector<std::uint16_t> positive;
    std::vector<std::int32_t> chosen, others;
};

std::int64_t n_values_of(const TrainingData& data, const LocalRows& local) {
    std::int64_t n = 0;
    for (const std::int32_t row : local.rows) n += data.indptr[row + 1] - data.indptr[row];
    return n;
}

// A copy with features numbered anew keeps the weights in the cache: without it the leaves of EURLEX57K took a quarter
// longer. But a node with much of the data would take much memory, and has most features anyway.
bool worth_copying(const TrainingData& data, const LocalRows& local) {
    constexpr std::int64_t kAlwaysCopied = 1 << 19;
    if (local.rows.size() == static_cast<std::size_t>(data.n_rows)) return false;
    const std::int64_t n_values = n_values_of(data, local);
    return n_values <= kAlwaysCopied || n_values <= data.indptr[data.n_rows] / 4;
}

void view_rows(const TrainingData& data, Maps& maps, LocalRows& local) {
    local.indices = data.indices;
    local.data = data.data;
    local.own_begin.clear();
    local.own_end.clear();
    local.own_scale.clear();
    local.squares.clear();
    Pulse pulse;
    for (const std::int32_t row : local.rows) {
        pulse.beat();
        float square = 0;
        for (std::int64_t p = data.indptr[row]; p < data.indptr[row + 1]; ++p) square += data.data[p] * data.data[p];
        const float scale = data.row_scale ? data.row_scale[row] : 1.0f;
        local.own_begin.push_back(data.indptr[row]);
        local.own_end.push_back(data.indptr[row + 1]);
        local.own_scale.push_back(scale);
        local.squares.push_back(square * scale * scale);
    }
    local.begin = local.own_begin.data();
    local.end = local.own_end.data();
    local.scale = data.row_scale ? local.own_scale.data() : nullptr;
    const std::int32_t n_columns = data.numbers ? data.n_columns : data.n_features;
    for (std::int32_t column = 0; column < n_columns; ++column) {
        const std::int32_t feature = data.numbers ? data.numbers[column] : column;
        if (feature >= 0) maps.feature[feature] = column;
        local.features.push_back(feature);
    }
}

void copy_rows(const TrainingData& data, Maps& maps, LocalRows& local) {
    // Room for all values at once: growing would hold them twice.
    const auto n_values = static_cast<std::size_t>(n_values_of(data, local));
    local.own_begin.assign(1, 0);
    local.own_indices.clear();
    local.own_data.clear();
    local.squares.clear();
    local.own_indices.reserve(n_values);
    local.own_data.reserve(n_values);
    Pulse pulse;
    for (const std::int32_t row : local.rows) {
        float square = 0;
        const float scale = data.row_scale ? data.row_scale[row] : 1.0f;
        pulse.beat();
        for (std::int64_t p = data.indptr[row]; p < data.indptr[row + 1]; ++p) {
            const std::int32_t feature = data.numbers ? data.numbers[data.indices[p]] : data.indices[p];
            std::int32_t& id = maps.feature[feature];
            if (id < 0) {
                id = static_cast<std::int32_t>(local.features.size());
                local.features.push_back(feature);
            }
            const float value = data.data[p] * scale;
            local.own_indices.push_back(id);
            local.own_data.push_back(value);
            square += value * value;
        }
        local.squares.push_back(square);
        local.own_begin.push_back(static_cast<std::int64_t>(local.own_indices.size()));
    }
    local.begin = local.own_begin.data();
    local.end = local.begin + 1;
    local.indices = local.own_indices.data();
    local.data = local.own_data.data();
    local.scale = nullptr;
}

void gather(const TrainingData& data, const TrainingNodes& nodes, std::int64_t node, const TrainingStart& start, Maps& maps, LocalRows& local) {
    const std::int64_t first = nodes.child_start[node], last = nodes.child_start[node + 1] - 1;
    local.rows.clear();
    local.child_rows.clear();
    local.child_start.assign(1, 0);
    const auto counts = [&](std::int32_t row) { return !data.row_cost || data.row_cost[row] > 0; };
    if (nodes.all_rows) {
        for (std::int32_t r = 0; r < data.n_rows; ++r)
            if (counts(r)) local.rows.push_back(r);
    } else {
        for (std::int64_t p = data.label_start[nodes.child_bound[first]]; p < data.label_start[nodes.child_bound[last]]; ++p)
            if (maps.row[data.label_rows[p]] < 0 && counts(data.label_rows[p])) {
                maps.row[data.label_rows[p]] = 0;
                local.rows.push_back(data.label_rows[p]);
            }
        for (std::int64_t p = nodes.extra_start[node]; p < nodes.extra_start[node + 1]; ++p)
            if (maps.row[nodes.extra_rows[p]] < 0 && counts(nodes.extra_rows[p])) {
                maps.row[nodes.extra_rows[p]] = 0;
                local.rows.push_back(nodes.extra_rows[p]);
            }
        std::sort(local.rows.begin(), local.rows.end());
    }
    Pulse pulse;
    for (std::size_t r = 0; r < local.rows.size(); ++r) maps.row[local.rows[r]] = static_cast<std::int32_t>(r);
    for (std::int64_t c = first; c < last; ++c) {
        const std::size_t begin = local.child_rows.size();
        pulse.beat();
        for (std::int64_t p = data.label_start[nodes.child_bound[c]]; p < data.label_start[nodes.child_bound[c + 1]]; ++p)
            if (maps.row[data.label_rows[p]] >= 0) local.child_rows.push_back(maps.row[data.label_rows[p]]);
        if (nodes.child_bound[c + 1] - nodes.child_bound[c] > 1) {  // several labels: a row may come twice
            std::sort(local.child_rows.begin() + static_cast<std::ptrdiff_t>(begin), local.child_rows.end());
            local.child_rows.erase(std::unique(local.child_rows.begin() + static_cast<std::ptrdiff_t>(begin), local.child_rows.end()),
                                   local.child_rows.end());
        }
        local.child_start.push_back(static_cast<std::int64_t>(local.child_rows.size()));
    }
    local.positive_only.clear();
    if (nodes.extra_alone) {
        local.positive_only.assign(local.rows.size(), 1);
        for (std::int64_t p = nodes.extra_start[node]; p < nodes.extra_start[node + 1]; ++p)
            if (maps.row[nodes.extra_rows[p]] >= 0) local.positive_only[maps.row[nodes.extra_rows[p]]] = 0;
    }
    for (const std::int32_t row : local.rows) maps.row[row] = -1;
    local.cost.clear();
    if (data.row_cost)
        for (const std::int32_t row : local.rows) local.cost.push_back(data.row_cost[row]);

    local.features.clear();
    if (worth_copying(data, local)) {
        copy_rows(data, maps, local);
    } else {
        view_rows(data, maps, local);
    }
    // Weights of features that none of these rows has stay as they were: the rows may be a part of those before.
    for (std::vector<EarlierWeight>& of_group : local.earlier) of_group.clear();
    if (start.blocks && start.first_block[node] >= 0) {
        local.earlier.resize(static_cast<std::size_t>((last - first + kGroup - 1) / kGroup));
        BlockRow row;
        // Blocks are decoded once for all groups of the node: each of up to 16 groups for itself took as long as solving.
        for (std::int64_t b = 0; b * kMaxChildren < start.n_children[node]; ++b)
            for_each_feature(*start.blocks, start.first_block[node] + b, [&](std::int32_t feature) {
                pulse.beat();
                if (feature >= data.n_features) return;
                std::int32_t& id = maps.feature[feature];
                if (id < 0) {
                    id = static_cast<std::int32_t>(local.features.size());
                    local.features.push_back(feature);
                }
                read_row(*start.blocks, start.first_block[node] + b, feature, row);
                for (int i = 0; i < row.n; ++i) {
                    const std::int64_t child = b * kMaxChildren + row.children[i];
                    if (child < last - first)
                        local.earlier[static_cast<std::size_t>(child / kGroup)].push_back({id, static_cast<std::int32_t>(child % kGroup), row.weights[i]});
                }
            });
    }
    local.feature_order.clear();
    for (std::size_t f = 0; f < local.features.size(); ++f) {
        if (local.features[f] < 0) continue;
        maps.feature[local.features[f]] = -1;
        local.feature_order.push_back(static_cast<std::int32_t>(f));
    }
    std::sort(local.feature_order.begin(), local.feature_order.end(),
              [&](std::int32_t a, std::int32_t b) { return local.features[a] < local.features[b]; });
}

// Most features have no weight in a group: seeing that at once saves looking at sixteen numbers.
bool all_zero(const float* weights) {
    std::uint32_t bits[kGroup], any = 0;
    std::memcpy(bits, weights, sizeof(bits));
    for (int l = 0; l < kGroup; ++l) any |= bits[l];
    return (any & 0x7fffffffu) == 0;
}

void keep_weights(const LocalRows& local, const float* weights, const bool* trained, int n_labels,
                  const TrainingOptions& options, GroupWeights& out) {
    for (const std::int32_t f : local.feature_order) {
        const float* w = weights + static_cast<std::int64_t>(f) * kGroup;
        if (all_zero(w)) continue;
        unsigned mask = 0;
        for (int l = 0; l < n_labels; ++l)
            if (trained[l] && std::fabs(w[l]) >= options.prune && w[l] != 0.0f) mask |= 1u << l;
        if (!mask) continue;
        out.features.push_back(local.features[f]);
        out.masks.push_back(static_cast<std::uint16_t>(mask));
        for (int l = 0; l < n_labels; ++l)
            if (mask >> l & 1) out.halves.push_back(float_to_half(w[l]));
    }
    const float* bias = weights + static_cast<std::int64_t>(local.features.size()) * kGroup;
    for (int l = 0; l < n_labels; ++l) out.bias.push_back(trained[l] ? bias[l] * options.bias : options.untrained);
    out.features.shrink_to_fit();
    out.masks.shrink_to_fit();
    out.halves.shrink_to_fit();
}

// Fills the weights of a group with those of the node's earlier blocks; the bits of the children that had any.
std::uint32_t earlier_weights(const LocalRows& local, const TrainingStart& start, std::int64_t node, std::int64_t begin, int n_labels,
                              const TrainingOptions& options, float* weights) {
    const std::int64_t block = start.first_block[node] + begin / kMaxChildren;
    const int first = static_cast<int>(begin % kMaxChildren);
    const WeightBlocks& blocks = *start.blocks;
    const std::int64_t n_children = blocks.child_start[block + 1] - blocks.child_start[block];
    float* bias = weights + static_cast<std::int64_t>(local.features.size()) * kGroup;
    std::uint32_t known = 0;
    for (int l = 0; l < n_labels && first + l < n_children; ++l) {
        const float earlier = blocks.bias[blocks.child_start[block] + first + l];
        if (earlier == options.untrained) continue;
        known |= 1u << l;
        if (options.bias > 0) bias[l] = earlier / options.bias;
    }
    for (const EarlierWeight& earlier : local.earlier[static_cast<std::size_t>(begin / kGroup)])
        if (known >> earlier.child & 1) weights[static_cast<std::int64_t>(earlier.feature) * kGroup + earlier.child] = earlier.weight;
    return known;
}

// The positive rows of a child; a row of cost 2 counts as two.
double n_positive_rows(const LocalRows& local, std::int64_t child) {
    const std::int64_t first = local.child_start[child], last = local.child_start[child + 1];
    if (local.cost.empty()) return static_cast<double>(last - first);
    double sum = 0;
    for (std::int64_t p = first; p < last; ++p) sum += local.cost[static_cast<std::size_t>(local.child_rows[p])];
    return sum;
}

// Lets a group of few rows in a large node begin with these and some others; the rest waits, and is left out beyond
// kMostOthers. A classifier of a wide node sees nearly every row as an easy negative.
void choose_rows(const LocalRows& local, const SolveOptions& solver, SolverMemory& memory, SolveTask& task) {
    const std::size_t n = local.rows.size();
    if (n < kLeastRows) return;
    std::vector<std::int32_t>&chosen = memory.chosen, &others = memory.others;
    chosen.clear();
    others.clear();
    for (std::size_t r = 0; r < n; ++r) (memory.positive[r] ? chosen : others).push_back(static_cast<std::int32_t>(r));
    const std::size_t n_positive = chosen.size();
    if (n_positive * kFewShare >= n) return;
    Rng rng(solver.seed, solver.item, kChoiceStep);
    rng.shuffle(others.data(), static_cast<std::uint32_t>(others.size()));
    const std::size_t n_others = std::min(others.size(), kMostOthers);
    chosen.insert(chosen.end(), others.begin(), others.begin() + static_cast<std::ptrdiff_t>(n_others));
    task.chosen = chosen.data();
    task.n_chosen = static_cast<std::int64_t>(chosen.size());
    task.n_first = static_cast<std::int64_t>(n_positive + n_others / kFirstShare);
}

int solve_group(const LocalRows& local, const TrainingNodes& nodes, std::int64_t node, std::int64_t group,
                std::int64_t item, const TrainingOptions& options, SolverMemory& memory, GroupWeights& out) {
    const std::int64_t first = nodes.child_start[node];
    const std::int64_t n_children = nodes.child_start[node + 1] - 1 - first;
    const std::int64_t begin = group * kGroup;
    const int n_labels = static_cast<int>(std::min<std::int64_t>(kGroup, n_children - begin));
    memory.positive.assign(local.rows.size(), 0);
    bool trained[kGroup];
    SolveOptions solver{options.loss, options.eps, options.max_passes, options.bias, {}, {}, options.seed,
                        static_cast<std::uint64_t>(options.groups_before + item)};
    for (int l = 0; l < kGroup; ++l) solver.cost_positive[l] = solver.cost_negative[l] = 1.0f;
    for (int l = 0; l < n_labels; ++l) {
        const std::int64_t child = begin + l;
        for (std::int64_t p = local.child_start[child]; p < local.child_start[child + 1]; ++p)
            memory.positive[local.child_rows[p]] |= static_cast<std::uint16_t>(1u << l);
        trained[l] = local.child_start[child + 1] > local.child_start[child];
        const bool single = nodes.child_bound[first + child + 1] - nodes.child_bound[first + child] == 1;
        const double n_positive = std::max(1.0, n_positive_rows(local, child));
        const float scale = single ? static_cast<float>(std::pow(kRareRows / n_positive, options.rare_power)) : options.cluster_cost;
        solver.cost_positive[l] = options.cost_positive * scale;
        solver.cost_negative[l] = options.cost_negative * scale;
        if (nodes.child_cost) solver.cost_positive[l] *= nodes.child_cost[first + child];
    }
    const std::size_t n_weights = (local.features.size() + 1) * kGroup;
    float* weights = memory.weights.room(n_weights);
    std::fill(weights, weights + n_weights, 0.0f);
    if (options.start.blocks && options.start.first_block[node] >= 0 && begin < options.start.n_children[node]) {
        solver.start = Start::weights;
        solver.known = earlier_weights(local, options.start, node, begin, n_labels, options, weights);
        solver.first_new = std::lower_bound(local.rows.begin(), local.rows.end(), options.start.first_new_row) - local.rows.begin();
        for (int l = 0; l < n_labels; ++l) trained[l] |= solver.known >> l & 1;  // without a row here it keeps what it has
    }
    memory.active.resize(local.rows.size());
    SolveTask task{static_cast<std::int64_t>(local.rows.size()), static_cast<std::int32_t>(local.features.size()),
                         local.begin, local.end, local.indices, local.data, local.squares.data(),
                         memory.positive.data(), n_labels, local.positive_only.empty() ? nullptr : local.positive_only.data(),
                         local.cost.empty() ? nullptr : local.cost.data(), local.scale};
    if (!nodes.all_rows && solver.start == Start::cold && local.positive_only.empty()) choose_rows(local, solver, memory, task);
    const SolveScratch scratch{weights, memory.alpha.room(local.rows.size() * kGroup), memory.active.data()};
    const int passes = !local.rows.empty() && std::any_of(trained, trained + n_labels, [](bool t) { return t; }) ? kernels().solve(task, solver, scratch) : 0;
    keep_weights(local, weights, trained, n_labels, options, out);
    return passes;
}

std::int64_t n_groups_of(const TrainingNodes& nodes, std::int64_t node) {
    return (nodes.child_start[node + 1] - 1 - nodes.child_start[node] + kGroup - 1) / kGroup;
}

}  // namespace

BlockArrays train_nodes(const TrainingData& data, const TrainingNodes& nodes, const TrainingOptions& options,
                        TrainingProgress progress, void* context, TrainingReport* report) {
    std::vector<std::int64_t> first_group(1, 0);
    std::vector<std::int64_t> work;  // gathered non-zeros of a node, at most: decides who is solved together
    const double row_length = data.n_rows ? static_cast<double>(data.indptr[data.n_rows]) / static_cast<double>(data.n_rows) : 0;
    for (std::int64_t n = 0; n < nodes.n_nodes; ++n) {
        first_group.push_back(first_group.back() + n_groups_of(nodes, n));
        const std::int64_t low = nodes.child_bound[nodes.child_start[n]], high = nodes.child_bound[nodes.child_start[n + 1] - 1];
        std::int64_t rows = nodes.all_rows ? data.n_rows : data.label_start[high] - data.label_start[low] + nodes.extra_start[n + 1] - nodes.extra_start[n];
        rows = std::min(rows, data.n_rows);
        work.push_back(static_cast<std::int64_t>(static_cast<double>(rows) * row_length));
    }
    // More threads than groups would only cost memory.
    const std::int64_t wanted = options.n_threads < 1 ? max_threads() : options.n_threads;
    const int n_threads = static_cast<int>(std::clamp<std::int64_t>(first_group.back(), 1, wanted));
    std::vector<GroupWeights> groups(static_cast<std::size_t>(first_group.back()));
    std::vector<Maps> maps(static_cast<std::size_t>(n_threads));
    for (Maps& map : maps) {
        map.row.assign(static_cast<std::size_t>(data.n_rows), -1);
        map.feature.assign(static_cast<std::size_t>(data.n_features), -1);
    }
    std::vector<SolverMemory> memory(static_cast<std::size_t>(n_threads));
    std::vector<LocalRows> local(static_cast<std::size_t>(n_threads));
    std::atomic<std::int64_t> passes{0}, done{0};  // done: of `total`
    std::atomic<bool> stopped{false};
    constexpr std::int64_t kGroupsPerBlock = kMaxChildren / kGroup;
    std::vector<std::int64_t> first_block(1, 0);
    for (std::int64_t n = 0; n < nodes.n_nodes; ++n)
        first_block.push_back(first_block.back() + (n_groups_of(nodes, n) + kGroupsPerBlock - 1) / kGroupsPerBlock);
    std::vector<BuiltBlock> blocks(static_cast<std::size_t>(first_block.back()));
    const auto build = [&](std::int64_t n) {
        std::int64_t block = first_block[n];
        for (std::int64_t g = first_group[n]; g < first_group[n + 1]; g += kGroupsPerBlock)
            blocks[static_cast<std::size_t>(block++)] =
                build_block(groups.data() + g, std::min(kGroupsPerBlock, first_group[n + 1] - g), data.n_features, options.bytes);
    };
    std::vector<std::int64_t> large, small;
    double total = 0;
    for (std::int64_t n = 0; n < nodes.n_nodes; ++n) total += static_cast<double>(work[n] * n_groups_of(nodes, n));
    // Told is the share of the work, in groups: the few groups of the root take as long as thousands of leaves, and an
    // estimate of the time left would else begin at many times the truth.
    const auto finished = [&](std::int64_t node, std::int64_t n_groups, int thread) {
        const std::int64_t now = done += work[node] * n_groups;
        const double share = total > 0 ? std::min(1.0, static_cast<double>(now) / total) : 0.0;
        if (thread == 0 && progress && !progress(context, std::llround(share * static_cast<double>(first_group.back())), first_group.back()))
            stopped = true;
    };

    for (std::int64_t n = 0; n < nodes.n_nodes; ++n) {
        const std::int64_t n_groups = n_groups_of(nodes, n);
        if (!n_groups) continue;
        (n_groups > 1 && static_cast<double>(work[n] * n_groups) > kLargeShare * total ? large : small).push_back(n);
    }
    for (const std::int64_t n : large) {
        if (stopped) break;
        gather(data, nodes, n, options.start, maps[0], local[0]);
        parallel_for(n_groups_of(nodes, n), n_threads, 1, [&](std::int64_t g, int thread) {
            if (stopped) return;
            const std::int64_t item = first_group[n] + g;
            passes += solve_group(local[0], nodes, n, g, item, options, memory[thread], groups[item]);
            finished(n, 1, thread);
        });
        if (!stopped) build(n);
    }
    // Largest first, so that the last tasks are short and no thread waits long.
    std::stable_sort(small.begin(), small.end(), [&](std::int64_t a, std::int64_t b) { return work[a] > work[b]; });
    parallel_for(static_cast<std::int64_t>(small.size()), n_threads, 1, [&](std::int64_t i, int thread) {
        if (stopped) return;
        const std::int64_t n = small[i];
        gather(data, nodes, n, options.start, maps[thread], local[thread]);
        for (std::int64_t g = 0; g < n_groups_of(nodes, n); ++g) {
            const std::int64_t item = first_group[n] + g;
            passes += solve_group(local[thread], nodes, n, g, item, options, memory[thread], groups[item]);
        }
        build(n);
        finished(n, n_groups_of(nodes, n), thread);
    });
    if (!stopped && progress && !progress(context, first_group.back(), first_group.back())) stopped = true;
    report->groups = first_group.back();
    report->passes = passes;
    if (stopped) throw std::runtime_error("stopped");

    return joined(blocks, data.n_features);
}

}  // namespace lw
