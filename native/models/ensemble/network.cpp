#include "models/ensemble/network.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "levels.hpp"
#include "models/hsoftmax/logistic.hpp"
#include "parallel.hpp"
#include "rng.hpp"

namespace lw {
namespace {

constexpr std::int64_t kAtOnce = 16;  // rows or labels of a task
constexpr double kFirstMoment = 0.9, kSecondMoment = 0.999, kLeastRate = 0.02;

// Weights with Adam's moments of them.
struct Moving {
    float* weights;
    std::vector<float> mean, square;

    Moving(float* given, std::int64_t n) : weights(given), mean(static_cast<std::size_t>(n)), square(static_cast<std::size_t>(n)) {}
    void step(const float* gradient, std::int64_t begin, std::int64_t n, const AdamStep& by) {
        kernels().adam_row(gradient, n, by, weights + begin, mean.data() + begin, square.data() + begin);
    }
};

class Learner {
public:
    Learner(const NetworkTraining& training, const NetworkWeights& weights)
        : t_(training), w_(weights), n_hidden_(weights.n_hidden), n_labels_(weights.n_labels),
          first_(weights.first, static_cast<std::int64_t>(weights.n_features) * n_hidden_), first_bias_(weights.first_bias, n_hidden_),
          second_(weights.second, n_labels_ * n_hidden_), second_bias_(weights.second_bias, n_labels_),
          order_(static_cast<std::size_t>(training.rows.n_rows)), places_(static_cast<std::size_t>(weights.n_features), -1) {
        const auto batch = static_cast<std::size_t>(training.batch);
        hidden_.resize(batch * n_hidden_);
        hidden_by_unit_.resize(hidden_.size());
        pull_.resize(hidden_.size());
        by_label_.resize(batch * n_labels_);
        by_row_.resize(by_label_.size());
    }

    void run() {
        const std::int64_t n_rows = t_.rows.n_rows;
        const std::int64_t n_batches = (n_rows + t_.batch - 1) / t_.batch;
        const double n_steps = static_cast<double>(n_batches * t_.n_epochs);
        std::int64_t done = 0;
        for (std::int32_t epoch = 0; epoch < t_.n_epochs; ++epoch) {
            std::iota(order_.begin(), order_.end(), 0);
            Rng(t_.seed, static_cast<std::uint64_t>(epoch)).shuffle(order_.data(), static_cast<std::uint32_t>(n_rows));
            for (std::int64_t begin = 0; begin < n_rows; begin += t_.batch) {
                const double rate = t_.rate * std::max(kLeastRate, 1 - static_cast<double>(done) / n_steps);
                ++done;
                const double mean = 1 - std::pow(kFirstMoment, static_cast<double>(done)), square = 1 - std::pow(kSecondMoment, static_cast<double>(done));
                const AdamStep by{static_cast<float>(rate / mean), static_cast<float>(kFirstMoment), static_cast<float>(kSecondMoment),
                                  static_cast<float>(1 / std::sqrt(square)), 1e-8f, 1.0f};
                learn(order_.data() + begin, std::min<std::int64_t>(t_.batch, n_rows - begin), epoch, by);
            }
        }
    }

private:
    void learn(const std::int32_t* rows, std::int64_t n, std::int32_t epoch, const AdamStep& by) {
        in_tasks(n, [&](std::int64_t i) { place(rows[i], i, n, epoch); });
        in_tasks_of(n_labels_, [&](std::int64_t begin, std::int64_t end) { judge(begin, end, n); });
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t p = t_.labels.starts[rows[i]]; p < t_.labels.starts[rows[i] + 1]; ++p)
                by_label_[t_.labels.columns[p] * n + i] -= 1.0f;
        const float share = 1.0f / static_cast<float>(n);
        in_tasks(n, [&](std::int64_t i) {
            for (std::int64_t label = 0; label < n_labels_; ++label) by_row_[i * n_labels_ + label] = by_label_[label * n + i] *= share;
        });
        in_tasks_of(n, [&](std::int64_t begin, std::int64_t end) { pull(begin, end); });
        in_tasks_of(n_labels_, [&](std::int64_t begin, std::int64_t end) { move_labels(begin, end, n, by); });
        move_features(rows, n, by);
    }

