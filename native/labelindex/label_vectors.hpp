// The vectors of labels, read where they are: the rows of one CSR matrix, or some rows of several.
#pragma once
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "large_memory.hpp"
#include "sparse_rows.hpp"

namespace lw {

class LabelVectors {
public:
    explicit LabelVectors(std::int32_t n_columns) : n_columns_(n_columns) {}

    // All rows of a matrix become the next labels.
    void add(const SparseRows& matrix) {
        for (std::int64_t row = 0; row < matrix.n_rows; ++row) add_row(matrix, row);
    }

    // Some rows of a matrix become the next labels.
    void add(const SparseRows& matrix, const std::int32_t* rows, std::int64_t n_rows) {
        for (std::int64_t i = 0; i < n_rows; ++i) add_row(matrix, rows[i]);
    }

    // Copies the vectors next to each other: few of a large matrix, read several times, are then near in memory.
    void gather() {
        std::int64_t n_values = 0;
        for (const Row& row : rows_) n_values += row.size;
        LargeMemory columns(n_values * sizeof(std::int32_t)), values(n_values * sizeof(float));
        auto* column = reinterpret_cast<std::int32_t*>(columns.data());
        auto* value = reinterpret_cast<float*>(values.data());
        for (Row& row : rows_) {
            std::memcpy(column, row.columns, row.size * sizeof(std::int32_t));
            std::memcpy(value, row.values, row.size * sizeof(float));
            row = {column, value, row.size};
            column += row.size;
            value += row.size;
        }
        gathered_columns_ = std::move(columns);
        gathered_values_ = std::move(values);
    }

    std::int64_t n_labels() const { return static_cast<std::int64_t>(rows_.size()); }
    std::int32_t n_columns() const { return n_columns_; }
    std::int64_t size(std::int64_t label) const { return rows_[label].size; }
    const std::int32_t* columns(std::int64_t label) const { return rows_[label].columns; }
    const float* values(std::int64_t label) const { return rows_[label].values; }

private:
    struct Row {
        const std::int32_t* columns;
        const float* values;
        std::int64_t size;
    };

    void add_row(const SparseRows& matrix, std::int64_t row) {
        const std::int64_t start = matrix.starts[row];
        rows_.push_back({matrix.columns + start, matrix.values + start, matrix.starts[row + 1] - start});
    }

    std::int32_t n_columns_;
    std::vector<Row> rows_;
    LargeMemory gathered_columns_, gathered_values_;
};

}  // namespace lw
