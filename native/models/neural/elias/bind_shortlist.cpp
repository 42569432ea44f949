// Shortlists of labels from a cluster graph for Python.
#include "bind/bind.hpp"
#include "models/neural/elias/shortlist.hpp"

namespace nb = nanobind;

namespace lw {
namespace {

void check_csr(const In<std::int64_t>& start, const In<std::int32_t>& values, std::size_t n_rows, std::int64_t limit, const char* what) {
    bool good = start.size() == n_rows + 1 && start(0) == 0 && start(n_rows) == static_cast<std::int64_t>(values.size());
    for (std::size_t i = 0; good && i < n_rows; ++i) good = start(i) <= start(i + 1);
    for (std::size_t i = 0; good && i < values.size(); ++i) good = values(i) >= 0 && values(i) < limit;
    if (!good) throw nb::value_error(what);
}

void shortlist(In2<std::int32_t> edge_labels, In2<float> edge_scores, std::int64_t n_labels, In2<float> cluster_scores, std::int32_t beam,
               nb::object forced_clusters, nb::object forced_labels, Out2<std::int32_t> labels, Out2<std::int64_t> paths,
               Out2<float> scores, int n_threads) {
    const std::size_t n_rows = cluster_scores.shape(0);
    if (edge_scores.shape(0) != edge_labels.shape(0) || edge_scores.shape(1) != edge_labels.shape(1) ||
        cluster_scores.shape(1) != edge_labels.shape(0))
        throw nb::value_error("edges and cluster scores do not fit");
    if (labels.shape(0) != n_rows || paths.shape(0) != n_rows || scores.shape(0) != n_rows || labels.shape(1) < 1 ||
        paths.shape(1) != labels.shape(1) || scores.shape(1) != labels.shape(1))
        throw nb::value_error("the result arrays must have one row per query");
    if (beam < 1) throw nb::value_error("beam must be at least one");
    const std::size_t n_edges = edge_labels.shape(0) * edge_labels.shape(1);
    for (std::size_t i = 0; i < n_edges; ++i)
        if (edge_labels.data()[i] < -1 || edge_labels.data()[i] >= n_labels) throw nb::value_error("an edge leads outside the labels");
    Forced forced{nullptr, nullptr, nullptr, nullptr};
    In<std::int64_t> starts[2];
    In<std::int32_t> values[2];
    const nb::object given[2] = {forced_clusters, forced_labels};
    const std::int64_t limits[2] = {static_cast<std::int64_t>(edge_labels.shape(0)), n_labels};
    for (int i = 0; i < 2; ++i) {
        if (given[i].is_none()) continue;
        const nb::tuple pair = nb::cast<nb::tuple>(given[i]);
        starts[i] = nb::cast<In<std::int64_t>>(pair[0]);
        values[i] = nb::cast<In<std::int32_t>>(pair[1]);
        check_csr(starts[i], values[i], n_rows, limits[i], "the forced clusters or labels do not fit");
    }
    if (!forced_clusters.is_none()) forced.cluster_start = starts[0].data(), forced.clusters = values[0].data();
    if (!forced_labels.is_none()) forced.label_start = starts[1].data(), forced.labels = values[1].data();
    const EdgeTable edges{static_cast<std::int64_t>(edge_labels.shape(0)), static_cast<std::int64_t>(edge_labels.shape(1)), n_labels,
                          edge_labels.data(), edge_scores.data()};
    WithoutGil released;
    shortlist_rows(edges, forced, static_cast<std::int64_t>(n_rows), cluster_scores.data(), beam, static_cast<std::int64_t>(labels.shape(1)),
                   n_threads, labels.data(), paths.data(), scores.data());
}

void products(In2<std::int32_t> labels, In2<float> vectors, In2<float> weights, In<float> bias, Out2<float> out, int n_threads) {
    if (vectors.shape(0) != labels.shape(0) || vectors.shape(1) != weights.shape(1) || bias.size() != weights.shape(0) ||
        out.shape(0) != labels.shape(0) || out.shape(1) != labels.shape(1))
        throw nb::value_error("labels, vectors and weights do not fit");
    for (std::size_t i = 0; i < labels.shape(0) * labels.shape(1); ++i)
        if (labels.data()[i] < -1 || labels.data()[i] >= static_cast<std::int64_t>(weights.shape(0)))
            throw nb::value_error("a label is outside the weights");
    WithoutGil released;
    shortlist_products(static_cast<std::int64_t>(labels.shape(0)), static_cast<std::int64_t>(labels.shape(1)),
                       static_cast<std::int64_t>(vectors.shape(1)), labels.data(), vectors.data(), weights.data(), bias.data(), n_threads, out.data());
}

void narrow(In2<std::int32_t> labels, In2<float> log_p, In2<std::int32_t> named, float unknown, Out2<std::int32_t> out_labels,
            Out2<float> out_log_p) {
    const std::size_t n_rows = labels.shape(0), room = labels.shape(1), n_named = named.shape(1), width = out_labels.shape(1);
    if (log_p.shape(0) != n_rows || log_p.shape(1) != room || named.shape(0) != n_rows || out_labels.shape(0) != n_rows ||
        out_log_p.shape(0) != n_rows || out_log_p.shape(1) != width || width < n_named)
        throw nb::value_error("shortlists and named labels do not fit");
    WithoutGil released;
    std::vector<Scored> memory;
    for (std::size_t row = 0; row < n_rows; ++row)
        narrow_row(static_cast<std::int64_t>(room), labels.data() + row * room, log_p.data() + row * room,
                   static_cast<std::int64_t>(width - n_named), static_cast<std::int64_t>(n_named), named.data() + row * n_named, unknown,
                   static_cast<std::int64_t>(width), memory, out_labels.data() + row * width, out_log_p.data() + row * width);
}

}  // namespace

void bind_shortlist(nb::module_& m) {
    m.def("shortlist", &shortlist, nb::arg("edge_labels"), nb::arg("edge_scores"), nb::arg("n_labels"), nb::arg("cluster_scores"),
          nb::arg("beam"), nb::arg("forced_clusters").none(), nb::arg("forced_labels").none(), nb::arg("labels"), nb::arg("paths"),
          nb::arg("scores"), nb::arg("n_threads"),
          "Fill labels, paths and path scores of every row's shortlist; forced: (starts, ids) per row, or None.");
    m.def("shortlist_products", &products, nb::arg("labels"), nb::arg("vectors"), nb::arg("weights"), nb::arg("bias"), nb::arg("out"),
          nb::arg("n_threads"), "Fill out with vectors[r] . weights[labels[r, j]] + bias; 0 where the label is -1.");
    m.def("narrow_shortlists", &narrow, nb::arg("labels"), nb::arg("log_p"), nb::arg("named"), nb::arg("unknown"), nb::arg("out_labels"),
          nb::arg("out_log_p"),
          "Fill in the most likely labels of every row and the named ones; the places beside those of the named ones tell how many.");
}

}  // namespace lw