    // The hidden units of a row: half of them are left out, the others count twice.
    void place(std::int32_t row, std::int64_t i, std::int64_t n, std::int32_t epoch) {
        const std::int64_t begin = t_.rows.starts[row];
        float* hidden = hidden_.data() + i * n_hidden_;
        kernels().sparse_row_times(t_.rows.columns + begin, t_.rows.values + begin, t_.rows.starts[row + 1] - begin,
                                   {w_.first, w_.n_features, n_hidden_}, hidden);
        Rng random(t_.seed + 1, static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(epoch));
        std::uint64_t bits = 0;
        for (std::int64_t unit = 0; unit < n_hidden_; ++unit, bits >>= 1) {
            if (unit % 64 == 0) bits = random.next();
            const float value = hidden[unit] + w_.first_bias[unit];
            hidden[unit] = (bits & 1) && value > 0 ? 2 * value : 0.0f;
            hidden_by_unit_[unit * n + i] = hidden[unit];
        }
    }

    void judge(std::int64_t begin, std::int64_t end, std::int64_t n) {
        float* margins = by_label_.data() + begin * n;
        kernels().dense_rows_times(w_.second + begin * n_hidden_, end - begin, {hidden_by_unit_.data(), n_hidden_, n}, margins);
        for (std::int64_t label = begin; label < end; ++label)
            for (std::int64_t i = 0; i < n; ++i) by_label_[label * n + i] = sigmoid_of(by_label_[label * n + i] + w_.second_bias[label]);
    }

    // What the loss asks of the hidden units before they are cut at 0.
    void pull(std::int64_t begin, std::int64_t end) {
        kernels().dense_rows_times(by_row_.data() + begin * n_labels_, end - begin, {w_.second, n_labels_, n_hidden_},
                                   pull_.data() + begin * n_hidden_);
        for (std::int64_t place = begin * n_hidden_; place < end * n_hidden_; ++place)
            pull_[place] = hidden_[place] > 0 ? 2 * pull_[place] : 0.0f;
    }

    void move_labels(std::int64_t begin, std::int64_t end, std::int64_t n, const AdamStep& by) {
        std::vector<float> gradient(static_cast<std::size_t>((end - begin) * n_hidden_));
        kernels().dense_rows_times(by_label_.data() + begin * n, end - begin, {hidden_.data(), n, n_hidden_}, gradient.data());
        second_.step(gradient.data(), begin * n_hidden_, static_cast<std::int64_t>(gradient.size()), by);
        for (std::int64_t label = begin; label < end; ++label) {
            const float sum = std::accumulate(by_label_.begin() + label * n, by_label_.begin() + (label + 1) * n, 0.0f);
            second_bias_.step(&sum, label, 1, by);
        }
    }

