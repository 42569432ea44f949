// Weight blocks and searches over them for Python.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "bind/bind.hpp"
#include "bind/buffer.hpp"
#include "levels.hpp"
#include "models/linear/bind_blocks.hpp"
#include "models/linear/flat_search.hpp"
#include "models/linear/node_search.hpp"
#include "models/linear/ranked_rows.hpp"
#include "models/linear/tree_search.hpp"
#include "models/neural/elias/candidates.hpp"
#include "models/neural/elias/shortlist.hpp"

namespace nb = nanobind;

namespace lw {
namespace {

nb::dict rebuilt(const BlocksHolder& blocks, float prune, bool bytes, int n_threads) {
    BlockArrays made;
    {
        WithoutGil released;
        made = rebuilt_blocks(blocks.view, prune, bytes, n_threads);
    }
    return arrays_of(std::move(made));
}

nb::dict merged(nb::list given, bool bytes) {
    std::vector<const WeightBlocks*> parts;
    std::int64_t n_children = 0;
    for (nb::handle one : given) {
        parts.push_back(&nb::cast<const BlocksHolder&>(one).view);
        n_children += parts.back()->child_start[parts.back()->n_blocks];
        if (parts.back()->n_features != parts.front()->n_features) throw nb::value_error("the parts of a block differ in their features");
    }
    if (parts.empty() || n_children > kMaxChildren) throw nb::value_error("a weight block has one part or more and at most 256 classifiers");
    BlockArrays made;
    {
        WithoutGil released;
        made = merged_block(parts, bytes);
    }
    return arrays_of(std::move(made));
}

void reach(const BlocksHolder& blocks, std::int64_t first_node, In<std::int32_t> first_child, In<std::int64_t> first_block, int link,
           In<std::int64_t> indptr, In<std::int32_t> indices, In<float> data, int n_threads, Out2<std::int32_t> nodes, Out2<float> scores,
           Out2<std::int32_t> next_nodes, Out2<float> next_scores) {
    check_rows(indptr, indices, data, blocks.view.n_features);
    const std::size_t n_rows = indptr.size() - 1, beam = nodes.shape(1), n_nodes = first_child.size();
    for (const auto* array : {&nodes, &next_nodes})
        if (array->shape(0) != n_rows || array->shape(1) != beam) throw nb::value_error("the beams must have one row per query");
    for (const auto* array : {&scores, &next_scores})
        if (array->shape(0) != n_rows || array->shape(1) != beam) throw nb::value_error("the beams must have one row per query");
    if (beam < 1 || first_block.size() != n_nodes + 1) throw nb::value_error("the level does not fit together");
    for (std::size_t n = 0; n < n_nodes; ++n)
        if (first_block(n) < 0 || first_block(n) > first_block(n + 1) || first_block(n + 1) > blocks.view.n_blocks)
            throw nb::value_error("the level does not fit the weight blocks");
    for (std::size_t i = 0; i < n_rows * beam; ++i)
        if (nodes.data()[i] >= 0 && (nodes.data()[i] < first_node || nodes.data()[i] >= first_node + static_cast<std::int64_t>(n_nodes)))
            throw nb::value_error("a node is not of this level");
    const LevelNodes level{first_node, static_cast<std::int64_t>(n_nodes), first_child.data(), first_block.data()};
    WithoutGil released;
    next_level(blocks.view, level, static_cast<Link>(link), static_cast<std::int32_t>(beam), static_cast<std::int64_t>(n_rows), indptr.data(),
               indices.data(), data.data(), n_threads, nodes.data(), scores.data(), next_nodes.data(), next_scores.data());
}

void top_k(const BlocksHolder& blocks, In<std::int64_t> indptr, In<std::int32_t> indices, In<float> data, Out2<std::int32_t> labels,
           Out2<float> margins, int n_threads) {
    check_rows(indptr, indices, data, blocks.view.n_features);
    const std::int64_t n_rows = static_cast<std::int64_t>(indptr.size()) - 1;
    const std::int32_t k = static_cast<std::int32_t>(labels.shape(1));
    if (labels.shape(0) != indptr.size() - 1 || margins.shape(0) != labels.shape(0) || margins.shape(1) != labels.shape(1))
        throw nb::value_error("labels and margins must have one row per query");
    if (k < 1) throw nb::value_error("k must be at least one");
    WithoutGil released;
    flat_top_k(blocks.view, n_rows, indptr.data(), indices.data(), data.data(), k, n_threads, labels.data(), margins.data());
}

// All classifiers of a small tree with several blocks are scored together if their weights come to so many bytes a feature at
// most: otherwise opening the few nodes that matter is quicker.
constexpr std::int64_t kMostBytesTogether = 256;

// A tree over the blocks, checked so that no search can leave it. most_together: the most classifiers of a
// tree that is scored whole.
struct TreeHolder {
    In<std::int32_t> first_child, n_children, first_label, n_labels_in, label_order;
    In<std::int64_t> first_block;
    FeatureRowsArrays rows;
    SearchTree view{};

