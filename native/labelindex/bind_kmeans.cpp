// Wide splits of label sets for Python.
#include <stdexcept>

#include "labelindex/bind_label_vectors.hpp"
#include "labelindex/kmeans.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {

void bind_kmeans(nb::module_& m) {
    m.def(
        "kmeans_nodes",
        [](const KeptLabelVectors& kept, In<std::int64_t> first, In<std::int64_t> size, In<std::int64_t> key, std::int32_t n_clusters, int max_iterations,
           double tolerance, std::uint64_t seed, int n_threads, Out<std::int32_t> order, Out2<std::int64_t> counts) {
            const LabelVectors& vectors = kept.get();
            const std::size_t n = first.shape(0);
            bool fits = n_clusters >= 2 && size.shape(0) == n && key.shape(0) == n && counts.shape(0) == n && counts.shape(1) == static_cast<std::size_t>(n_clusters);
            for (std::size_t i = 0; fits && i < n; ++i) {
                fits = size.data()[i] >= n_clusters && first.data()[i] >= 0 &&
                       first.data()[i] + size.data()[i] <= static_cast<std::int64_t>(order.shape(0));
            }
            for (std::size_t i = 0; fits && i < order.shape(0); ++i) {
                fits = order.data()[i] >= 0 && order.data()[i] < vectors.n_labels();
            }
            if (!fits) throw std::invalid_argument("the arrays of the nodes and the label vectors do not fit together");
            const KmeansOptions options{n_clusters, max_iterations, tolerance, seed, n_threads};
            WithoutGil released;
            kmeans_nodes(vectors, first.data(), size.data(), key.data(), static_cast<std::int64_t>(n), options, order.data(),
                         counts.data());
        },
        "vectors"_a, "first"_a, "size"_a, "key"_a, "n_clusters"_a,
        "max_iterations"_a, "tolerance"_a, "seed"_a, "n_threads"_a, "order"_a, "counts"_a,
        "Split the nodes of one level into clusters, reordering `order` in place; fills counts (n_nodes, n_clusters).");
}

}  // namespace lw
