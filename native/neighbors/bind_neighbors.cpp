// Exact nearest neighbours for Python.
#include <optional>
#include <stdexcept>

#include <nanobind/stl/optional.h>

#include "bind/bind.hpp"
#include "neighbors/neighbors.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

using Rows = nb::ndarray<nb::ndim<2>, nb::c_contig, nb::ro, nb::device::cpu>;

void need(bool fits, const char* what) {
    if (!fits) throw std::invalid_argument(what);
}

VectorStore store_of(const Rows& vectors, const std::optional<In<float>>& scale, const std::optional<In<float>>& bias) {
    VectorStore store;
    if (vectors.dtype() == nb::dtype<float>()) {
        store.kind = Stored::float32;
    } else if (vectors.dtype() == nb::dtype<std::uint16_t>()) {
        store.kind = Stored::bfloat16;
    } else {
        need(vectors.dtype() == nb::dtype<std::int8_t>(), "vectors must be float32, uint16 (bfloat16) or int8");
        store.kind = Stored::int8;
    }
    store.data = vectors.data();
    store.n = static_cast<std::int64_t>(vectors.shape(0));
    store.dim = static_cast<std::int32_t>(vectors.shape(1));
    need(vectors.shape(1) % 16 == 0 && vectors.shape(1) <= (1u << 24), "vectors must be padded to a multiple of 16 columns");
    need(store.n <= INT32_MAX, "too many vectors");
    need((store.kind == Stored::int8) == scale.has_value(), "int8 vectors, and only they, need a scale");
    if (scale) need(static_cast<std::int64_t>(scale->shape(0)) == store.n, "one scale a vector");
    if (bias) need(static_cast<std::int64_t>(bias->shape(0)) == store.n, "one bias a vector");
    store.scale = scale ? scale->data() : nullptr;
    store.bias = bias ? bias->data() : nullptr;
    return store;
}

NeighborQueries queries_of(const VectorStore& store, const In2<float>& queries, int n_threads, const Out2<std::int32_t>& found,
                           const Out2<float>& scores) {
    const std::size_t n = queries.shape(0);
    need(static_cast<std::int32_t>(queries.shape(1)) == store.dim, "queries and vectors must have the same columns");
    need(found.shape(0) == n && scores.shape(0) == n && found.shape(1) == scores.shape(1) && found.shape(1) >= 1,
         "found and scores must be (n queries, k)");
    return {queries.data(), static_cast<std::int64_t>(n), static_cast<std::int32_t>(found.shape(1)), n_threads};
}

}  // namespace

void bind_neighbors(nb::module_& m) {
    m.def(
        "search_ranges",
        [](Rows vectors, std::optional<In<float>> scale, std::optional<In<float>> bias, In<std::int64_t> starts,
           std::optional<In2<std::int32_t>> probes, std::optional<In<std::int32_t>> ids, In2<float> queries, int n_threads,
           Out2<std::int32_t> found, Out2<float> scores) {
            const VectorStore store = store_of(vectors, scale, bias);
            const NeighborQueries asked = queries_of(store, queries, n_threads, found, scores);
            need(starts.shape(0) >= 1 && starts.data()[0] >= 0 && starts.data()[starts.shape(0) - 1] <= store.n,
                 "ranges must lie within the vectors");
            for (std::size_t i = 1; i < starts.shape(0); ++i)
                need(starts.data()[i - 1] <= starts.data()[i], "ranges must follow each other");
            VectorRanges ranges;
            ranges.starts = starts.data();
            ranges.n_ranges = static_cast<std::int32_t>(starts.shape(0)) - 1;
            if (probes) {
                need(static_cast<std::int64_t>(probes->shape(0)) == asked.n, "one row of probes a query");
                for (std::size_t i = 0; i < probes->size(); ++i)
                    need(probes->data()[i] < ranges.n_ranges, "a probe is outside the ranges");
                ranges.probes = probes->data();
                ranges.n_probes = static_cast<std::int32_t>(probes->shape(1));
            }
            if (ids) need(static_cast<std::int64_t>(ids->shape(0)) == store.n, "one id a vector");
            ranges.ids = ids ? ids->data() : nullptr;
            WithoutGil released;
            search_ranges(store, ranges, asked, found.data(), scores.data());
        },
        "vectors"_a, "scale"_a.none(), "bias"_a.none(), "starts"_a, "probes"_a.none(), "ids"_a.none(), "queries"_a,
        "n_threads"_a, "found"_a, "scores"_a,
        "Fill found and scores (n, k) with the vectors of the probed ranges that have the largest product (+ bias).");
    m.def(
        "search_candidates",
        [](Rows vectors, std::optional<In<float>> scale, std::optional<In<float>> bias, In2<std::int64_t> candidates,
           In2<float> queries, int n_threads, Out2<std::int32_t> found, Out2<float> scores) {
            const VectorStore store = store_of(vectors, scale, bias);
            const NeighborQueries asked = queries_of(store, queries, n_threads, found, scores);
            need(static_cast<std::int64_t>(candidates.shape(0)) == asked.n, "one row of candidates a query");
            for (std::size_t i = 0; i < candidates.size(); ++i)
                need(candidates.data()[i] < store.n, "a candidate is outside the vectors");
            WithoutGil released;
            search_candidates(store, candidates.data(), static_cast<std::int32_t>(candidates.shape(1)), asked, found.data(),
                              scores.data());
        },
        "vectors"_a, "scale"_a.none(), "bias"_a.none(), "candidates"_a, "queries"_a, "n_threads"_a, "found"_a, "scores"_a,
        "Fill found and scores (n, k) with the candidates that have the largest product (+ bias); -1 is no candidate.");
}

}  // namespace lw