    void move_features(const std::int32_t* rows, std::int64_t n, const AdamStep& by) {
        // The batch by feature: which rows have it, with what values.
        features_.clear();
        starts_.assign(1, 0);
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t p = t_.rows.starts[rows[i]]; p < t_.rows.starts[rows[i] + 1]; ++p) {
                std::int32_t& slot = places_[t_.rows.columns[p]];
                if (slot < 0) {
                    slot = static_cast<std::int32_t>(features_.size());
                    features_.push_back(t_.rows.columns[p]);
                    starts_.push_back(0);
                }
                ++starts_[slot + 1];
            }
        }
        std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
        owners_.resize(static_cast<std::size_t>(starts_.back()));
        values_.resize(owners_.size());
        next_.assign(starts_.begin(), starts_.end() - 1);
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t p = t_.rows.starts[rows[i]]; p < t_.rows.starts[rows[i] + 1]; ++p) {
                const std::int64_t to = next_[places_[t_.rows.columns[p]]]++;
                owners_[to] = static_cast<std::int32_t>(i);
                values_[to] = t_.rows.values[p];
            }
        }
        const DenseTable pulls{pull_.data(), n, n_hidden_};
        in_tasks(static_cast<std::int64_t>(features_.size()), [&](std::int64_t slot) {
            std::vector<float> gradient(static_cast<std::size_t>(n_hidden_));
            const std::int64_t begin = starts_[slot];
            kernels().sparse_row_times(owners_.data() + begin, values_.data() + begin, starts_[slot + 1] - begin, pulls, gradient.data());
            first_.step(gradient.data(), features_[slot] * n_hidden_, n_hidden_, by);
        });
        for (const std::int32_t feature : features_) places_[feature] = -1;
        std::vector<float> sums(static_cast<std::size_t>(n_hidden_), 0.0f);
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t unit = 0; unit < n_hidden_; ++unit) sums[unit] += pull_[i * n_hidden_ + unit];
        first_bias_.step(sums.data(), 0, n_hidden_, by);
    }

    template <class Body>
    void in_tasks(std::int64_t n, Body&& body) {
        parallel_for(n, t_.n_threads, kAtOnce, [&](std::int64_t i, int) { body(i); });
    }
    template <class Body>
    void in_tasks_of(std::int64_t n, Body&& body) {
        parallel_for((n + kAtOnce - 1) / kAtOnce, t_.n_threads, 1,
                     [&](std::int64_t task, int) { body(task * kAtOnce, std::min(n, (task + 1) * kAtOnce)); });
    }

    const NetworkTraining& t_;
    const NetworkWeights& w_;
    const std::int64_t n_hidden_, n_labels_;
    Moving first_, first_bias_, second_, second_bias_;
    std::vector<std::int32_t> order_, places_, features_, owners_;
    std::vector<std::int64_t> starts_, next_;
    std::vector<float> hidden_, hidden_by_unit_, pull_, by_label_, by_row_, values_;
};

}  // namespace

void train_network(const NetworkTraining& training, const NetworkWeights& weights) { Learner(training, weights).run(); }

void ask_network(const ByteNetwork& network, const SparseRows& rows, std::int64_t row, std::int32_t k, NetworkRoom& room,
                 std::int32_t* labels, float* scores) {
    const std::int64_t begin = rows.starts[row];
    const std::int64_t end = std::lower_bound(rows.columns + begin, rows.columns + rows.starts[row + 1], network.first.n_rows) - rows.columns;
    double squares = 0;
    for (std::int64_t p = begin; p < end; ++p) squares += static_cast<double>(rows.values[p]) * rows.values[p];
    const double length = squares > 0 ? std::sqrt(squares) : 1;
    room.values.resize(static_cast<std::size_t>(end - begin));
    for (std::int64_t p = begin; p < end; ++p)
        room.values[p - begin] = static_cast<float>(rows.values[p] / length) * network.first_scale[rows.columns[p]];
    room.hidden.resize(static_cast<std::size_t>(network.first.dim));
    kernels().byte_row_times(rows.columns + begin, room.values.data(), end - begin, network.first, room.hidden.data());
    room.columns.clear();
    room.values.clear();
    for (std::int64_t unit = 0; unit < network.first.dim; ++unit) {
        const float value = room.hidden[unit] + network.first_bias[unit];
        if (!(value > 0)) continue;
        room.columns.push_back(static_cast<std::int32_t>(unit));
        room.values.push_back(value * network.second_scale[unit]);
    }
    room.margins.resize(static_cast<std::size_t>(network.second.dim));
    kernels().byte_row_times(room.columns.data(), room.values.data(), static_cast<std::int64_t>(room.columns.size()), network.second,
                             room.margins.data());
    room.best.resize(static_cast<std::size_t>(k));
    TopKHeap heap(room.best.data(), k);
    for (std::int64_t label = 0; label < network.second.dim; ++label) {
        const float margin = room.margins[label] + network.second_bias[label];
        if (!(heap.full() && margin < heap.worst())) heap.offer(margin, static_cast<std::int32_t>(label));
    }
    const std::int32_t n_best = heap.size();
    const Scored* best = heap.sorted();
    for (std::int32_t i = 0; i < k; ++i) {
        labels[i] = i < n_best ? best[i].label : -1;
        scores[i] = i < n_best ? sigmoid_of(best[i].score) : 0.0f;
    }
}

}  // namespace lw
