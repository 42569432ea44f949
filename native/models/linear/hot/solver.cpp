// Dual coordinate descent for 16 labels at once: one pass over the rows updates all of them.
#include "models/linear/solver.hpp"

#include "interrupt.hpp"
#include "rng.hpp"
#include "simd.hpp"

namespace lw::LW_LEVEL {
namespace {

// Rows between two looks for an interrupt: a few milliseconds.
constexpr std::int64_t kRowsPerLook = 256;

inline void look(std::int64_t row) {
    if (row % kRowsPerLook == 0) check_interrupt();
}

// A row whose violations are all below this share of eps rests until the last check over all rows.
constexpr float kQuiet = 0.5f;
// A visit whose violations are all below this share of eps leaves the weights as they are: the answer is the same within
// eps, and adding a row costs more than scoring it. Saves a fifth of all additions and no visit.
constexpr float kStill = 0.25f;

// How often a group that began with some of its rows looks at all of them: what the first looks find is solved, and the last
// would only confirm it. Without a limit there are three, most of the work of a wide root. Validation rows, P@1/3/5 with two
// and without a limit: Rust-Commits 26.00/15.78/12.08 and 25.95/15.82/12.04, 100,000 generated labels 48.45/23.95/16.11 and
// 48.30/24.05/16.13. With one Rust-Commits lost 0.1. Who asks for a smaller eps than kCoarse gets all looks.
constexpr int kMostLooks = 2;
constexpr float kCoarse = 0.1f;

inline float scale_of(const SolveTask& task, std::int64_t row) { return task.row_scale ? task.row_scale[row] : 1.0f; }

// Scores of a row under all 16 classifiers. Two accumulators hide the latency of the additions.
inline F16 row_scores(const SolveTask& task, std::int64_t row, const float* weights, float bias) {
    F16 even = F16::all(0.0f), odd = F16::all(0.0f);
    std::int64_t p = task.begin[row];
    const std::int64_t end = task.end[row];
    for (; p + 1 < end; p += 2) {
        even = even + F16::load(weights + static_cast<std::int64_t>(task.indices[p]) * kLanes) * task.data[p];
        odd = odd + F16::load(weights + static_cast<std::int64_t>(task.indices[p + 1]) * kLanes) * task.data[p + 1];
    }
    if (p < end) even = even + F16::load(weights + static_cast<std::int64_t>(task.indices[p]) * kLanes) * task.data[p];
    return (even + odd) * scale_of(task, row) + F16::load(weights + static_cast<std::int64_t>(task.n_features) * kLanes) * bias;
}

inline void add_row(const SolveTask& task, std::int64_t row, const F16& delta, float bias, float* weights) {
    const F16 scaled = delta * scale_of(task, row);
    for (std::int64_t p = task.begin[row]; p < task.end[row]; ++p) {
        float* w = weights + static_cast<std::int64_t>(task.indices[p]) * kLanes;
        (F16::load(w) + scaled * task.data[p]).store(w);
    }
    float* w = weights + static_cast<std::int64_t>(task.n_features) * kLanes;
    (F16::load(w) + delta * bias).store(w);
}

// exp(x) for x <= 0, relative error below 3e-7: Cody-Waite reduction and a degree-6 polynomial, lane by lane the same
// bits at every level (a library call would differ between machines).
inline F16 exp_nonpositive(const F16& x) {
    F16 r;
    for (int p = 0; p < kPieces; ++p) {
        const fpiece low = fpiece{} - 87.0f;
        const fpiece v = x.part[p] > low ? x.part[p] : low;
        const ipiece n = __builtin_convertvector(v * 1.44269504f - 0.5f, ipiece);
        const fpiece nf = __builtin_convertvector(n, fpiece);
        const fpiece f = v - nf * 0.693359375f - nf * -2.12194440e-4f;
        fpiece e = f * 1.9875691500e-4f + 1.3981999507e-3f;
        e = e * f + 8.3334519073e-3f;
        e = e * f + 4.1665795894e-2f;
        e = e * f + 1.6666665459e-1f;
        e = e * f + 5.0000001201e-1f;
        e = e * f * f + f + 1.0f;
        const ipiece scale = (n + 127) << 23;
        fpiece power;
        std::memcpy(&power, &scale, sizeof power);
        r.part[p] = e * power;
    }
    return r;
}

inline F16 sigmoid(const F16& t) {
    const F16 zero = F16::all(0.0f);
    const F16 e = exp_nonpositive(min(t, zero - t));  // exp(-|t|)
    const F16 small = e / (e + 1.0f);
    F16 r;
    for (int p = 0; p < kPieces; ++p) r.part[p] = t.part[p] < 0 ? small.part[p] : 1.0f - small.part[p];
    return r;
}

// The new alpha of the logistic dual: f(t) = t + aC sigmoid(t) + rest = 0, alpha = C sigmoid(t). f grows with t; it is convex
// below 0 and concave above, so Newton's method from the outer side of the root's half never overshoots. Few steps at
// small a C, about log(aC) at large.
inline F16 logistic_alpha(const F16& curvature, const F16& cost, const F16& rest) {
    constexpr int kMaxSteps = 40;
    const F16 zero = F16::all(0.0f);
    const F16 pull = curvature * cost;
    const F16 from_left = max(zero, zero - rest - pull), from_right = min(zero, zero - rest);
    const F16 close = (pull + abs(rest)) * 5e-7f + 1e-6f;  // what rounding leaves of f
    F16 t;
    for (int p = 0; p < kPieces; ++p)
        t.part[p] = pull.part[p] * 0.5f + rest.part[p] < 0 ? from_left.part[p] : from_right.part[p];
    F16 s = sigmoid(t);
    for (int step = 0; step < kMaxSteps; ++step) {
        const F16 value = t + pull * s + rest;
        if (!(max_lane(abs(value) - close) > 0.0f)) break;
        t = t - value / (pull * s * (F16::all(1.0f) - s) + 1.0f);
        s = sigmoid(t);
    }
    return cost * s;
}

inline float cost_of(const SolveTask& task, std::int64_t row) { return task.row_cost ? task.row_cost[row] : 1.0f; }

// Starts where a label without positives would end: every negative row gets the same small alpha (times its cost), so the
// weights are -alpha times the sum of the rows. Where all labels have one cost it saves a quarter of the time; at the default costs
// it neither saves nor costs any (docs/measurements/one-vs-all.md).
template <Loss kLoss>
void start_from_all_negative(const SolveTask& task, const SolveOptions& options, const SolveScratch& scratch) {
    float* weights = scratch.weights;
    double total = 0;  // of the rows' costs
    for (std::int64_t place = 0; place < task.n_beginning(); ++place) {
        const std::int64_t row = task.row_at(place);
        look(place);
        const float times = cost_of(task, row);
        total += times;
        const float factor = times * scale_of(task, row);
        for (std::int64_t p = task.begin[row]; p < task.end[row]; ++p)
            weights[static_cast<std::int64_t>(task.indices[p]) * kLanes] += task.data[p] * factor;
    }
    const std::int64_t bias_row = static_cast<std::int64_t>(task.n_features) * kLanes;
    weights[bias_row] = static_cast<float>(total) * options.bias;
    double square = 0;
    for (std::int32_t f = 0; f <= task.n_features; ++f) {
        const double w = weights[static_cast<std::int64_t>(f) * kLanes];
        square += w * w;
    }
    const float curvature = static_cast<float>(square / total);
    const F16 cost = F16::load(options.cost_negative);
    F16 alpha;
    if constexpr (kLoss == Loss::squared_hinge) {
        alpha = F16::all(1.0f) / (F16::all(0.5f) / cost + curvature);
    } else {
        alpha = logistic_alpha(F16::all(curvature), cost, F16::all(0.0f));
    }
    for (std::int32_t f = 0; f <= task.n_features; ++f) {
        float* w = weights + static_cast<std::int64_t>(f) * kLanes;
        (F16::all(0.0f) - alpha * w[0]).store(w);
    }
    for (std::int64_t place = 0; place < task.n_beginning(); ++place) {
        const std::int64_t row = task.row_at(place);
        look(place);
        const std::uint32_t mask = task.positive_only && task.positive_only[row] ? 0xffffu : task.positive[row];
        const F16 of_row = alpha * cost_of(task, row);
        choose(mask, F16::all(0.0f), of_row).store(scratch.alpha + row * kLanes);
        if (mask) add_row(task, row, choose(mask, of_row, F16::all(0.0f)), options.bias, weights);
    }
}

// Starts from given weights w: at an optimum the dual of a row follows from its margin, so the earlier rows get the duals
// that w says and start without any violation, and the new ones get 0. The given weights are rounded and pruned, so w is
// not quite the sum of its rows; the difference r stays as it is, and what is minimised is |w - r|^2 / 2 + the losses of
// all rows, whose solution for the earlier rows alone is exactly w. (Making w the sum of its rows again puts it far from
// where it was: small errors of margins add up over many rows. Measured, that start saves nothing.)
template <Loss kLoss>
void start_from_weights(const SolveTask& task, const SolveOptions& options, const SolveScratch& scratch) {
    const F16 zero = F16::all(0.0f);
    const F16 cost_positive = F16::load(options.cost_positive), cost_negative = F16::load(options.cost_negative);
    for (std::int64_t row = 0; row < task.n_rows; ++row) {
        F16 alpha = zero;
        look(row);
        if (row < options.first_new) {
            const std::uint32_t mask = task.positive[row];
            const F16 cost = choose(mask, cost_positive, cost_negative) * cost_of(task, row);
            const F16 score = choose(mask, F16::all(1.0f), F16::all(-1.0f)) * row_scores(task, row, scratch.weights, options.bias);
            if constexpr (kLoss == Loss::squared_hinge) {
                alpha = cost * max(F16::all(1.0f) - score, zero) * 2.0f;
            } else {
                alpha = cost * sigmoid(zero - score);
            }
            const bool counts_once = task.positive_only && task.positive_only[row];
            alpha = choose(options.known & (counts_once ? mask : 0xffffu), alpha, zero);
        }
        alpha.store(scratch.alpha + row * kLanes);
    }
}

// True if the weights given serve the new rows as well: none of them violates the squared hinge by more than eps, so
// the solver would stop where it starts.
bool new_rows_agree(const SolveTask& task, const SolveOptions& options, const SolveScratch& scratch) {
    const std::uint32_t all = (1u << task.n_labels) - 1;
    if ((options.known & all) != all) return false;
    const F16 zero = F16::all(0.0f);
    for (std::int64_t row = options.first_new; row < task.n_rows; ++row) {
        look(row);
        const std::uint32_t mask = task.positive[row];
        const F16 sign = choose(mask, F16::all(1.0f), F16::all(-1.0f));
        F16 lack = F16::all(1.0f) - sign * row_scores(task, row, scratch.weights, options.bias);
        lack = choose(task.positive_only && task.positive_only[row] ? mask & all : all, lack, zero);
        if (max_lane(lack) > options.eps) return false;
    }
    return true;
}

struct Lanes {
    F16 cost_positive, cost_negative;  // C for a positive and a negative row
    F16 live;                          // 1 for labels still being solved, 0 for finished or absent ones
};

// The lanes for a row that is nobody's negative: alive where it is positive.
inline Lanes positives_of(const Lanes& lanes, std::uint32_t mask) {
    Lanes own = lanes;
    own.live = choose(mask, lanes.live, F16::all(0.0f));
    return own;
}

// One visit of a row: keeps the largest violation of every live label; `idle` tells that the row can rest.
template <Loss kLoss>
inline void visit(const SolveTask& task, const SolveOptions& options, std::int64_t row, const Lanes& lanes,
                  const F16& resting, float* weights, float* alpha, F16* violations, bool* idle) {
    const F16 zero = F16::all(0.0f);
    const std::uint32_t mask = task.positive[row];
    const F16 sign = choose(mask, F16::all(1.0f), F16::all(-1.0f));
    F16 cost = choose(mask, lanes.cost_positive, lanes.cost_negative);
    if (task.row_cost) cost = cost * task.row_cost[row];
    const F16 score = sign * row_scores(task, row, weights, options.bias);
    const F16 old = F16::load(alpha);
    const float square = task.squares[row] + options.bias * options.bias;
    F16 fresh, violation;
    if constexpr (kLoss == Loss::squared_hinge) {
        const F16 ridge = F16::all(0.5f) / cost;
        const F16 gradient = score - 1.0f + old * ridge;
        fresh = max(old - gradient / (ridge + square), zero);
        // projected gradient: at the bound only a negative gradient counts
        for (int p = 0; p < kPieces; ++p) {
            const fpiece magnitude = gradient.part[p] < 0 ? -gradient.part[p] : gradient.part[p];
            const fpiece at_bound = gradient.part[p] < 0 ? -gradient.part[p] : fpiece{};
            violation.part[p] = old.part[p] > 0 ? magnitude : at_bound;
        }
        violation = violation * lanes.live;
        // A label is done with the row if its alpha is 0 and its gradient is beyond the last pass's worst violation.
        F16 restless;
        for (int p = 0; p < kPieces; ++p) {
            const fpiece beyond = gradient.part[p] > resting.part[p] ? fpiece{} : fpiece{} + 1.0f;
            restless.part[p] = old.part[p] > 0 ? fpiece{} + 1.0f : beyond;
            restless.part[p] = violation.part[p] < kQuiet * options.eps ? fpiece{} : restless.part[p];
        }
        *idle = max_lane(restless * lanes.live) == 0.0f;
    } else {
        const F16 curvature = F16::all(square);
        fresh = logistic_alpha(curvature, cost, score - curvature * old);
        violation = abs(fresh - old) * (F16::all(4.0f) / cost + square) * lanes.live;
        *idle = max_lane(violation) < kQuiet * options.eps;
    }
    *violations = max(*violations, violation);
    const F16 step = (fresh - old) * lanes.live;
    if (max_lane(violation) > kStill * options.eps) {
        (old + step).store(alpha);
        add_row(task, row, step * sign, options.bias, weights);
    }
}

template <Loss kLoss>
int solve_loss(const SolveTask& task, const SolveOptions& options, const SolveScratch& scratch) {
    Lanes lanes;
    float live[kLanes], resting[kLanes];
    for (int l = 0; l < kLanes; ++l) {
        live[l] = l < task.n_labels ? 1.0f : 0.0f;
        resting[l] = 1e30f;
    }
    lanes.live = F16::load(live);
    lanes.cost_positive = F16::load(options.cost_positive);
    lanes.cost_negative = F16::load(options.cost_negative);
    const std::int32_t n_rows = static_cast<std::int32_t>(task.n_taking_part());
    if (options.start == Start::weights) {
        if (kLoss == Loss::squared_hinge && new_rows_agree(task, options, scratch)) return 0;
        start_from_weights<kLoss>(task, options, scratch);
    } else {
        start_from_all_negative<kLoss>(task, options, scratch);
    }
    for (std::int32_t i = 0; i < n_rows; ++i) scratch.active[i] = static_cast<std::int32_t>(task.row_at(i));
    for (std::int64_t i = task.n_beginning(); i < n_rows; ++i) F16::all(0.0f).store(scratch.alpha + task.row_at(i) * kLanes);

    std::int32_t n_active = static_cast<std::int32_t>(task.n_beginning());
    int pass = 0, n_looks = 0;
    while (pass < options.max_passes) {
        Rng rng(options.seed, options.item, static_cast<std::uint64_t>(pass));
        rng.shuffle(scratch.active, static_cast<std::uint32_t>(n_active));
        const bool full = n_active == n_rows;
        F16 violations = F16::all(0.0f);
        const F16 rest_above = F16::load(resting);
        std::int32_t kept = 0;
        for (std::int32_t a = 0; a < n_active; ++a) {
            const std::int32_t row = scratch.active[a];
            look(a);
            if (a + 1 < n_active) {  // the next row's list is at a random place: ask for it now
                const std::int64_t next = task.begin[scratch.active[a + 1]];
                __builtin_prefetch(task.indices + next);
                __builtin_prefetch(task.data + next);
                __builtin_prefetch(scratch.alpha + static_cast<std::int64_t>(scratch.active[a + 1]) * kLanes);
            }
            bool idle = false;
            const bool counts_once = task.positive_only && task.positive_only[row];
            visit<kLoss>(task, options, row, counts_once ? positives_of(lanes, task.positive[row]) : lanes, rest_above, scratch.weights,
                         scratch.alpha + static_cast<std::int64_t>(row) * kLanes, &violations, &idle);
            // Resting rows are moved behind the active ones, so that all of them come back in the last check.
            if (!idle) {
                scratch.active[a] = scratch.active[kept];
                scratch.active[kept++] = row;
            }
        }
        ++pass;
        bool done = true;
        for (int l = 0; l < kLanes; ++l) {
            const float worst = violations.lane(l);
            if (live[l] == 0.0f) continue;
            if (worst > options.eps) {
                done = false;
                resting[l] = worst;
            } else if (full) {
                live[l] = 0.0f;  // this label is solved: it costs no more updates
            } else {
                resting[l] = options.eps;
            }
        }
        n_active = kept;
        n_looks += full;
        if (done) {
            if (full || (task.chosen && options.eps >= kCoarse && n_looks >= kMostLooks)) break;
            n_active = n_rows;  // the active rows agree: look at all of them once more
            for (int l = 0; l < kLanes; ++l) resting[l] = 1e30f;
        }
        lanes.live = F16::load(live);
    }
    return pass;
}

}  // namespace

int solve(const SolveTask& task, const SolveOptions& options, const SolveScratch& scratch) {
    if (options.loss == Loss::logistic) return solve_loss<Loss::logistic>(task, options, scratch);
    return solve_loss<Loss::squared_hinge>(task, options, scratch);
}

}  // namespace lw::LW_LEVEL
