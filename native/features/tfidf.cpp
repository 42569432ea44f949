#include "features/tfidf.hpp"

#include <array>
#include <cmath>

#include "parallel.hpp"

namespace lw {

void weigh_rows(std::int64_t n_rows, const std::int64_t* pointers, const std::int32_t* columns, const std::int32_t* counts,
                const double* idf, bool sublinear, Norm norm, int n_threads, float* values) {
    std::array<double, 256> weight;  // most counts are small: a table spares the logarithm
    for (std::size_t c = 0; c < weight.size(); ++c) {
        const auto count = static_cast<double>(c);
        weight[c] = sublinear && c > 0 ? 1.0 + std::log(count) : count;
    }
    const auto value = [&](std::int64_t j) {
        const auto count = static_cast<std::uint32_t>(counts[j]);
        double tf = 0;
        if (count < weight.size()) {
            tf = weight[count];
        } else {
            tf = sublinear ? 1.0 + std::log(static_cast<double>(count)) : static_cast<double>(count);
        }
        return idf ? tf * idf[columns[j]] : tf;
    };
    parallel_for(n_rows, n_threads, 64, [&](std::int64_t row, int) {
        double sum = 0;
        if (norm != Norm::none) {
            for (std::int64_t j = pointers[row]; j < pointers[row + 1]; ++j) {
                const double v = value(j);
                sum += norm == Norm::l1 ? std::fabs(v) : v * v;
            }
        }
        const double length = norm == Norm::l2 ? std::sqrt(sum) : sum;
        const double scale = norm == Norm::none || length == 0 ? 1.0 : length;
        for (std::int64_t j = pointers[row]; j < pointers[row + 1]; ++j) values[j] = static_cast<float>(value(j) / scale);
    });
}

}  // namespace lw
