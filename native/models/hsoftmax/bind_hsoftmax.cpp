// Hierarchical softmax for Python: training into given arrays, and answers from stored vectors.
#include <nanobind/stl/string.h>

#include <stdexcept>
#include <string>

#include "bind/bind.hpp"
#include "bind/progress.hpp"
#include "models/hsoftmax/hsoftmax.hpp"
#include "simd.hpp"

namespace nb = nanobind;

namespace lw {
namespace {

using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void require(bool good, const char* message) {
    if (!good) throw nb::value_error(message);
}

// A checked tree: children come after their parent, and every place leads back where it came from.
CodeTree code_tree(const In<std::int32_t>& child, const In<std::int32_t>& place_of_label, const In<std::int32_t>& place_of_inner) {
    const CodeTree tree{static_cast<std::int32_t>(place_of_label.size()), static_cast<std::int32_t>(place_of_inner.size()),
                        child.data(), place_of_label.data(), place_of_inner.data()};
    require(tree.n_labels >= 1 && tree.n_inner == tree.n_labels - 1 && child.size() == 2 * place_of_inner.size(),
            "a code tree has one inner node less than labels, and two children each");
    if (tree.n_inner == 0) {
        require(tree.place_of_label[0] == -1, "a single label has no place");
        return tree;
    }
    require(tree.place_of_inner[0] == -1, "inner node 0 must be the root");
    for (std::int32_t place = 0; place < 2 * tree.n_inner; ++place) {
        const std::int32_t c = tree.child[place];
        const bool good = c < 0 ? ~c < tree.n_labels && tree.place_of_label[~c] == place
                                : c > place / 2 && c < tree.n_inner && tree.place_of_inner[c] == place;
        require(good, "the children and places of a code tree do not fit together");
    }
    return tree;
}

SparseRows checked_rows(const In<std::int64_t>& starts, const In<std::int32_t>& columns, const In<float>& values,
                        const In<float>& bias, std::int64_t n_columns) {
    require(starts.size() >= 1 && columns.size() == values.size() && bias.size() + 1 == starts.size() && starts(0) == 0 &&
                starts(starts.size() - 1) == static_cast<std::int64_t>(values.size()),
            "the row pointers do not fit the values");
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) require(starts(i) <= starts(i + 1), "the row pointers must not fall");
    for (std::size_t i = 0; i < columns.size(); ++i)
        require(columns(i) >= 0 && columns(i) < n_columns, "a feature is outside the model's range");
    return {starts.data(), columns.data(), values.data(), static_cast<std::int64_t>(starts.size()) - 1,
            static_cast<std::int32_t>(n_columns)};
}

// Rows, labels and vectors of a training, checked; what the loss alone needs is filled in by the caller.
HsTraining checked_training(const In<std::int64_t>& starts, const In<std::int32_t>& columns, const In<float>& values,
                            const In<float>& bias, const In<std::int64_t>& label_starts, const In<std::int32_t>& labels,
                            std::int32_t n_labels, const Out2<float>& input, const Out2<float>& output,
                            const Out<std::int32_t>& order, std::int64_t n_output) {
    require(input.shape(0) >= 1 && input.shape(1) == output.shape(1) && input.shape(1) % 16 == 0 &&
                output.shape(0) == static_cast<std::size_t>(n_output),
            "the vectors do not fit the labels, or their length is no multiple of 16");
    const SparseRows rows = checked_rows(starts, columns, values, bias, static_cast<std::int64_t>(input.shape(0)) - 1);
    require(label_starts.size() == starts.size() && label_starts(0) == 0 &&
                label_starts(label_starts.size() - 1) == static_cast<std::int64_t>(labels.size()),
            "the label pointers do not fit the labels");
    for (std::size_t i = 0; i < labels.size(); ++i) require(labels(i) >= 0 && labels(i) < n_labels, "a label is out of range");
    for (std::size_t i = 0; i < order.size(); ++i) {
        require(order(i) >= 0 && order(i) < rows.n_rows, "order names a row that does not exist");
        const auto row = static_cast<std::size_t>(order(i));
        require(label_starts(row) < label_starts(row + 1), "order names a row without labels");
    }
    HsTraining training{};
    training.rows = rows;
    training.bias = bias.data();
    training.labels = {label_starts.data(), labels.data(), rows.n_rows, n_labels};
    training.input = input.data();
    training.output = output.data();
    training.stride = static_cast<std::int32_t>(input.shape(1));
    return training;
}

void run(HsTraining& training, const Out<std::int32_t>& order, float rate, std::int64_t epochs, std::uint64_t seed, int n_threads,
         const nb::object& progress, bool shuffle) {
    const auto n_order = static_cast<std::int64_t>(order.size());
    training.rate = rate;
    training.steps = epochs * n_order;
    training.seed = seed;
    training.shuffle = shuffle;
    PythonProgress state{progress};
    try {
        WithoutGil released;
        hs_fit(training, order.data(), n_order, epochs, n_threads, report_progress, &state);
    } catch (const std::runtime_error&) {
        if (state.interrupted) throw nb::python_error();
        throw;
    }
}

void fit(In<std::int64_t> starts, In<std::int32_t> columns, In<float> values, In<float> bias, In<std::int64_t> label_starts,
         In<std::int32_t> labels, In<std::int32_t> child, In<std::int32_t> place_of_label, In<std::int32_t> place_of_inner,
         Out2<float> input, Out2<float> output, Out<std::int32_t> order, bool plt, float rate, std::int64_t epochs,
         std::uint64_t seed, int n_threads, nb::object progress, bool shuffle) {
    const CodeTree tree = code_tree(child, place_of_label, place_of_inner);
    HsTraining training = checked_training(starts, columns, values, bias, label_starts, labels, tree.n_labels, input, output, order,
                                           (plt ? 2 : 1) * std::int64_t{tree.n_inner});
    training.tree = tree;
    training.loss = plt ? HsLoss::plt : HsLoss::hs;
    run(training, order, rate, epochs, seed, n_threads, progress, shuffle);
}

void flat_fit(In<std::int64_t> starts, In<std::int32_t> columns, In<float> values, In<float> bias, In<std::int64_t> label_starts,
              In<std::int32_t> labels, Out2<float> input, Out2<float> output, Out<std::int32_t> order, const std::string& loss,
              In<double> cumulative, std::int32_t n_negatives, float rate, std::int64_t epochs, std::uint64_t seed, int n_threads,
              nb::object progress, bool shuffle) {
    const auto n_labels = static_cast<std::int32_t>(output.shape(0));
    HsTraining training =
        checked_training(starts, columns, values, bias, label_starts, labels, n_labels, input, output, order, n_labels);
    if (loss == "softmax") {
        training.loss = HsLoss::softmax;
    } else if (loss == "ova") {
        training.loss = HsLoss::ova;
        for (std::size_t row = 0; row + 1 < label_starts.size(); ++row)
            for (std::int64_t p = label_starts(row) + 1; p < label_starts(row + 1); ++p)
                require(labels(static_cast<std::size_t>(p - 1)) < labels(static_cast<std::size_t>(p)), "the labels of a row must rise");
    } else {
        require(loss == "negatives", "loss must be softmax, ova or negatives");
        require(cumulative.size() == output.shape(0) && n_negatives >= 0, "every label needs a weight in the draw");
        for (std::size_t i = 0; i < cumulative.size(); ++i)
            require(cumulative(i) >= (i ? cumulative(i - 1) : 0.0), "running sums must not fall");
        training.loss = HsLoss::negatives;
        training.cumulative = cumulative.data();
        training.n_negatives = n_negatives;
    }
    run(training, order, rate, epochs, seed, n_threads, progress, shuffle);
}

HsVectors vectors_of(const AnyMatrix& data, const In<float>& scale) {
    HsVectors v{HsStorage::floats, data.data(), nullptr, static_cast<std::int64_t>(data.shape(0)), static_cast<std::int32_t>(data.shape(1))};
    if (data.dtype() == nb::dtype<std::uint16_t>()) v.storage = HsStorage::halves;
    else if (data.dtype() == nb::dtype<std::int8_t>()) v.storage = HsStorage::bytes;
    else require(data.dtype() == nb::dtype<float>(), "vectors must be float32, half floats as uint16, or int8");
    require(data.shape(1) % 16 == 0 && data.shape(1) > 0, "the length of the vectors must be a multiple of 16");
    if (v.storage == HsStorage::bytes) {
        require(scale.size() == data.shape(0), "bytes need one scale a row");
        v.scale = scale.data();
    }
    return v;
}

// Keeps the arrays of a model alive (they may be memory-mapped) and checks them once.
struct Softmax {
    In<std::int32_t> child, place_of_label, place_of_inner;
    AnyMatrix input, output;
    In<float> input_scale, output_scale;
    HsModel model{};

