// Candidates of all sides and their ranking for Python.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "bind/bind.hpp"
#include "models/ensemble/bind_trees.hpp"
#include "models/ensemble/candidates.hpp"
#include "parallel.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

void need(bool fits, const char* what) {
    if (!fits) throw std::invalid_argument(what);
}

// A matrix that the holder keeps; `values` may be missing.
struct KeptMatrix {
    In<std::int64_t> starts;
    In<std::int32_t> columns;
    std::optional<In<float>> values;

    KeptMatrix(In<std::int64_t> given_starts, In<std::int32_t> given_columns, std::optional<In<float>> given_values,
               std::int64_t n_rows, std::int64_t n_columns)
        : starts(given_starts), columns(given_columns), values(given_values) {
        need(static_cast<std::int64_t>(starts.size()) == n_rows + 1 && starts.data()[0] == 0, "row pointers begin with 0, one a row");
        for (std::int64_t row = 0; row < n_rows; ++row) need(starts.data()[row] <= starts.data()[row + 1], "row pointers rise");
        need(starts.data()[n_rows] == static_cast<std::int64_t>(columns.size()), "row pointers do not fit the columns");
        need(!values || values->size() == columns.size(), "a matrix has a value for each column number");
        for (std::size_t p = 0; p < columns.size(); ++p)
            need(columns.data()[p] >= 0 && columns.data()[p] < n_columns, "a column number is outside the matrix");
    }
    SparseRows rows(std::int64_t n_columns) const {
        return {starts.data(), columns.data(), values->data(), static_cast<std::int64_t>(starts.size()) - 1,
                static_cast<std::int32_t>(n_columns)};
    }
    SparsePattern pattern(std::int64_t n_columns) const {
        return {starts.data(), columns.data(), static_cast<std::int64_t>(starts.size()) - 1, static_cast<std::int32_t>(n_columns)};
    }
};

// The arrays of all sides. The views point into arrays that are kept alive beside them.
struct SidesHolder {
    std::vector<KeptMatrix> kept;
    std::vector<In<float>> of_labels;
    In<std::int64_t> near_starts;
    In<std::uint8_t> near_codes;
    In<std::int8_t> near_values;
    In<float> near_scale;
    std::vector<std::int64_t> near_code_starts;
    In2<std::int8_t> learned_bytes[3];
    In<float> learned_floats[4];
    In2<std::int8_t> meaning_lines[4];
    In<float> meaning_scales[4];
    Sides sides{};

    SidesHolder(std::int32_t n_features, In<float> label_rows) {
        sides.n_features = n_features;
        sides.n_labels = static_cast<std::int32_t>(label_rows.size());
        sides.label_rows = label_array(label_rows);
    }

    const float* label_array(In<float> array) {
        need(static_cast<std::int32_t>(array.size()) == sides.n_labels, "an array must have an entry for each label");
        of_labels.push_back(array);
        return array.data();
    }

    void near(In<std::int64_t> starts, In<std::uint8_t> codes, In<std::int8_t> values, In<float> scale, In<std::int64_t> label_starts,
              In<std::int32_t> labels, std::int32_t n_near, std::int64_t most_postings) {
        need(label_starts.size() >= 1 && n_near >= 1, "there must be rows to ask");
        need(static_cast<std::int32_t>(starts.size()) == sides.n_features + 1 && static_cast<std::int32_t>(scale.size()) == sides.n_features &&
                 starts.data()[0] == 0 && starts.data()[sides.n_features] == static_cast<std::int64_t>(values.size()),
             "similar rows have a value for each entry and a scale for each column");
        const auto n_rows = static_cast<std::int64_t>(label_starts.size()) - 1;
        near_code_starts = checked_codes(starts, codes, n_rows);
        kept.emplace_back(label_starts, labels, std::nullopt, n_rows, sides.n_labels);
        near_starts = starts;
        near_codes = codes;
        near_values = values;
        near_scale = scale;
        sides.near = {near_starts.data(), near_code_starts.data(), near_codes.data(), near_values.data(), near_scale.data(),
                      kept.back().pattern(sides.n_labels), n_near, most_postings};
    }