    TreeHolder(const BlocksHolder& blocks, In<std::int32_t> first_child, In<std::int32_t> n_children, In<std::int32_t> first_label,
               In<std::int32_t> n_labels_in, In<std::int32_t> label_order, In<std::int64_t> first_block, std::int64_t most_together)
        : first_child(first_child), n_children(n_children), first_label(first_label), n_labels_in(n_labels_in),
          label_order(label_order), first_block(first_block) {
        const std::size_t n_nodes = n_children.size();
        if (n_nodes < 1 || first_child.size() != n_nodes || first_label.size() != n_nodes || n_labels_in.size() != n_nodes ||
            first_block.size() != n_nodes + 1 || first_block(0) != 0 || first_block(n_nodes) != blocks.view.n_blocks)
            throw nb::value_error("the tree does not fit the weight blocks");
        for (std::size_t n = 0; n < n_nodes; ++n) {
            const std::int64_t low = first_block(n), high = first_block(n + 1);
            if (high < low || high > blocks.view.n_blocks) throw nb::value_error("the blocks of a node are out of order");
            const std::int64_t has = blocks.view.child_start[high] - blocks.view.child_start[low];
            const bool leaf = n_children(n) == 0;
            const bool label = leaf && n > 0 && n_labels_in(n) == 1 && has == 0;  // decided among its parent's children
            const std::int64_t wants = label ? 0 : leaf ? n_labels_in(n) : n_children(n);
            const std::int64_t from = leaf ? first_label(n) : first_child(n);
            const std::int64_t limit = static_cast<std::int64_t>(leaf ? label_order.size() : n_nodes);
            // children come after their parent, so a search always ends
            if (wants != has || from < (leaf ? 0 : static_cast<std::int64_t>(n) + 1) || from + std::max<std::int64_t>(wants, 1) > limit)
                throw nb::value_error("the children of a node do not fit its weight blocks");
        }
        view = SearchTree{static_cast<std::int64_t>(n_nodes), static_cast<std::int64_t>(label_order.size()), first_child.data(), n_children.data(), first_label.data(),
                          n_labels_in.data(), label_order.data(), first_block.data(), n_children(0) > 0, false, true, {}, 0};
        for (std::size_t n = 0; n < n_nodes; ++n) view.lone_labels = view.lone_labels || view.is_label(static_cast<std::int32_t>(n));
        for (std::size_t n = 0; n < n_nodes; ++n)
            for (std::int32_t child = first_child(n) + 1; child < first_child(n) + n_children(n); ++child)
                view.even = view.even && (n_children(child) > 0) == (n_children(first_child(n)) > 0);
        for (std::int32_t child = 0; child < n_children(0); ++child)
            view.root_of_nodes = view.root_of_nodes && !view.is_label(first_child(0) + child);
        const std::int64_t n_all = blocks.view.child_start[blocks.view.n_blocks], n_bytes = blocks.view.payload_start[blocks.view.n_blocks];
        const bool small = n_all <= most_together && blocks.view.n_blocks > 1 && n_bytes <= kMostBytesTogether * blocks.view.n_features;
        const std::int64_t n_blocks = small ? blocks.view.n_blocks : first_block(1);
        // The rows of a single block lie in this order already.
        if (small || n_blocks > 1) rows = made_feature_rows(blocks.view, n_blocks, small);
        view.rows = rows.view();
        view.n_together = blocks.view.child_start[n_blocks];
    }
};

// Several trees that are asked together, with the map from columns of x to block features.
struct ForestHolder {
    std::vector<nb::object> kept;  // the holders and the arrays behind them stay alive as long as the forest
    std::vector<ForestTree> trees;
    In<std::int32_t> feature_rank;
    std::int32_t n_features;

