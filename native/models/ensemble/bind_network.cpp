// The network of one hidden layer for Python.
#include <stdexcept>

#include "bind/bind.hpp"
#include "models/ensemble/network.hpp"
#include "parallel.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

void need(bool fits, const char* what) {
    if (!fits) throw std::invalid_argument(what);
}

// Row pointers that rise from 0 to the number of columns, and column numbers from 0 on that rise within a row, below n_columns.
std::int64_t checked_rows(const In<std::int64_t>& starts, const In<std::int32_t>& columns, std::int64_t n_columns) {
    need(starts.size() >= 1 && starts.data()[0] == 0, "row pointers begin with 0");
    const auto n_rows = static_cast<std::int64_t>(starts.size()) - 1;
    need(starts.data()[n_rows] == static_cast<std::int64_t>(columns.size()), "row pointers do not fit the columns");
    for (std::int64_t row = 0; row < n_rows; ++row) {
        const std::int64_t begin = starts.data()[row], end = starts.data()[row + 1];
        need(begin <= end && end <= static_cast<std::int64_t>(columns.size()), "row pointers rise");
        for (std::int64_t p = begin; p < end; ++p)
            need(columns.data()[p] >= (p > begin ? columns.data()[p - 1] + 1 : 0) && columns.data()[p] < n_columns,
                 "columns rise within a row and lie inside the matrix");
    }
    return n_rows;
}

void learn(In<std::int64_t> starts, In<std::int32_t> columns, In<float> values, In<std::int64_t> label_starts, In<std::int32_t> labels,
           std::int32_t n_epochs, std::int32_t batch, double rate, std::uint64_t seed, int n_threads, Out2<float> first,
           Out<float> first_bias, Out2<float> second, Out<float> second_bias) {
    const auto n_features = static_cast<std::int32_t>(first.shape(0)), n_hidden = static_cast<std::int32_t>(first.shape(1)),
               n_labels = static_cast<std::int32_t>(second.shape(0));
    need(n_hidden >= 1 && first_bias.size() == first.shape(1) && second.shape(1) == first.shape(1) && second_bias.size() == second.shape(0),
         "the network's tables do not fit together");
    const std::int64_t n_rows = checked_rows(starts, columns, n_features);
    need(values.size() == columns.size() && n_rows <= INT32_MAX, "a row has a value for each column");
    need(checked_rows(label_starts, labels, n_labels) == n_rows, "there are labels for each row");
    need(n_epochs >= 1 && batch >= 1 && rate > 0, "epochs, batch and rate must be positive");
    const NetworkTraining training{{starts.data(), columns.data(), values.data(), n_rows, n_features},
                                   {label_starts.data(), labels.data(), n_rows, n_labels},
                                   n_epochs, batch, rate, seed, n_threads};
    WithoutGil released;
    train_network(training, {first.data(), first_bias.data(), second.data(), second_bias.data(), n_features, n_hidden, n_labels});
}

void ask(In2<std::int8_t> first, In<float> first_scale, In<float> first_bias, In2<std::int8_t> second, In<float> second_scale,
         In<float> second_bias, In<std::int64_t> starts, In<std::int32_t> columns, In<float> values, int n_threads,
         Out2<std::int32_t> labels, Out2<float> scores) {
    need(first_scale.size() == first.shape(0) && first_bias.size() == first.shape(1) && second.shape(0) == first.shape(1) &&
             second_scale.size() == second.shape(0) && second_bias.size() == second.shape(1),
         "the network's tables do not fit together");
    const std::int64_t n_rows = checked_rows(starts, columns, INT32_MAX);
    need(values.size() == columns.size(), "a row has a value for each column");
    need(static_cast<std::int64_t>(labels.shape(0)) == n_rows && labels.shape(1) >= 1 && scores.shape(0) == labels.shape(0) &&
             scores.shape(1) == labels.shape(1),
         "labels and scores must be (n rows, k)");
    const auto k = static_cast<std::int32_t>(labels.shape(1));
    const ByteNetwork network{
        {first.data(), static_cast<std::int64_t>(first.shape(0)), static_cast<std::int64_t>(first.shape(1))}, first_scale.data(), first_bias.data(),
        {second.data(), static_cast<std::int64_t>(second.shape(0)), static_cast<std::int64_t>(second.shape(1))}, second_scale.data(),
        second_bias.data()};
    const SparseRows rows{starts.data(), columns.data(), values.data(), n_rows, INT32_MAX};
    WithoutGil released;
    parallel_for(n_rows, n_threads, 8, [&](std::int64_t row, int) {
        thread_local NetworkRoom room;
        ask_network(network, rows, row, k, room, labels.data() + row * k, scores.data() + row * k);
    });
}

}  // namespace

void bind_network(nb::module_& m) {
    m.def("train_network", &learn, "starts"_a, "columns"_a, "values"_a, "label_starts"_a, "labels"_a, "n_epochs"_a, "batch"_a, "rate"_a,
          "seed"_a, "n_threads"_a, "first"_a, "first_bias"_a, "second"_a, "second_bias"_a,
          "Train relu(x first + first_bias) and its weights second (n_labels, n_hidden) in place: Adam, logistic loss of all labels.");
    m.def("ask_network", &ask, "first"_a, "first_scale"_a, "first_bias"_a, "second"_a, "second_scale"_a, "second_bias"_a, "starts"_a,
          "columns"_a, "values"_a, "n_threads"_a, "labels"_a, "scores"_a,
          "Fill labels and scores (n_rows, k) with the best labels of rows brought to length 1; columns behind the features say nothing.");
}

}  // namespace lw