    // Where the codes of each column begin; every code is a row.
    static std::vector<std::int64_t> checked_codes(const In<std::int64_t>& starts, const In<std::uint8_t>& codes, std::int64_t n_rows) {
        constexpr int kLongest = 5;  // bytes of a code: rows are below 2^31
        std::vector<std::int64_t> begins{0};
        begins.reserve(starts.size());
        const std::uint8_t *code = codes.data(), *end = code + codes.size();
        for (std::size_t column = 0; column + 1 < starts.size(); ++column) {
            need(starts.data()[column] <= starts.data()[column + 1], "row pointers rise");
            std::int64_t row = -1;
            for (std::int64_t p = starts.data()[column]; p < starts.data()[column + 1]; ++p) {
                const std::uint8_t* last = std::find_if(code, std::min(code + kLongest, end), [](std::uint8_t byte) { return byte < 0x80; });
                need(last < std::min(code + kLongest, end), "a code of a row is cut off");
                row += 1 + next_code(code);
                need(row < n_rows, "a code leads to no row");
            }
            begins.push_back(code - codes.data());
        }
        need(code == end, "codes of rows are left over");
        return begins;
    }

    void learned(In2<std::int8_t> units, In<float> unit_scale, In<float> unit_bias, In2<std::int8_t> projection, In<float> projection_scale,
                 In2<std::int8_t> rows, In<float> row_scale, std::int32_t n_near, std::int32_t most_proposed) {
        need(sides.near.labels.starts, "a learned space comes after the similar rows");
        const auto n_features = static_cast<std::size_t>(sides.n_features), n_units = units.shape(1);
        need(units.shape(0) == n_features && unit_scale.size() == n_features && unit_bias.size() == n_units && n_units <= 1 << 20,
             "the units of a learned space see each feature");
        need(projection.shape(0) == n_features + n_units && projection_scale.size() == projection.shape(0) &&
                 static_cast<std::int64_t>(rows.shape(0)) == sides.near.labels.n_rows && row_scale.size() == rows.shape(0) &&
                 rows.shape(1) == projection.shape(1) && rows.shape(1) >= 1 && rows.shape(1) <= 4096,
             "a learned space has a vector for each feature, each unit and each row");
        need(n_near >= 1 && most_proposed >= 1, "a learned space asks rows and proposes labels");
        learned_bytes[0] = units;
        learned_bytes[1] = projection;
        learned_bytes[2] = rows;
        learned_floats[0] = unit_scale;
        learned_floats[1] = unit_bias;
        learned_floats[2] = projection_scale;
        learned_floats[3] = row_scale;
        const auto table = [](const In2<std::int8_t>& bytes) {
            return ByteTable{bytes.data(), static_cast<std::int64_t>(bytes.shape(0)), static_cast<std::int64_t>(bytes.shape(1))};
        };
        sides.learned = {table(learned_bytes[0]), learned_floats[0].data(), learned_floats[1].data(), table(learned_bytes[1]),
                         learned_floats[2].data(), learned_bytes[2].data(), learned_floats[3].data(), n_near, most_proposed};
    }

