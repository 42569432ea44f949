// Splits of label sets for Python.
#include <nanobind/stl/string.h>

#include <stdexcept>

#include "labelindex/bind_label_vectors.hpp"
#include "labelindex/twomeans.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

void check(bool holds, const char* message) {
    if (!holds) throw std::invalid_argument(message);
}

void split(const KeptLabelVectors& kept, In<double> frequencies, In<double> cover_frequencies, In<std::int64_t> first, In<std::int64_t> size,
           In<std::int64_t> want_left, In<std::int64_t> key, Out<std::int32_t> order, Out<std::int64_t> n_left,
           Out<double> objective, const SplitOptions& options) {
    const LabelVectors& vectors = kept.get();
    const std::size_t n = first.shape(0);
    check(size.shape(0) == n && want_left.shape(0) == n && key.shape(0) == n && n_left.shape(0) == n && objective.shape(0) == n,
          "one entry a node is needed in all node arrays");
    if (options.weighted) {
        check(frequencies.shape(0) == static_cast<std::size_t>(vectors.n_labels()) &&
                  cover_frequencies.shape(0) == static_cast<std::size_t>(vectors.n_labels()),
              "one frequency a label is needed");
    }
    for (std::size_t i = 0; i < n; ++i) {
        check(size.data()[i] >= 2 && first.data()[i] >= 0 &&
                  first.data()[i] + size.data()[i] <= static_cast<std::int64_t>(order.shape(0)) &&
                  want_left.data()[i] < size.data()[i],
              "a node lies outside the order of labels, or is too small to split");
    }
    for (std::size_t i = 0; i < order.shape(0); ++i) {
        check(order.data()[i] >= 0 && order.data()[i] < vectors.n_labels(), "the order of labels holds no label number");
    }
    const SplitNodes nodes{first.data(), size.data(), want_left.data(), key.data(), static_cast<std::int64_t>(n)};
    WithoutGil released;
    split_nodes(vectors, frequencies.data(), cover_frequencies.data(), nodes, options, order.data(), n_left.data(),
                objective.data());
}

}  // namespace

void bind_twomeans(nb::module_& m) {
    nb::class_<KeptLabelVectors>(m, "LabelVectors", "The vectors of labels, read where they are; matrices add the next labels.")
        .def(nb::init<std::int32_t>(), "n_columns"_a)
        .def("add", &KeptLabelVectors::add_all, "starts"_a, "columns"_a, "values"_a)
        .def("add", &KeptLabelVectors::add, "starts"_a, "columns"_a, "values"_a, "rows"_a)
        .def("gather", &KeptLabelVectors::gather, "Copy the vectors next to each other, for sets that are read often.")
        .def("__len__", [](const KeptLabelVectors& kept) { return kept.get().n_labels(); });
    nb::class_<SplitOptions>(m, "SplitOptions", "How label sets are split; see native/labelindex/twomeans.hpp.")
        .def(nb::init<>())
        .def_rw("weighted", &SplitOptions::weighted)
        .def_rw("similarity", &SplitOptions::similarity)
        .def_rw("exponent", &SplitOptions::exponent)
        .def_rw("frequency", &SplitOptions::frequency)
        .def_rw("cover", &SplitOptions::cover)
        .def_rw("smoothing", &SplitOptions::smoothing)
        .def_rw("fano", &SplitOptions::fano)
        .def_rw("round_each", &SplitOptions::round_each)
        .def_rw("round_left", &SplitOptions::round_left)
        .def_rw("max_iterations", &SplitOptions::max_iterations)
        .def_rw("tolerance", &SplitOptions::tolerance)
        .def_rw("seed", &SplitOptions::seed)
        .def_rw("n_threads", &SplitOptions::n_threads);
    m.def("split_nodes", &split, "vectors"_a, "frequencies"_a,
          "cover_frequencies"_a, "first"_a, "size"_a, "want_left"_a, "key"_a, "order"_a, "n_left"_a, "objective"_a,
          "options"_a, "Split the nodes of one level in two, reordering `order` in place; fills n_left and objective.");
    m.def(
        "halve_by_weight",
        [](In<double> ratios, In<double> weights, Out<double> alpha) {
            check(ratios.shape(0) == weights.shape(0) && alpha.shape(0) == ratios.shape(0) && ratios.shape(0) > 0,
                  "ratios, weights and alpha must have the same, positive length");
            halve_by_weight(ratios.data(), weights.data(), static_cast<std::int64_t>(ratios.shape(0)), alpha.data());
        },
        "ratios"_a, "weights"_a, "alpha"_a, "Fill alpha with the optimal halves by weight (one label may be fractional).");
}

}  // namespace lw
