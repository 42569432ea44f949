// The vectors of one node's labels, for kernels that pass over them many times.
#pragma once
#include <cstdint>
#include <vector>

#include "labelindex/label_vectors.hpp"
#include "parallel.hpp"

namespace lw {

// Either a view of the label vectors (large nodes), or a copy with features renumbered 0..n_features-1 in order of appearance,
// which keeps the centres of small nodes in the first-level cache. Reused from node to node.
class NodeRows {
public:
    // A copy, unless it would take much memory and gain nothing: labels with that many values have most features anyway.
    void take(const LabelVectors& v, const std::int32_t* labels, std::int64_t m) {
        std::int64_t nnz = 0;
        for (std::int64_t i = 0; i < m; ++i) nnz += v.size(labels[i]);
        if (nnz > kMostCopied && nnz > 4 * static_cast<std::int64_t>(v.n_columns())) {
            view(v, labels, m);
        } else {
            copy(v, labels, m);
        }
    }

    void view(const LabelVectors& v, const std::int32_t* labels, std::int64_t m) {
        rows_.resize(m);
        for (std::int64_t i = 0; i < m; ++i) rows_[i] = {v.columns(labels[i]), v.values(labels[i]), v.size(labels[i])};
        n_features_ = v.n_columns();
        is_copy_ = false;
    }

    void copy(const LabelVectors& v, const std::int32_t* labels, std::int64_t m) {
        rows_.resize(m);
        std::int64_t nnz = 0;
        for (std::int64_t i = 0; i < m; ++i) nnz += v.size(labels[i]);
        if (static_cast<std::int64_t>(own_columns_.size()) < nnz) {
            own_columns_.resize(nnz);
            own_values_.resize(nnz);
        }
        if (local_of_.empty()) local_of_.assign(v.n_columns(), -1);
        global_of_.clear();
        std::int64_t at = 0;
        Pulse pulse;
        for (std::int64_t i = 0; i < m; ++i) {
            pulse.beat();
            const std::int32_t* columns = v.columns(labels[i]);
            const float* values = v.values(labels[i]);
            const std::int64_t n = v.size(labels[i]);
            rows_[i] = {own_columns_.data() + at, own_values_.data() + at, n};
            for (std::int64_t p = 0; p < n; ++p, ++at) {
                std::int32_t& local = local_of_[columns[p]];
                if (local < 0) {
                    local = static_cast<std::int32_t>(global_of_.size());
                    global_of_.push_back(columns[p]);
                }
                own_columns_[at] = local;
                own_values_[at] = values[p];
            }
        }
        for (const std::int32_t column : global_of_) local_of_[column] = -1;
        n_features_ = static_cast<std::int32_t>(global_of_.size());
        is_copy_ = true;
    }

    std::int32_t n_features() const { return n_features_; }
    std::int64_t size(std::int64_t i) const { return rows_[i].size; }
    const std::int32_t* columns(std::int64_t i) const { return rows_[i].columns; }
    const float* values(std::int64_t i) const { return rows_[i].values; }
    std::int32_t column_of(std::int32_t feature) const { return is_copy_ ? global_of_[feature] : feature; }

    // sum += factor * row i
    void add(std::int64_t i, double factor, double* sum) const {
        const std::int32_t* column = columns(i);
        const float* value = values(i);
        const std::int64_t n = size(i);
        for (std::int64_t p = 0; p < n; ++p) sum[column[p]] += factor * value[p];
    }

    // row i . dense
    float dot(std::int64_t i, const float* dense) const {
        const std::int32_t* column = columns(i);
        const float* value = values(i);
        const std::int64_t n = size(i);
        float sum[4] = {0, 0, 0, 0};  // four chains hide the latency of the gathers
        std::int64_t p = 0;
        for (; p + 4 <= n; p += 4) {
            for (int k = 0; k < 4; ++k) sum[k] += value[p + k] * dense[column[p + k]];
        }
        for (; p < n; ++p) sum[0] += value[p] * dense[column[p]];
        return (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }

private:
    static constexpr std::int64_t kMostCopied = 1 << 19;

    struct Row {
        const std::int32_t* columns;
        const float* values;
        std::int64_t size;
    };

    std::vector<Row> rows_;
    std::int32_t n_features_ = 0;
    bool is_copy_ = false;
    std::vector<std::int32_t> own_columns_, local_of_, global_of_;
    std::vector<float> own_values_;
};

}  // namespace lw