    void meaning(In2<std::int8_t> rows, In<float> row_scale, In2<std::int8_t> told, In<float> told_scale, In2<std::int8_t> centres,
                 In<float> centre_scale, In2<std::int8_t> names, In<float> name_scale, std::int64_t first_column, std::int32_t n_near,
                 std::int32_t most_rows, std::int32_t most_told, std::int32_t most_names) {
        need(sides.near.labels.starts, "meanings of texts come after the similar rows");
        need(first_column >= sides.n_features && n_near >= 1 && most_rows >= 0 && most_told >= 0 && most_names >= 0,
             "meanings come after the features, ask texts and propose labels");
        const In2<std::int8_t> lines[4] = {rows, told, centres, names};
        const In<float> scales[4] = {row_scale, told_scale, centre_scale, name_scale};
        MeaningSide::Table tables[4];
        for (int i = 0; i < 4; ++i) {
            const auto n = static_cast<std::int64_t>(lines[i].shape(0));
            const std::int64_t wanted = i == 0 ? sides.near.labels.n_rows : sides.n_labels;
            need((n == 0 || n == wanted) && static_cast<std::int64_t>(scales[i].size()) == n && lines[i].shape(1) == rows.shape(1),
                 "meanings have a line, or none at all, for each row and each label");
            meaning_lines[i] = lines[i];
            meaning_scales[i] = scales[i];
            tables[i] = {meaning_lines[i].data(), meaning_scales[i].data(), n};
        }
        need(rows.shape(1) >= 1 && rows.shape(1) <= 65536, "meanings have numbers");
        sides.meaning = {tables[0], tables[1], tables[2], tables[3], first_column, static_cast<std::int32_t>(rows.shape(1)), n_near,
                         most_rows, most_told, most_names};
    }

    void names(In<std::int64_t> column_starts, In<std::int32_t> column_words, In<std::int64_t> word_starts, In<std::int32_t> word_labels,
               In<float> word_shares, In<float> mass, In<float> words, In<float> right, In<float> matched, float least_share,
               float smallest_share, float whole, std::int32_t most_proposed) {
        need(word_starts.size() >= 1 && most_proposed >= 0, "there must be words");
        const auto n_words = static_cast<std::int64_t>(word_starts.size()) - 1;
        kept.emplace_back(column_starts, column_words, std::nullopt, sides.n_features, n_words);
        const SparsePattern said = kept.back().pattern(n_words);
        kept.emplace_back(word_starts, word_labels, word_shares, n_words, sides.n_labels);
        sides.names = {said, kept.back().rows(sides.n_labels), label_array(mass), label_array(words), label_array(right),
                       label_array(matched), least_share, smallest_share, whole, most_proposed};
    }

    void letters(In<std::int64_t> starts, In<std::int32_t> labels, In<float> weights, std::int64_t first_column, float least_share,
                 std::int32_t most_proposed) {
        need(starts.size() >= 1 && first_column >= sides.n_features && most_proposed >= 0, "a view comes after the features");
        const auto n_runs = static_cast<std::int64_t>(starts.size()) - 1;
        kept.emplace_back(starts, labels, weights, n_runs, sides.n_labels);
        sides.letters = {kept.back().rows(sides.n_labels), first_column, least_share, most_proposed};
    }

    void beside(In<std::int64_t> starts, In<std::int32_t> labels, In<float> shares, std::int32_t n_sure, std::int32_t most_proposed) {
        need(n_sure >= 0 && most_proposed >= 0, "numbers must be positive");
        kept.emplace_back(starts, labels, shares, sides.n_labels, sides.n_labels);
        sides.beside = {kept.back().rows(sides.n_labels), n_sure, most_proposed};
    }

    void phrases(In<float> right) { sides.phrase_right = label_array(right); }

    void favour(In<float> weights) { sides.favour = label_array(weights); }
};

