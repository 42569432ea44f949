// Hits and the best possible gains of rows, for Python.
#include <stdexcept>

#include "bind/bind.hpp"
#include "metrics/hits.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

// The row pointers must describe the indices, else a kernel would read outside of them.
void check_rows(const In<std::int64_t>& indptr, const In<std::int32_t>& indices, std::size_t n_rows) {
    if (indptr.shape(0) != n_rows + 1) throw std::invalid_argument("indptr must have one entry more than there are rows");
    const std::int64_t* p = indptr.data();
    if (p[0] != 0 || p[n_rows] != static_cast<std::int64_t>(indices.shape(0))) {
        throw std::invalid_argument("indptr must run from 0 to the number of indices");
    }
    for (std::size_t i = 0; i < n_rows; ++i) {
        if (p[i] > p[i + 1]) throw std::invalid_argument("indptr must not decrease");
    }
}

std::int64_t hit_matrix_py(In2<std::int32_t> labels, In<std::int64_t> indptr, In<std::int32_t> indices,
                           std::int64_t n_labels, Out2<std::uint8_t> hits, int n_threads) {
    const std::size_t n_rows = labels.shape(0), k = labels.shape(1);
    if (hits.shape(0) != n_rows || hits.shape(1) != k) throw std::invalid_argument("labels and hits must have one shape");
    check_rows(indptr, indices, n_rows);
    WithoutGil released;
    return hit_matrix(labels.data(), static_cast<std::int64_t>(n_rows), static_cast<std::int64_t>(k), indptr.data(),
                      indices.data(), n_labels, hits.data(), n_threads);
}

void best_weights_py(In<std::int64_t> indptr, In<std::int32_t> indices, In<double> weights, Out2<double> best,
                     int n_threads) {
    const std::size_t n_rows = best.shape(0);
    check_rows(indptr, indices, n_rows);
    WithoutGil released;
    const std::int32_t n_labels = static_cast<std::int32_t>(weights.shape(0));
    for (std::size_t i = 0; i < indices.shape(0); ++i) {
        const std::int32_t label = indices.data()[i];
        if (label < 0 || label >= n_labels) throw std::invalid_argument("every index must have a weight");
    }
    best_weights(indptr.data(), indices.data(), weights.data(), static_cast<std::int64_t>(n_rows),
                 static_cast<std::int64_t>(best.shape(1)), best.data(), n_threads);
}

}  // namespace

void bind_hits(nb::module_& m) {
    m.def("hit_matrix", &hit_matrix_py, "labels"_a.noconvert(), "indptr"_a.noconvert(), "indices"_a.noconvert(),
          "n_labels"_a, "hits"_a.noconvert(), "n_threads"_a = 0,
          "Fill hits (n, k) with 1 where a predicted label is true; gives back the first row with a label twice or "
          "outside 0..n_labels-1, or -1.");
    m.def("best_weights", &best_weights_py, "indptr"_a.noconvert(), "indices"_a.noconvert(), "weights"_a.noconvert(),
          "best"_a.noconvert(), "n_threads"_a = 0,
          "Fill best (n, k) with the k largest weights among each row's labels, largest first, 0 where there are fewer.");
}

}  // namespace lw