    ForestHolder(nb::list blocks, nb::list trees_given, In<std::int32_t> feature_rank) : feature_rank(feature_rank), n_features(0) {
        if (blocks.size() != trees_given.size() || blocks.size() < 1) throw nb::value_error("a forest needs one set of blocks per tree");
        for (std::size_t t = 0; t < blocks.size(); ++t) {
            const auto& held = nb::cast<const BlocksHolder&>(blocks[t]);
            trees.push_back({&held.view, &nb::cast<const TreeHolder&>(trees_given[t]).view});
            if (t > 0 && held.view.n_features != n_features) throw nb::value_error("the trees of a forest differ in their features");
            n_features = held.view.n_features;
            kept.push_back(blocks[t]);
            kept.push_back(trees_given[t]);
        }
    }
};

void forest_top_k(const ForestHolder& forest, In<std::int64_t> indptr, In<std::int32_t> indices, In<float> data, int link,
                  std::int32_t beam, std::int64_t max_blocks, std::int32_t k_each, In<std::uint8_t> allowed, In<std::uint8_t> open,
                  Out2<std::int32_t> labels, Out2<float> scores, Out<std::int32_t> n_blocks, int n_threads, float slack,
                  std::int64_t max_nodes, std::int32_t n_sure, float lead) {
    check_rows(indptr, indices, data, forest.n_features);
    const std::size_t n_rows = indptr.size() - 1;
    if (labels.shape(0) != n_rows || scores.shape(0) != n_rows || scores.shape(1) != labels.shape(1) || n_blocks.size() != n_rows)
        throw nb::value_error("the result arrays must have one row per query");
    if (labels.shape(1) < 1 || k_each < 1 || n_sure < 0 || max_nodes < 0) throw nb::value_error("k must be at least one");
    const bool filtered = allowed.size() > 0;
    std::int64_t n_labels = 0, n_nodes = 0;
    for (const ForestTree& tree : forest.trees) {
        n_labels += tree.tree->n_labels;
        n_nodes += tree.tree->n_nodes;
    }
    if (filtered && (static_cast<std::int64_t>(allowed.size()) != n_labels || static_cast<std::int64_t>(open.size()) != n_nodes))
        throw nb::value_error("the label filter does not fit the trees");
    const SearchOptions options{static_cast<Link>(link), beam, max_blocks, filtered ? allowed.data() : nullptr, filtered ? open.data() : nullptr, slack, max_nodes, lead, n_sure};
    WithoutGil released;
    search_forest_rows(forest.trees.data(), static_cast<std::int32_t>(forest.trees.size()), options, static_cast<std::int64_t>(n_rows),
                       indptr.data(), indices.data(), data.data(), static_cast<std::int32_t>(labels.shape(1)), k_each, n_threads,
                       labels.data(), scores.data(), n_blocks.data());
}

// One row with columns and values as the caller has them: mapped, scaled and searched in one call, without the cost of
// a sparse matrix. Memory is kept per thread. -1: other arrays than int32 and float32, columns that do not rise, or
// values that are not allowed.
std::int32_t forest_query(const ForestHolder& forest, nb::handle given_columns, nb::handle given_values, bool normalize, int link,
                          std::int32_t beam, std::int32_t k_each, nb::handle labels_out, nb::handle scores_out, float slack,
                          std::int64_t max_nodes, std::int32_t n_sure, float lead) {
    thread_local ForestMemory memory;
    thread_local std::vector<std::int32_t> features;
    thread_local std::vector<float> scaled;
    const Buffer<const std::int32_t> columns(given_columns);
    const Buffer<const float> values(given_values);
    const Buffer<std::int32_t> labels(labels_out);
    const Buffer<float> scores(scores_out);
    if (!labels.fits() || !scores.fits()) throw nb::value_error("labels and scores must be int32 and float32 arrays");
    if (labels.size() != scores.size()) throw nb::value_error("arrays differ in length");
    if (labels.size() < 1 || k_each < 1 || n_sure < 0 || max_nodes < 0) throw nb::value_error("k must be at least one");
    if (!columns.fits() || !values.fits() || columns.size() != values.size()) return -1;
    const std::int32_t n_columns = static_cast<std::int32_t>(forest.feature_rank.size());
    std::int32_t last = -1;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        // Not rising: the general way sorts and adds up. Not finite or outside: it says which.
        if (columns(i) <= last || columns(i) >= n_columns || !std::isfinite(values(i))) return -1;
        last = columns(i);
    }
    features.resize(columns.size() + 1);  // + 1: rank_row writes one ahead
    scaled.resize(columns.size() + 1);
    const std::int64_t n = rank_row(static_cast<std::int64_t>(columns.size()), columns.data(), values.data(), forest.feature_rank.data(),
                                    normalize, features.data(), scaled.data());
    const Query query{static_cast<std::int32_t>(n), features.data(), scaled.data()};
    const SearchOptions options{static_cast<Link>(link), beam, 0, nullptr, nullptr, slack, max_nodes, lead, n_sure};
    std::int32_t n_blocks;
    nb::gil_scoped_release release;
    return search_forest(forest.trees.data(), static_cast<std::int32_t>(forest.trees.size()), options, query,
                         static_cast<std::int32_t>(labels.size()), k_each, memory, labels.data(), scores.data(), &n_blocks);
}

std::int64_t ranked_rows(In<std::int64_t> indptr, In<std::int32_t> columns, In<float> values, In<std::int32_t> rank, bool normalize,
                         Out<std::int64_t> starts, Out<std::int32_t> features, Out<float> scaled) {
    check_rows(indptr, columns, values, static_cast<std::int32_t>(rank.size()));
    if (starts.size() != indptr.size() || features.size() <= columns.size() || scaled.size() <= columns.size())
        throw nb::value_error("the result arrays are too small");
    WithoutGil released;
    return rank_rows(static_cast<std::int64_t>(indptr.size()) - 1, indptr.data(), columns.data(), values.data(), rank.data(), normalize,
                     starts.data(), features.data(), scaled.data());
}

// The margins of one row in one block, as prediction computes them.
void block_margins(const BlocksHolder& blocks, std::int64_t block, In<std::int32_t> features, In<float> values, Out<float> margins) {
    if (block < 0 || block >= blocks.view.n_blocks) throw nb::value_error("no such block");
    if (features.size() != values.size()) throw nb::value_error("features and values differ in length");
    for (std::size_t i = 0; i < features.size(); ++i)
        if (features(i) < 0 || features(i) >= blocks.view.n_features) throw nb::value_error("a feature is outside the model's range");
    alignas(64) float scores[kMaxChildren];
    kernels().score_block(blocks.view, block, Query{static_cast<std::int32_t>(features.size()), features.data(), values.data()}, scores);
    const std::int64_t n = blocks.view.child_start[block + 1] - blocks.view.child_start[block];
    if (static_cast<std::int64_t>(margins.size()) != n) throw nb::value_error("margins must have one entry per child");
    for (std::int64_t c = 0; c < n; ++c) margins(static_cast<std::size_t>(c)) = scores[c];
}

// A copy of all blocks in the order of the features.
struct ByFeatureHolder {
    FeatureRowsArrays rows;

