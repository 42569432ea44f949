#include "models/hsoftmax/hsoftmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "levels.hpp"
#include "models/hsoftmax/logistic.hpp"
#include "parallel.hpp"
#include "rng.hpp"
#include "topk.hpp"

namespace lw {
namespace {

// Rows between two reports, which are also the only moments at which the threads wait for each other.
constexpr std::int64_t kBlock = 8192;

// Path products stop here: positive, so that their logarithm is finite.
constexpr float kLowest = 1e-37f;

struct Scratch {
    explicit Scratch(const HsTraining& t)
        : hidden(static_cast<std::size_t>(t.stride)), gradient(hidden.size()),
          margins(t.loss == HsLoss::softmax ? static_cast<std::size_t>(t.labels.n_columns) : 0),
          nodes(t.loss == HsLoss::plt ? static_cast<std::size_t>(t.tree.n_inner) : 0), stamp(nodes.size()), sides(nodes.size()),
          view{hidden.data(), gradient.data(), nodes.data(), stamp.data(), sides.data(), 0, margins.data()} {}
    Scratch(const Scratch&) = delete;

    // The counter of visits has 32 bits; long before it ends, start anew.
    void keep_fresh() {
        if (view.visit < std::numeric_limits<std::uint32_t>::max() - 2 * kBlock) return;
        std::fill(stamp.begin(), stamp.end(), 0u);
        view.visit = 0;
    }

    std::vector<float> hidden, gradient, margins;
    std::vector<std::int32_t> nodes;
    std::vector<std::uint32_t> stamp;
    std::vector<std::uint8_t> sides;
    HsScratch view;
};

struct Frontier {
    float score;
    std::int32_t node;
};

bool later(const Frontier& a, const Frontier& b) { return a.score < b.score || (a.score == b.score && a.node > b.node); }

// Best first: children never score higher than their parent, so the search may stop at the first node below the k-th label.
std::int32_t best_first(const HsModel& model, const float* hidden, std::vector<Frontier>& frontier, TopKHeap& found) {
    std::int32_t n_visited = 0;
    frontier.assign(1, {1.0f, 0});
    while (!frontier.empty()) {
        std::pop_heap(frontier.begin(), frontier.end(), later);
        const Frontier from = frontier.back();
        frontier.pop_back();
        // At an equal score a smaller label may be below, but not where all scores have run into the lower end.
        if (found.full() && (from.score < found.worst() || (from.score == found.worst() && from.score <= kLowest))) break;
        ++n_visited;
        const float right = kernels().hs_margin(model.output, model.plt ? 2 * std::int64_t{from.node} + 1 : from.node, hidden);
        const float left = model.plt ? kernels().hs_margin(model.output, 2 * std::int64_t{from.node}, hidden) : -right;
        for (int side = 0; side < 2; ++side) {
            const float score = std::max(kLowest, from.score * sigmoid_of(side ? right : left));
            const std::int32_t child = model.tree.child[2 * from.node + side];
            if (child < 0) {
                if (!found.full() || score >= found.worst()) found.offer(score, ~child);
            } else if (!found.full() || score >= found.worst()) {
                frontier.push_back({score, child});
                std::push_heap(frontier.begin(), frontier.end(), later);
            }
        }
    }
    return n_visited;
}

}  // namespace

void hs_fit(const HsTraining& training, std::int32_t* order, std::int64_t n_order, std::int64_t epochs, int n_threads,
            bool (*progress)(void*, std::int64_t, std::int64_t), void* context) {
    if (n_threads < 1) n_threads = max_threads();
    std::vector<std::unique_ptr<Scratch>> scratch;
    for (int i = 0; i < n_threads; ++i) scratch.push_back(std::make_unique<Scratch>(training));
    for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
        if (training.shuffle) Rng(training.seed, static_cast<std::uint64_t>(epoch), 1).shuffle(order, static_cast<std::uint32_t>(n_order));
        for (std::int64_t begin = 0; begin < n_order; begin += kBlock * n_threads) {
            const std::int64_t end = std::min(n_order, begin + kBlock * n_threads);
            parallel_for(n_threads, n_threads, 1, [&](std::int64_t part, int) {
                Scratch& own = *scratch[static_cast<std::size_t>(part)];
                own.keep_fresh();
                const std::int64_t from = begin + (end - begin) * part / n_threads;
                const std::int64_t to = begin + (end - begin) * (part + 1) / n_threads;
                kernels().hs_train(training, order, from, to, epoch * n_order, static_cast<std::uint64_t>(epoch), own.view);
            });
            if (!progress(context, epoch * n_order + end, epochs * n_order)) throw std::runtime_error("stopped");
        }
    }
}

void hs_top_k(const HsModel& model, const SparseRows& rows, const float* bias, std::int32_t k, int n_threads,
              std::int32_t* labels, float* scores, std::int32_t* n_visited) {
    struct Memory {
        std::vector<float> hidden;
        std::vector<Frontier> frontier;
        std::vector<Scored> found;
    };
    if (n_threads < 1) n_threads = max_threads();
    std::vector<Memory> memories(static_cast<std::size_t>(n_threads));
    const std::int32_t last = static_cast<std::int32_t>(model.input.n_rows) - 1;
    parallel_for(rows.n_rows, n_threads, 16, [&](std::int64_t row, int thread) {
        Memory& memory = memories[static_cast<std::size_t>(thread)];
        memory.hidden.assign(static_cast<std::size_t>(model.input.stride), 0.0f);
        memory.found.resize(static_cast<std::size_t>(k));
        TopKHeap found(memory.found.data(), k);
        n_visited[row] = 0;
        if (model.tree.n_inner == 0) {
            found.offer(1.0f, 0);
        } else {
            const std::int64_t first = rows.starts[row];
            kernels().hs_add_rows(model.input, &last, bias + row, 1, memory.hidden.data());
            kernels().hs_add_rows(model.input, rows.columns + first, rows.values + first,
                                  static_cast<std::int32_t>(rows.starts[row + 1] - first), memory.hidden.data());
            n_visited[row] = best_first(model, memory.hidden.data(), memory.frontier, found);
        }
        const std::int32_t n = found.size();
        const Scored* best = found.sorted();
        for (std::int32_t i = 0; i < k; ++i) {
            labels[row * k + i] = i < n ? best[i].label : -1;
            scores[row * k + i] = i < n ? best[i].score : -std::numeric_limits<float>::infinity();
        }
    });
}

}  // namespace lw