AskedRows checked_rows(const SidesHolder& holder, const In<std::int64_t>& starts, const In<std::int32_t>& columns,
                       const In<float>& values, std::int64_t first_said, const In2<std::int32_t>& labels, const In2<float>& scores,
                       std::int32_t n_models) {
    const Sides& sides = holder.sides;
    need(sides.near.starts && sides.beside.shares.starts, "similar rows and companions are missing");
    need(starts.size() >= 1 && starts.data()[0] == 0, "row pointers begin with 0");
    const auto n_rows = static_cast<std::int64_t>(starts.size()) - 1;
    for (std::int64_t row = 0; row < n_rows; ++row) {
        need(starts.data()[row] <= starts.data()[row + 1], "row pointers rise");
        for (std::int64_t p = starts.data()[row]; p < starts.data()[row + 1]; ++p) {
            need(p < static_cast<std::int64_t>(columns.size()), "row pointers do not fit the columns");
            need(columns.data()[p] >= (p > starts.data()[row] ? columns.data()[p - 1] + 1 : 0), "columns rise within a row");
        }
    }
    need(starts.data()[n_rows] == static_cast<std::int64_t>(columns.size()) && columns.size() == values.size(),
         "row pointers do not fit the columns and values");
    need(first_said >= sides.n_features, "names in texts come after the features");
    need(n_models >= 1 && labels.shape(1) >= 1 && labels.shape(1) % n_models == 0 && labels.shape(0) == scores.shape(0) &&
             labels.shape(1) == scores.shape(1) && static_cast<std::int64_t>(labels.shape(0)) == n_rows,
         "answers must be (n rows, n models * width)");
    for (std::size_t i = 0; i < labels.shape(0) * labels.shape(1); ++i)
        need(labels.data()[i] >= -1 && labels.data()[i] < sides.n_labels, "no such label");
    return {{starts.data(), columns.data(), values.data(), n_rows, sides.n_features}, first_said, labels.data(), scores.data(),
            n_models, static_cast<std::int32_t>(labels.shape(1)) / n_models};
}

// (the number of candidates of each row, their labels, rising, the table).
nb::tuple table(const SidesHolder& holder, In<std::int64_t> starts, In<std::int32_t> columns, In<float> values, std::int64_t first_said,
                In2<std::int32_t> labels, In2<float> scores, std::int32_t n_models, int n_threads) {
    const AskedRows asked = checked_rows(holder, starts, columns, values, first_said, labels, scores, n_models);
    const auto n_rows = static_cast<std::size_t>(asked.rows.n_rows);
    const auto n_columns = static_cast<std::size_t>(n_table_columns(n_models, holder.sides));
    struct Row {
        std::vector<std::int32_t> labels;
        std::vector<float> table;
    };
    std::vector<Row> rows(n_rows);
    auto* counts = new std::int64_t[n_rows];
    nb::capsule counts_owner(counts, [](void* p) noexcept { delete[] static_cast<std::int64_t*>(p); });
    std::size_t n_candidates = 0;
    {
        WithoutGil released;
        parallel_for(asked.rows.n_rows, n_threads, 8, [&](std::int64_t row, int) {
            thread_local CandidateRoom room;
            gather_candidates(holder.sides, asked, row, room);
            std::vector<std::int32_t> order(room.labels.size());
            std::iota(order.begin(), order.end(), 0);
            std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return room.labels[a] < room.labels[b]; });
            Row& out = rows[static_cast<std::size_t>(row)];
            out.table.reserve(room.table.size());
            for (const std::int32_t slot : order) {
                out.labels.push_back(room.labels[slot]);
                const auto begin = room.table.begin() + static_cast<std::ptrdiff_t>(slot * n_columns);
                out.table.insert(out.table.end(), begin, begin + static_cast<std::ptrdiff_t>(n_columns));
            }
        });
        for (std::size_t row = 0; row < n_rows; ++row) n_candidates += static_cast<std::size_t>(counts[row] = static_cast<std::int64_t>(rows[row].labels.size()));
    }
    auto* all_labels = new std::int32_t[n_candidates];
    nb::capsule labels_owner(all_labels, [](void* p) noexcept { delete[] static_cast<std::int32_t*>(p); });
    auto* all_values = new float[n_candidates * n_columns];
    nb::capsule values_owner(all_values, [](void* p) noexcept { delete[] static_cast<float*>(p); });
    std::size_t place = 0;
    for (Row& row : rows) {
        std::copy(row.labels.begin(), row.labels.end(), all_labels + place);
        std::copy(row.table.begin(), row.table.end(), all_values + place * n_columns);
        place += row.labels.size();
        row = {};
    }
    return nb::make_tuple(nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>(counts, {n_rows}, counts_owner),
                          nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>>(all_labels, {n_candidates}, labels_owner),
                          nb::ndarray<nb::numpy, float, nb::ndim<2>>(all_values, {n_candidates, n_columns}, values_owner));
}

