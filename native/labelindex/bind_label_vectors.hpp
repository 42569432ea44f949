// Label vectors as Python gives them: the arrays are kept as long as they are read.
#pragma once
#include <stdexcept>
#include <vector>

#include "bind/bind.hpp"
#include "labelindex/label_vectors.hpp"

namespace lw {

class KeptLabelVectors {
public:
    explicit KeptLabelVectors(std::int32_t n_columns) : vectors_(n_columns) {}

    // The rows of these numbers, in this order, become the next labels.
    void add(In<std::int64_t> starts, In<std::int32_t> columns, In<float> values, In<std::int32_t> rows) {
        const SparseRows matrix = checked(starts, columns, values);
        for (std::size_t i = 0; i < rows.shape(0); ++i) {
            if (rows.data()[i] < 0 || rows.data()[i] >= matrix.n_rows) {
                throw std::invalid_argument("the label vectors have no row of that number");
            }
        }
        vectors_.add(matrix, rows.data(), static_cast<std::int64_t>(rows.shape(0)));
        keep(starts, columns, values);
    }

    void add_all(In<std::int64_t> starts, In<std::int32_t> columns, In<float> values) {
        vectors_.add(checked(starts, columns, values));
        keep(starts, columns, values);
    }

    void gather() {
        WithoutGil released;
        vectors_.gather();
        starts_.clear();
        columns_.clear();
        values_.clear();
    }

    const LabelVectors& get() const { return vectors_; }

private:
    SparseRows checked(const In<std::int64_t>& starts, const In<std::int32_t>& columns, const In<float>& values) const {
        const auto n_rows = static_cast<std::int64_t>(starts.shape(0)) - 1;
        if (n_rows < 0 || columns.shape(0) != values.shape(0) ||
            starts.data()[n_rows] != static_cast<std::int64_t>(columns.shape(0))) {
            throw std::invalid_argument("the label vectors are not a CSR matrix");
        }
        return {starts.data(), columns.data(), values.data(), n_rows, vectors_.n_columns()};
    }

    void keep(const In<std::int64_t>& starts, const In<std::int32_t>& columns, const In<float>& values) {
        starts_.push_back(starts);
        columns_.push_back(columns);
        values_.push_back(values);
    }

    LabelVectors vectors_;
    std::vector<In<std::int64_t>> starts_;
    std::vector<In<std::int32_t>> columns_;
    std::vector<In<float>> values_;
};

}  // namespace lw