    Softmax(In<std::int32_t> child, In<std::int32_t> place_of_label, In<std::int32_t> place_of_inner, AnyMatrix input,
            In<float> input_scale, AnyMatrix output, In<float> output_scale, bool plt)
        : child(child), place_of_label(place_of_label), place_of_inner(place_of_inner), input(input), output(output),
          input_scale(input_scale), output_scale(output_scale) {
        model = {code_tree(child, place_of_label, place_of_inner), vectors_of(input, input_scale), vectors_of(output, output_scale), plt};
        require(model.input.n_rows >= 1 && model.input.stride == model.output.stride &&
                    model.output.n_rows == (plt ? 2 : 1) * std::int64_t{model.tree.n_inner},
                "the vectors do not fit the tree");
    }

    void top_k(In<std::int64_t> starts, In<std::int32_t> columns, In<float> values, In<float> bias, Out2<std::int32_t> labels,
               Out2<float> scores, Out<std::int32_t> n_visited, int n_threads) const {
        const SparseRows rows = checked_rows(starts, columns, values, bias, model.input.n_rows - 1);
        const auto n_rows = static_cast<std::size_t>(rows.n_rows);
        require(labels.shape(0) == n_rows && scores.shape(0) == n_rows && scores.shape(1) == labels.shape(1) && labels.shape(1) >= 1 &&
                    n_visited.size() == n_rows,
                "labels, scores and n_visited must have one row per query");
        WithoutGil released;
        hs_top_k(model, rows, bias.data(), static_cast<std::int32_t>(labels.shape(1)), n_threads, labels.data(), scores.data(), n_visited.data());
    }
};

}  // namespace