float chance_of(float margin, float weight) { return static_cast<float>(weight / (1 + std::exp(-static_cast<double>(margin)))); }

constexpr std::int64_t kSpare = 20, kOfEach = 4;  // candidates that are looked at closely: so many, and of each that is wanted

// Fills room.sums with the margins of the candidates that may be among the k best, and room.items with their numbers: gives back how many.
// The first trees look at all candidates. Those behind, which add less and less, look at the best by then.
std::int64_t rank_candidates(const QuickTrees& trees, const float* favour, std::int32_t n_columns, std::int32_t k, CandidateRoom& room) {
    constexpr std::size_t kFirstTrees = 40;
    const auto n = static_cast<std::int64_t>(room.labels.size());
    const std::int64_t kept = std::min(n, kSpare + kOfEach * k);
    const std::size_t first = kept < n ? std::min(kFirstTrees, trees.n_trees()) : trees.n_trees();
    room.items.resize(room.labels.size());
    std::iota(room.items.begin(), room.items.end(), 0);
    room.sums.assign(room.labels.size(), trees.base());
    trees.add(room.table.data(), room.items.data(), n, n_columns, 0, first, room.sums.data());
    if (kept == n) return n;
    room.order.resize(room.labels.size());
    for (std::int64_t i = 0; i < n; ++i) {
        const std::int32_t label = room.labels[i];
        const auto margin = static_cast<float>(room.sums[i]);
        room.order[i] = {favour ? chance_of(margin, favour[label]) : margin, static_cast<std::int32_t>(i)};
    }
    // Equal ones by label: the order of candidates is not to matter.
    std::nth_element(room.order.begin(), room.order.begin() + kept, room.order.end(), [&](const Scored& a, const Scored& b) {
        return a.score != b.score ? a.score > b.score : room.labels[a.label] < room.labels[b.label];
    });
    for (std::int64_t i = 0; i < kept; ++i) room.items[i] = room.order[i].label;
    trees.add(room.table.data(), room.items.data(), kept, n_columns, first, trees.n_trees(), room.sums.data());
    return kept;
}

// The same with two rankers: the first looks at all candidates; the second at the likeliest, and at what the first one's chances say.
std::int64_t rank_twice(const QuickTrees& first, const QuickTrees& trees, const Sides& sides, std::int32_t n_columns, std::int32_t k, CandidateRoom& room) {
    const auto n = static_cast<std::int64_t>(room.labels.size());
    const std::int64_t kept = std::min(n, kSpare + kOfEach * k);
    room.items.resize(room.labels.size());
    std::iota(room.items.begin(), room.items.end(), 0);
    room.sums.assign(room.labels.size(), first.base());
    first.add(room.table.data(), room.items.data(), n, n_columns, 0, first.n_trees(), room.sums.data());
    room.chances.resize(room.labels.size());
    for (std::int64_t i = 0; i < n; ++i) room.chances[i] = chance_of(static_cast<float>(room.sums[i]), 1.0f);
    room.second.resize(room.labels.size() * kSecondColumns);
    look_again(sides.beside, room.labels.data(), room.chances.data(), n, room, room.second.data());
    if (kept < n) {
        const auto worth = [&](std::int32_t i) { return sides.favour ? room.chances[i] * sides.favour[room.labels[i]] : room.chances[i]; };
        // Equal ones by label: the order of candidates is not to matter.
        std::nth_element(room.items.begin(), room.items.begin() + kept, room.items.end(), [&](std::int32_t a, std::int32_t b) {
            return worth(a) != worth(b) ? worth(a) > worth(b) : room.labels[a] < room.labels[b];
        });
    }
    const std::int32_t n_all = n_columns + kSecondColumns;
    room.shown.resize(static_cast<std::size_t>(kept * n_all));
    room.places.resize(static_cast<std::size_t>(kept));
    std::iota(room.places.begin(), room.places.end(), 0);
    for (std::int64_t i = 0; i < kept; ++i) {
        const std::int64_t item = room.items[i];
        float* shown = std::copy_n(room.table.data() + item * n_columns, n_columns, room.shown.data() + i * n_all);
        std::copy_n(room.second.data() + item * kSecondColumns, kSecondColumns, shown);
    }
    room.second_sums.assign(static_cast<std::size_t>(kept), trees.base());
    trees.add(room.shown.data(), room.places.data(), kept, n_all, 0, trees.n_trees(), room.second_sums.data());
    for (std::int64_t i = 0; i < kept; ++i) room.sums[room.items[i]] = room.second_sums[i];
    return kept;
}

