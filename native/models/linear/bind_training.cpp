// Training of the linear classifiers of tree nodes, for Python. Every argument is checked, so no call reads outside arrays.
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "bind/bind.hpp"
#include "bind/progress.hpp"
#include "models/linear/bind_blocks.hpp"
#include "models/linear/node_training.hpp"

namespace nb = nanobind;

namespace lw {
namespace {

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
    std::ostringstream text;
    (text << ... << parts);
    throw nb::value_error(text.str().c_str());
}

// Far inside float32, so that a row's cost times a classifier's can neither vanish nor overflow.
constexpr float kLeastRowCost = 1e-20f, kMostRowCost = 1e20f;

void need_number(const char* name, float value, bool zero_allowed) {
    if (!std::isfinite(value) || value < 0 || (value == 0 && !zero_allowed))
        refuse(name, " is ", value, ", allowed are finite numbers ", zero_allowed ? "from 0" : "above 0");
}

void need_finite(const char* name, float value) {
    if (!std::isfinite(value)) refuse(name, " is ", value, ", allowed are finite numbers");
}

// starts has n + 1 entries that rise from 0 to `size`, the length of the array they point into, each by `step` at least.
void need_starts(const char* name, const In<std::int64_t>& starts, std::size_t n, const char* what, std::size_t size, std::int64_t step = 0) {
    if (starts.size() != n + 1) refuse(name, " has ", starts.size(), " entries, allowed is ", n + 1);
    if (starts(0) != 0) refuse(name, "[0] is ", starts(0), ", allowed is 0");
    for (std::size_t i = 0; i < n; ++i)
        if (starts(i + 1) < starts(i) + step)
            refuse(name, "[", i + 1, "] is ", starts(i + 1), " after ", starts(i), ", allowed is ", starts(i) + step, " or more");
    if (starts(n) != static_cast<std::int64_t>(size)) refuse(name, " ends with ", starts(n), ", but ", what, " has ", size, " entries");
}

template <class T>
void need_inside(const char* name, const In<T>& values, std::int64_t limit) {
    for (std::size_t i = 0; i < values.size(); ++i)
        if (values(i) < 0 || values(i) >= limit) refuse(name, "[", i, "] is ", values(i), ", allowed is 0..", limit - 1);
}

void check_data(const In<std::int64_t>& indptr, const In<std::int32_t>& indices, const In<float>& data, std::int32_t n_features,
                const std::optional<In<std::int32_t>>& numbers, const std::optional<In<float>>& row_scale,
                const In<std::int64_t>& label_start, const In<std::int32_t>& label_rows, const std::optional<In<float>>& row_cost) {
    if (n_features < 0) refuse("n_features is ", n_features, ", allowed is 0 or more");
    if (indptr.size() < 1 || label_start.size() < 1) refuse("indptr and label_start need one entry more than there are rows and labels");
    if (indptr.size() - 1 > INT32_MAX) refuse("there are ", indptr.size() - 1, " rows, allowed is ", INT32_MAX);
    if (indices.size() != data.size()) refuse("indices has ", indices.size(), " entries, but data has ", data.size());
    need_starts("indptr", indptr, indptr.size() - 1, "indices", indices.size());
    if (numbers) {
        if (numbers->size() > INT32_MAX) refuse("numbers has ", numbers->size(), " entries, allowed is ", INT32_MAX);
        need_inside("indices", indices, static_cast<std::int64_t>(numbers->size()));
        std::vector<bool> taken(static_cast<std::size_t>(n_features));
        for (std::size_t c = 0; c < numbers->size(); ++c) {
            const std::int32_t number = (*numbers)(c);
            if (number < -1 || number >= n_features) refuse("numbers[", c, "] is ", number, ", allowed is -1..", n_features - 1);
            if (number < 0) continue;
            if (taken[static_cast<std::size_t>(number)]) refuse("numbers[", c, "] is ", number, ", which another column has");
            taken[static_cast<std::size_t>(number)] = true;
        }
        for (std::size_t i = 0; i < indices.size(); ++i)
            if ((*numbers)(static_cast<std::size_t>(indices(i))) < 0) refuse("indices[", i, "] is the column ", indices(i), ", which has no number");
    } else {
        need_inside("indices", indices, n_features);
    }
    if (row_scale) {
        if (row_scale->size() != indptr.size() - 1) refuse("row_scale has ", row_scale->size(), " entries, allowed is ", indptr.size() - 1);
        for (std::size_t r = 0; r < row_scale->size(); ++r) need_number("a row_scale", (*row_scale)(r), /*zero_allowed=*/false);
    }
    need_starts("label_start", label_start, label_start.size() - 1, "label_rows", label_rows.size());
    need_inside("label_rows", label_rows, static_cast<std::int64_t>(indptr.size()) - 1);
    if (!row_cost) return;
    if (row_cost->size() != indptr.size() - 1) refuse("row_cost has ", row_cost->size(), " entries, allowed is ", indptr.size() - 1);
    for (std::size_t r = 0; r < row_cost->size(); ++r) {
        const float cost = (*row_cost)(r);
        if (cost != 0 && !(cost >= kLeastRowCost && cost <= kMostRowCost))
            refuse("row_cost[", r, "] is ", cost, ", allowed are 0 and numbers from ", kLeastRowCost, " to ", kMostRowCost);
    }
}

void check_nodes(const TrainingData& data, const In<std::int64_t>& child_start, const In<std::int64_t>& child_bound,
                 const In<std::int64_t>& extra_start, const In<std::int32_t>& extra_rows, const std::optional<In<float>>& child_cost) {
    if (child_start.size() < 1) refuse("child_start needs one entry more than there are nodes");
    const std::size_t n_nodes = child_start.size() - 1;
    need_starts("child_start", child_start, n_nodes, "child_bound", child_bound.size(), 1);
    need_inside("child_bound", child_bound, data.n_labels + 1);
    need_starts("extra_start", extra_start, n_nodes, "extra_rows", extra_rows.size());
    need_inside("extra_rows", extra_rows, data.n_rows);
    if (child_cost && child_cost->size() != child_bound.size())
        refuse("child_cost has ", child_cost->size(), " entries, but child_bound has ", child_bound.size());
    for (std::size_t n = 0; n < n_nodes; ++n)
        for (auto c = static_cast<std::size_t>(child_start(n)); c + 1 < static_cast<std::size_t>(child_start(n + 1)); ++c) {
            if (child_bound(c) > child_bound(c + 1))
                refuse("child_bound[", c + 1, "] is ", child_bound(c + 1), " after ", child_bound(c), ", allowed is ", child_bound(c), " or more");
            if (child_cost) need_number("a child_cost", (*child_cost)(c), /*zero_allowed=*/false);
        }
}

void check_options(const TrainingOptions& options) {
    if (options.loss != Loss::squared_hinge && options.loss != Loss::logistic)
        refuse("loss is ", static_cast<int>(options.loss), ", allowed are 0 (squared hinge) and 1 (logistic)");
    if (options.max_passes < 1) refuse("max_passes is ", options.max_passes, ", allowed is 1 or more");
    need_number("eps", options.eps, /*zero_allowed=*/true);
    need_number("bias", options.bias, /*zero_allowed=*/true);
    need_number("prune", options.prune, /*zero_allowed=*/true);
    need_number("cost_positive", options.cost_positive, /*zero_allowed=*/false);
    need_number("cost_negative", options.cost_negative, /*zero_allowed=*/false);
    need_number("cluster_cost", options.cluster_cost, /*zero_allowed=*/false);
    if (options.groups_before < 0) refuse("groups_before is ", options.groups_before, ", allowed is 0 or more");
    need_finite("rare_power", options.rare_power);
    need_finite("untrained", options.untrained);
}

TrainingStart start_of(const BlocksHolder* blocks, const std::optional<In<std::int64_t>>& first_block,
                       const std::optional<In<std::int64_t>>& n_children, std::int64_t first_new_row, std::size_t n_nodes, std::int64_t n_rows) {
    if (!blocks) return {};
    if (!first_block || !n_children || first_block->size() != n_nodes || n_children->size() != n_nodes)
        refuse("start_first_block and start_children need one entry for each of the ", n_nodes, " nodes");
    if (first_new_row < 0 || first_new_row > n_rows) refuse("first_new_row is ", first_new_row, ", allowed is 0..", n_rows);
    const std::int64_t n_blocks = blocks->view.n_blocks;
    for (std::size_t n = 0; n < n_nodes; ++n) {
        const std::int64_t first = (*first_block)(n), children = (*n_children)(n);
        if (first < -1 || children < 0 || first > n_blocks || (first >= 0 && children > (n_blocks - first) * kMaxChildren))
            refuse("node ", n, " starts from ", children, " children in block ", first, " and behind, but there are ", n_blocks, " blocks");
    }
    return {&blocks->view, first_new_row, first_block->data(), n_children->data()};
}

nb::tuple train(In<std::int64_t> indptr, In<std::int32_t> indices, In<float> data, std::int32_t n_features,
                In<std::int64_t> label_start, In<std::int32_t> label_rows, std::optional<In<float>> row_cost, In<std::int64_t> child_start,
                In<std::int64_t> child_bound, In<std::int64_t> extra_start, In<std::int32_t> extra_rows, bool all_rows,
                bool extra_alone, std::optional<In<float>> child_cost, int loss, float eps, int max_passes, float bias, float prune,
                float untrained, float cost_positive, float cost_negative, float rare_power, float cluster_cost, std::uint64_t seed,
                int n_threads, bool bytes, const BlocksHolder* start_blocks, std::optional<In<std::int64_t>> start_first_block,
                std::optional<In<std::int64_t>> start_children, std::int64_t first_new_row, std::int64_t groups_before, nb::object progress,
                std::optional<In<std::int32_t>> numbers, std::optional<In<float>> row_scale) {
    check_data(indptr, indices, data, n_features, numbers, row_scale, label_start, label_rows, row_cost);
    const TrainingData training{static_cast<std::int64_t>(indptr.size()) - 1, n_features, indptr.data(), indices.data(), data.data(),
                                static_cast<std::int64_t>(label_start.size()) - 1, label_start.data(), label_rows.data(),
                                row_cost ? row_cost->data() : nullptr, row_scale ? row_scale->data() : nullptr,
                                numbers ? numbers->data() : nullptr, numbers ? static_cast<std::int32_t>(numbers->size()) : 0};
    check_nodes(training, child_start, child_bound, extra_start, extra_rows, child_cost);
    const std::size_t n_nodes = child_start.size() - 1;
    const TrainingNodes nodes{static_cast<std::int64_t>(n_nodes), child_start.data(), child_bound.data(), extra_start.data(),
                              extra_rows.data(), all_rows, extra_alone, child_cost ? child_cost->data() : nullptr};
    const TrainingOptions options{static_cast<Loss>(loss), eps, max_passes, bias, prune, untrained,
                                  cost_positive, cost_negative, rare_power, cluster_cost, seed, n_threads, bytes,
                                  start_of(start_blocks, start_first_block, start_children, first_new_row, n_nodes, training.n_rows), groups_before};
    check_options(options);
    PythonProgress state{progress};
    TrainingReport report;
    BlockArrays made;
    try {
        WithoutGil released;
        made = train_nodes(training, nodes, options, report_progress, &state, &report);
    } catch (const std::runtime_error&) {
        if (state.interrupted) throw nb::python_error();
        throw;
    }
    return nb::make_tuple(arrays_of(std::move(made)), report.groups, report.passes);
}

}  // namespace