    explicit ByFeatureHolder(const BlocksHolder& blocks) {
        const WeightBlocks& view = blocks.view;
        for (std::int64_t b = 0; b + 1 < view.n_blocks; ++b)
            if (view.child_start[b + 1] != (b + 1) * view.child_start[1]) throw nb::value_error("the blocks differ in size");
        WithoutGil released;
        rows = made_feature_rows(view, view.n_blocks, false);
    }
};

// The margins of some classifiers of every row. by_feature: a copy of the same blocks, or none.
void margins_of(const BlocksHolder& blocks, In<std::int64_t> indptr, In<std::int32_t> indices, In<float> data, In2<std::int32_t> places,
                Out2<float> margins, int n_threads, const ByFeatureHolder* by_feature) {
    check_rows(indptr, indices, data, blocks.view.n_features);
    if (places.shape(0) != indptr.size() - 1 || margins.shape(0) != places.shape(0) || margins.shape(1) != places.shape(1))
        throw nb::value_error("places and margins must have one row per query");
    const std::int64_t n_places = blocks.view.child_start[blocks.view.n_blocks];
    for (std::size_t i = 0; i < places.shape(0) * places.shape(1); ++i)
        if (places.data()[i] < -1 || places.data()[i] >= n_places) throw nb::value_error("no such classifier");
    const FeatureRows rows = by_feature ? by_feature->rows.view() : FeatureRows{};
    if (by_feature && (rows.n_blocks != blocks.view.n_blocks || by_feature->rows.start.size() != static_cast<std::size_t>(blocks.view.n_features) + 1 ||
                       !std::equal(rows.child_start, rows.child_start + rows.n_blocks + 1, blocks.view.child_start)))
        throw nb::value_error("the copy is none of these blocks");
    WithoutGil released;
    shortlist_margins(blocks.view, static_cast<std::int64_t>(indptr.size()) - 1, indptr.data(), indices.data(), data.data(),
                      static_cast<std::int64_t>(places.shape(1)), places.data(), by_feature ? &rows : nullptr, n_threads, margins.data());
}

// Shortlists with the best classifiers of every row added, and the margins of all.
void judge(const BlocksHolder& blocks, In<std::int32_t> order, In<std::int32_t> place, In<std::int64_t> indptr, In<std::int32_t> indices,
           In<float> data, In2<std::int32_t> labels, In2<float> log_p, float unknown_log_p, Out2<std::int32_t> out_labels,
           Out2<float> out_log_p, Out2<float> margins, int n_threads) {
    check_rows(indptr, indices, data, blocks.view.n_features);
    const std::int64_t n_labels = blocks.view.child_start[blocks.view.n_blocks];
    const std::size_t n_rows = indptr.size() - 1, room = labels.shape(1), width = out_labels.shape(1);
    const auto fits = [&](const auto& array, std::size_t columns) { return array.shape(0) == n_rows && array.shape(1) == columns; };
    if (!fits(labels, room) || !fits(log_p, room) || !fits(out_labels, width) || !fits(out_log_p, width) || !fits(margins, width))
        throw nb::value_error("shortlists and results must have one row per query");
    if (width <= room || static_cast<std::int64_t>(width - room) > n_labels) throw nb::value_error("no such number of candidates");
    if (static_cast<std::int64_t>(order.size()) != n_labels || static_cast<std::int64_t>(place.size()) < n_labels)
        throw nb::value_error("order and place must have one entry per label");
    for (std::int64_t i = 0; i < n_labels; ++i)
        if (order.data()[i] < 0 || order.data()[i] >= n_labels || place.data()[i] < 0 || place.data()[i] >= n_labels)
            throw nb::value_error("no such label or classifier");
    for (std::size_t i = 0; i < n_rows * room; ++i)
        if (labels.data()[i] < -1 || labels.data()[i] >= n_labels) throw nb::value_error("no such label");
    WithoutGil released;
    judge_shortlists(blocks.view, order.data(), place.data(), static_cast<std::int64_t>(n_rows), indptr.data(), indices.data(), data.data(),
                     {static_cast<std::int64_t>(room), labels.data(), log_p.data()}, static_cast<std::int32_t>(width - room), unknown_log_p,
                     n_threads, {out_labels.data(), out_log_p.data(), margins.data()});
}

std::vector<std::string> level_names() {
    const char* names[8];
    const int n = available_levels(names, 8);
    return {names, names + n};
}

}  // namespace