void look_again_at(const SidesHolder& holder, In<std::int64_t> counts, In<std::int32_t> labels, In<float> chances, int n_threads, Out2<float> columns) {
    const Sides& sides = holder.sides;
    need(sides.beside.shares.starts, "companions are missing");
    need(labels.size() == chances.size() && columns.shape(0) == labels.size() && columns.shape(1) == kSecondColumns,
         "candidates have a label, a chance and a line of columns each");
    std::vector<std::int64_t> starts(counts.size() + 1, 0);
    for (std::size_t row = 0; row < counts.size(); ++row) {
        need(counts.data()[row] >= 0, "a row has candidates or none");
        starts[row + 1] = starts[row] + counts.data()[row];
    }
    need(starts.back() == static_cast<std::int64_t>(labels.size()), "the rows have other numbers of candidates");
    for (std::size_t row = 0; row < counts.size(); ++row)
        for (std::int64_t i = starts[row]; i < starts[row + 1]; ++i)
            need(labels.data()[i] >= (i > starts[row] ? labels.data()[i - 1] + 1 : 0) && labels.data()[i] < sides.n_labels,
                 "the labels of a row's candidates rise");
    WithoutGil released;
    parallel_for(static_cast<std::int64_t>(counts.size()), n_threads, 64, [&](std::int64_t row, int) {
        thread_local CandidateRoom room;
        if (room.slots.size() < static_cast<std::size_t>(sides.n_labels)) room.slots.resize(static_cast<std::size_t>(sides.n_labels), -1);
        look_again(sides.beside, labels.data() + starts[row], chances.data() + starts[row], counts.data()[row], room,
                   columns.data() + starts[row] * kSecondColumns);
    });
}

void top_k(const SidesHolder& holder, const TreesHolder& ranker, const TreesHolder* first, In<std::int64_t> starts, In<std::int32_t> columns, In<float> values,
           std::int64_t first_said, In2<std::int32_t> labels, In2<float> scores, std::int32_t n_models, int n_threads,
           Out2<std::int32_t> best_labels, Out2<float> chances, Out<float> closest) {
    const AskedRows asked = checked_rows(holder, starts, columns, values, first_said, labels, scores, n_models);
    const std::int32_t n_columns = n_table_columns(n_models, holder.sides);
    need(ranker.n_features == n_columns + (first ? kSecondColumns : 0) && (!first || first->n_features == n_columns),
         "the ranker knows another table");
    need(static_cast<std::int64_t>(best_labels.shape(0)) == asked.rows.n_rows && best_labels.shape(1) >= 1 &&
             chances.shape(0) == best_labels.shape(0) && chances.shape(1) == best_labels.shape(1),
         "labels and chances must be (n rows, k)");
    need(static_cast<std::int64_t>(closest.shape(0)) == asked.rows.n_rows, "closest must be (n rows,)");
    const auto k = static_cast<std::int32_t>(best_labels.shape(1));
    const float* favour = holder.sides.favour;
    WithoutGil released;
    parallel_for(asked.rows.n_rows, n_threads, 8, [&](std::int64_t row, int) {
        thread_local CandidateRoom room;
        gather_candidates(holder.sides, asked, row, room);
        closest.data()[row] = room.closest;
        const std::int64_t n = first ? rank_twice(first->trees, ranker.trees, holder.sides, n_columns, k, room)
                                     : rank_candidates(ranker.trees, favour, n_columns, k, room);
        room.best.resize(static_cast<std::size_t>(k));
        TopKHeap heap(room.best.data(), k);
        for (std::int64_t i = 0; i < n; ++i) {
            const std::int32_t item = room.items[static_cast<std::size_t>(i)], label = room.labels[item];
            heap.offer(chance_of(static_cast<float>(room.sums[item]), favour ? favour[label] : 1.0f), label);
        }
        const std::int32_t n_best = heap.size();
        const Scored* best = heap.sorted();
        for (std::int32_t i = 0; i < k; ++i) {
            best_labels.data()[row * k + i] = i < n_best ? best[i].label : -1;
            chances.data()[row * k + i] = i < n_best ? best[i].score : -std::numeric_limits<float>::infinity();
        }
    });
}

}  // namespace

