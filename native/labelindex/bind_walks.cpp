// Random walks and skip-gram for Python.
#include <stdexcept>

#include "bind/bind.hpp"
#include "labelindex/walks.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {

void bind_walks(nb::module_& m) {
    m.def(
        "random_walks",
        [](In<std::int64_t> starts, In<std::int32_t> neighbors, In<double> cumulative, std::int32_t n_walks, std::uint64_t seed,
           int n_threads, Out2<std::int32_t> walks) {
            const std::int64_t n_nodes = static_cast<std::int64_t>(starts.shape(0)) - 1;
            bool fits = n_nodes >= 0 && n_walks >= 1 && neighbors.shape(0) == cumulative.shape(0) && starts.data()[0] == 0 &&
                        starts.data()[n_nodes] == static_cast<std::int64_t>(neighbors.shape(0)) &&
                        static_cast<std::int64_t>(walks.shape(0)) == n_nodes * n_walks && walks.shape(1) >= 1;
            for (std::int64_t v = 0; fits && v < n_nodes; ++v) fits = starts.data()[v] <= starts.data()[v + 1];
            for (std::size_t i = 0; fits && i < neighbors.shape(0); ++i)
                fits = neighbors.data()[i] >= 0 && neighbors.data()[i] < n_nodes;
            if (!fits) throw std::invalid_argument("the arrays of the graph or of the walks do not fit together");
            const WeightedGraph graph{starts.data(), neighbors.data(), cumulative.data(), n_nodes};
            WithoutGil released;
            random_walks(graph, n_walks, static_cast<std::int32_t>(walks.shape(1)), seed, n_threads, walks.data());
        },
        "starts"_a, "neighbors"_a, "cumulative"_a, "n_walks"_a, "seed"_a, "n_threads"_a, "walks"_a,
        "Fill walks (n_nodes * n_walks, length): row v * n_walks + w is a random walk from node v, -1 after its end.");
    m.def(
        "skip_gram",
        [](In2<std::int32_t> walks, In<double> negative_cumulative, std::int32_t window, std::int32_t negatives,
           std::int32_t epochs, float learning_rate, std::uint64_t seed, Out2<float> vectors, Out2<float> contexts) {
            const std::int64_t n_nodes = static_cast<std::int64_t>(vectors.shape(0));
            bool fits = n_nodes >= 1 && contexts.shape(0) == vectors.shape(0) && contexts.shape(1) == vectors.shape(1) &&
                        static_cast<std::int64_t>(negative_cumulative.shape(0)) == n_nodes && window >= 1 && negatives >= 0 &&
                        walks.shape(0) < (1ull << 32);
            for (std::size_t i = 0; fits && i < walks.size(); ++i) fits = walks.data()[i] < n_nodes;
            if (!fits) throw std::invalid_argument("the arrays of the walks and the vectors do not fit together");
            const SkipGramOptions options{static_cast<std::int32_t>(vectors.shape(1)), window, negatives, epochs,
                                          learning_rate, seed};
            WithoutGil released;
            skip_gram(walks.data(), static_cast<std::int64_t>(walks.shape(0)), static_cast<std::int32_t>(walks.shape(1)),
                      negative_cumulative.data(), n_nodes, options, vectors.data(), contexts.data());
        },
        "walks"_a, "negative_cumulative"_a, "window"_a, "negatives"_a, "epochs"_a, "learning_rate"_a, "seed"_a, "vectors"_a,
        "contexts"_a, "Train vectors and contexts (n_nodes, dim) on walks, in place, by skip-gram with negative samples.");
}

}  // namespace lw