void bind_linear(nb::module_& m) {
    m.def("simd_level", [] { return std::string(kernels().level); }, "The instruction level in use.");
    m.def("simd_levels", &level_names, "The instruction levels that this CPU can run, slowest first.");
    m.def("use_simd_level", [](const std::string& name) { return use_level(name.c_str()); }, nb::arg("name"),
          "True if the level is now in use; for tests.");
    m.def("ranked_rows", &ranked_rows, nb::arg("indptr"), nb::arg("columns"), nb::arg("values"), nb::arg("rank"), nb::arg("normalize"),
          nb::arg("starts"), nb::arg("features"), nb::arg("scaled"),
          "The number of entries whose column has a rank; they are written to features and scaled, one longer than columns.");
    m.def("merged_block", &merged, nb::arg("parts"), nb::arg("bytes"),
          "The arrays of WeightBlocks of one block with the classifiers of all parts, at most 256.");
    m.def("converted_blocks", &converted, nb::arg("n_features"), nb::arg("child_start"), nb::arg("bias"), nb::arg("top_bits"),
          nb::arg("top_rank"), nb::arg("word_start"), nb::arg("words"), nb::arg("row_start"), nb::arg("row_offset"),
          nb::arg("payload_start"), nb::arg("payload"), nb::arg("scale") = nb::none(),
          "The arrays of WeightBlocks from those of a model that an earlier version saved; the weights stay the same.");
    nb::class_<BlocksHolder>(m, "WeightBlocks", "The compressed weights of sibling classifiers, over arrays that may be memory-mapped.")
        .def(nb::init<std::int32_t, In<std::int64_t>, In<float>, In<std::uint64_t>, In<std::uint32_t>, In<std::int64_t>,
                      In<std::uint32_t>, In<std::int64_t>, In<std::uint8_t>, std::optional<In<float>>>(),
             nb::arg("n_features"), nb::arg("child_start"), nb::arg("bias"), nb::arg("top_bits"), nb::arg("top_rank"),
             nb::arg("word_start"), nb::arg("words"), nb::arg("payload_start"), nb::arg("payload"), nb::arg("scale") = nb::none())
        .def("top_k", &top_k, nb::arg("indptr"), nb::arg("indices"), nb::arg("data"), nb::arg("labels"), nb::arg("margins"),
             nb::arg("n_threads"), "Fill labels and margins with the best children of every row over all blocks.")
        .def("block_margins", &block_margins, nb::arg("block"), nb::arg("features"), nb::arg("values"), nb::arg("margins"),
             "Fill margins with those of one row under all classifiers of a block.")
        .def("margins_of", &margins_of, nb::arg("indptr"), nb::arg("indices"), nb::arg("data"), nb::arg("places"), nb::arg("margins"),
             nb::arg("n_threads"), nb::arg("by_feature").none() = nb::none(),
             "Fill margins with those of the classifiers `places` (n, m) of every row; 0 where a place is -1.")
        .def("judge", &judge, nb::arg("order"), nb::arg("place"), nb::arg("indptr"), nb::arg("indices"), nb::arg("data"), nb::arg("labels"),
             nb::arg("log_p"), nb::arg("unknown_log_p"), nb::arg("out_labels"), nb::arg("out_log_p"), nb::arg("margins"), nb::arg("n_threads"),
             "Fill in shortlists (n, room) with the best classifiers' labels added, their log p, and the margins of all.")
        .def("rebuilt", &rebuilt, nb::arg("prune"), nb::arg("bytes"), nb::arg("n_threads"),
             "The arrays of the same classifiers without the weights below prune, in half floats or in bytes.")
        .def("next_level", &reach, nb::arg("first_node"), nb::arg("first_child"), nb::arg("first_block"), nb::arg("link"), nb::arg("indptr"),
             nb::arg("indices"), nb::arg("data"), nb::arg("n_threads"), nb::arg("nodes"), nb::arg("scores"), nb::arg("next_nodes"),
             nb::arg("next_scores"), "Fill next_nodes and next_scores with the best children of every row's nodes of one level.");
    nb::class_<ByFeatureHolder>(m, "BlocksByFeature", "A copy of blocks of equal size (but for the last) in the order of the features.")
        .def(nb::init<const BlocksHolder&>(), nb::arg("blocks"));
    nb::class_<TreeHolder>(m, "SearchTree", "A label tree whose nodes own weight blocks.")
        .def(nb::init<const BlocksHolder&, In<std::int32_t>, In<std::int32_t>, In<std::int32_t>, In<std::int32_t>, In<std::int32_t>, In<std::int64_t>, std::int64_t>(),
             nb::arg("blocks"), nb::arg("first_child"), nb::arg("n_children"), nb::arg("first_label"), nb::arg("n_labels_in"),
             nb::arg("label_order"), nb::arg("first_block"), nb::arg("most_together") = 1024);
    nb::class_<ForestHolder>(m, "Forest", "Label trees that are asked together.")
        .def(nb::init<nb::list, nb::list, In<std::int32_t>>(), nb::arg("blocks"), nb::arg("trees"), nb::arg("feature_rank"))
        .def("top_k", &forest_top_k, nb::arg("indptr"), nb::arg("indices"), nb::arg("data"), nb::arg("link"), nb::arg("beam"),
             nb::arg("max_blocks"), nb::arg("k_each"), nb::arg("allowed"), nb::arg("open"), nb::arg("labels"), nb::arg("scores"),
             nb::arg("n_blocks"), nb::arg("n_threads"), nb::arg("slack") = 0.0f, nb::arg("max_nodes") = 0, nb::arg("n_sure") = 0, nb::arg("lead") = 0.0f,
             "Fill labels, scores and blocks evaluated of every row by best-first (beam 0) or beam search.")
        .def("query", &forest_query, nb::arg("columns"), nb::arg("values"), nb::arg("normalize"), nb::arg("link"), nb::arg("beam"),
             nb::arg("k_each"), nb::arg("labels"), nb::arg("scores"), nb::arg("slack") = 0.0f, nb::arg("max_nodes") = 0, nb::arg("n_sure") = 0, nb::arg("lead") = 0.0f,
             "The number of labels found for one row given by columns and values; fills labels and scores.");
}

}  // namespace lw