void bind_candidates(nb::module_& m) {
    nb::class_<SidesHolder>(m, "CandidateSides", "The arrays of all sides that propose labels; see native/models/ensemble/candidates.hpp.")
        .def(nb::init<std::int32_t, In<float>>(), "n_features"_a, "label_rows"_a)
        .def("near", &SidesHolder::near, "starts"_a, "codes"_a, "values"_a, "scale"_a, "label_starts"_a, "labels"_a, "n_near"_a, "most_postings"_a,
             "Training rows by column and their labels.")
        .def("learned", &SidesHolder::learned, "units"_a, "unit_scale"_a, "unit_bias"_a, "projection"_a, "projection_scale"_a, "rows"_a, "row_scale"_a, "n_near"_a, "most_proposed"_a,
             "Training rows in a space where rows with the same labels lie together.")
        .def("meaning", &SidesHolder::meaning, "rows"_a, "row_scale"_a, "told"_a, "told_scale"_a, "centres"_a, "centre_scale"_a, "names"_a,
             "name_scale"_a, "first_column"_a, "n_near"_a, "most_rows"_a, "most_told"_a, "most_names"_a,
             "Dense vectors of training texts, and of labels: what tells them, the mean of their texts, their names.")
        .def("names", &SidesHolder::names, "column_starts"_a, "column_words"_a, "word_starts"_a, "word_labels"_a, "word_shares"_a,
             "mass"_a, "words"_a, "right"_a, "matched"_a, "least_share"_a, "smallest_share"_a, "whole"_a, "most_proposed"_a,
             "The words of label names.")
        .def("letters", &SidesHolder::letters, "starts"_a, "labels"_a, "weights"_a, "first_column"_a, "least_share"_a, "most_proposed"_a,
             "The runs of characters of label names.")
        .def("beside", &SidesHolder::beside, "starts"_a, "labels"_a, "shares"_a, "n_sure"_a, "most_proposed"_a,
             "The companions of every label.")
        .def("phrases", &SidesHolder::phrases, "right"_a, "How often a name in the text was right.")
        .def("favour", &SidesHolder::favour, "weights"_a, "What the chance of each label is multiplied with.")
        .def("table", &table, "starts"_a, "columns"_a, "values"_a, "first_said"_a, "labels"_a, "scores"_a, "n_models"_a, "n_threads"_a,
             "(candidates of each row, their labels, what is known of each) for rows and the models' answers to them.")
        .def("look_again", &look_again_at, "counts"_a, "labels"_a, "chances"_a, "n_threads"_a, "columns"_a,
             "Fill columns with what the chances of each row's candidates by a first ranker say of each of them.")
        .def("top_k", &top_k, "ranker"_a, "first"_a.none(), "starts"_a, "columns"_a, "values"_a, "first_said"_a, "labels"_a, "scores"_a, "n_models"_a,
             "n_threads"_a, "best_labels"_a, "chances"_a, "closest"_a,
             "Fill best_labels and chances with the candidates that the ranker likes best, closest with the cosines of the most similar training rows.");
}

}  // namespace lw