void bind_training(nb::module_& m) {
    m.def("train_nodes", &train, nb::kw_only(), nb::arg("indptr"), nb::arg("indices"), nb::arg("data"), nb::arg("n_features"),
          nb::arg("label_start"), nb::arg("label_rows"), nb::arg("row_cost") = nb::none(), nb::arg("child_start"), nb::arg("child_bound"), nb::arg("extra_start"),
          nb::arg("extra_rows"), nb::arg("all_rows") = false, nb::arg("extra_alone") = false, nb::arg("child_cost") = nb::none(),
          nb::arg("loss"), nb::arg("eps"), nb::arg("max_passes"), nb::arg("bias"), nb::arg("prune"), nb::arg("untrained"),
          nb::arg("cost_positive"), nb::arg("cost_negative"), nb::arg("rare_power"), nb::arg("cluster_cost"), nb::arg("seed"),
          nb::arg("n_threads"), nb::arg("bytes") = false, nb::arg("start_blocks") = nb::none(), nb::arg("start_first_block") = nb::none(),
          nb::arg("start_children") = nb::none(), nb::arg("first_new_row") = 0, nb::arg("groups_before") = 0, nb::arg("progress"),
          nb::arg("numbers") = nb::none(), nb::arg("row_scale") = nb::none(),
          "(weight block arrays, groups solved, passes made) of the child classifiers of tree nodes. Rows: indptr, indices, data, row_cost "
          "(factors of the cost of each row's errors; 0 leaves a row out), row_scale (factors of each row's values), numbers (the feature of each column, where indices are columns); "
          "labels: label_start, label_rows; nodes: child_* and extra_*; where to begin: start_*; groups_before: groups of the nodes before these, if all are trained in parts; see native/models/linear/node_training.hpp.");
}

}  // namespace lw