void bind_hsoftmax(nb::module_& m) {
    m.def("hsoftmax_fit", &fit, nb::arg("starts"), nb::arg("columns"), nb::arg("values"), nb::arg("bias"), nb::arg("label_starts"),
          nb::arg("labels"), nb::arg("child"), nb::arg("place_of_label"), nb::arg("place_of_inner"), nb::arg("input"),
          nb::arg("output"), nb::arg("order"), nb::kw_only(), nb::arg("plt"), nb::arg("rate"), nb::arg("epochs"), nb::arg("seed"),
          nb::arg("n_threads"), nb::arg("progress"), nb::arg("shuffle") = true,
          "Trains input and output vectors in place over the rows of `order`, which is shuffled unless told otherwise. Repeatable with one thread; "
          "several write to the same vectors without locks.");
    m.def("flat_fit", &flat_fit, nb::arg("starts"), nb::arg("columns"), nb::arg("values"), nb::arg("bias"), nb::arg("label_starts"),
          nb::arg("labels"), nb::arg("input"), nb::arg("output"), nb::arg("order"), nb::kw_only(), nb::arg("loss"), nb::arg("cumulative"),
          nb::arg("n_negatives"), nb::arg("rate"), nb::arg("epochs"), nb::arg("seed"), nb::arg("n_threads"), nb::arg("progress"),
          nb::arg("shuffle") = true,
          "Trains input vectors and one output vector a label in place, without a tree; loss: softmax, ova or negatives. Otherwise as "
          "hsoftmax_fit.");
    nb::class_<Softmax>(m, "HierarchicalSoftmax", "Answers from the vectors of a trained hierarchical softmax.")
        .def(nb::init<In<std::int32_t>, In<std::int32_t>, In<std::int32_t>, AnyMatrix, In<float>, AnyMatrix, In<float>, bool>(),
             nb::arg("child"), nb::arg("place_of_label"), nb::arg("place_of_inner"), nb::arg("input"), nb::arg("input_scale"),
             nb::arg("output"), nb::arg("output_scale"), nb::arg("plt"))
        .def("top_k", &Softmax::top_k, nb::arg("starts"), nb::arg("columns"), nb::arg("values"), nb::arg("bias"), nb::arg("labels"),
             nb::arg("scores"), nb::arg("n_visited"), nb::arg("n_threads"),
             "Writes the best labels of every row by exact best-first search, and how many inner nodes it looked at.");
    m.def("to_halves", [](In<float> values, Out<std::uint16_t> halves) {
        require(values.size() == halves.size(), "values and halves must have one length");
        const float* from = values.data();
        std::uint16_t* to = halves.data();
        WithoutGil released;
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (i % 65536 == 0) check_interrupt();
            to[i] = float_to_half(from[i]);
        }
    }, nb::arg("values"), nb::arg("halves"), "Writes values as half floats; beyond their range the largest finite one.");
}

}  // namespace lw
