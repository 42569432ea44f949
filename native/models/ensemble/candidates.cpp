#include "models/ensemble/candidates.hpp"

#include <algorithm>
#include <cmath>

#include "levels.hpp"

namespace lw {
namespace {

constexpr std::int32_t kFirstRows = 5;  // "first five"
constexpr float kWorstRank = 99.0f;
constexpr float kNotWhole = -0.5f;
constexpr int kNearColumns = 3, kNameColumns = 7, kPhraseColumns = 4, kLetterColumns = 4;
constexpr std::int32_t kFirstLearned = 10;  // "first ten"
constexpr int kSharpness = 3;               // votes weigh by the similarity to the power of 2^3

// One row of the table while it is filled.
class Gatherer {
public:
    Gatherer(const Sides& sides, const AskedRows& asked, std::int64_t row, CandidateRoom& room)
        : sides_(sides), asked_(asked), room_(room), n_columns_(n_table_columns(asked.n_models, sides)), near_(3 * asked.n_models),
          names_(near_ + kNearColumns), phrases_(names_ + kNameColumns), letters_(phrases_ + kPhraseColumns),
          beside_(letters_ + kLetterColumns), meaning_(n_columns_ - (sides.meaning.n_dims > 0 ? kMeaningColumns : 0)),
          learned_(meaning_ - (sides.learned.projection.dim > 0 ? kLearnedColumns : 0)) {
        labels_ = asked.labels + row * asked.n_models * asked.width;
        scores_ = asked.scores + row * asked.n_models * asked.width;
        begin_ = asked.rows.starts[row];
        end_ = asked.rows.starts[row + 1];
        meaning_begin_ = end_;
        if (sides.meaning.n_dims > 0)
            meaning_begin_ = std::lower_bound(asked.rows.columns + begin_, asked.rows.columns + end_, sides.meaning.first_column) - asked.rows.columns;
        features_end_ = std::lower_bound(asked.rows.columns + begin_, asked.rows.columns + end_, sides.n_features) - asked.rows.columns;
        said_begin_ = std::lower_bound(asked.rows.columns + features_end_, asked.rows.columns + end_, asked.first_said) - asked.rows.columns;
        make_room();
        missing_.assign(n_columns_, 0.0f);
        for (std::int32_t m = 0; m < asked.n_models; ++m) missing_[3 * m + 1] = kWorstRank;
        missing_[names_ + 2] = missing_[names_ + 3] = missing_[names_ + 4] = -1.0f;
        missing_[names_ + 6] = kWorstRank;
        missing_[phrases_ + 2] = 9.0f;
        missing_[phrases_ + 3] = -1.0f;
        missing_[letters_ + 2] = missing_[letters_ + 3] = kWorstRank;
        if (learned_ < meaning_) missing_[learned_ + 3] = kWorstRank;
        if (meaning_ < n_columns_) missing_[meaning_ + 3] = missing_[meaning_ + 5] = missing_[meaning_ + 8] = kWorstRank;
    }

    void run() {
        ask_models();
        ask_near_rows();
        ask_learned();
        ask_meaning();
        ask_names();
        ask_phrases();
        ask_letters();
        ask_companions();
        fill_names();
        fill_letters();
        fill_companions();
        fill_learned();
        fill_meaning();
        finish();
    }

private:
    void make_room() {
        const auto n_labels = static_cast<std::size_t>(sides_.n_labels);
        const auto n_rows = static_cast<std::size_t>(sides_.near.labels.n_rows);
        const auto n_words = static_cast<std::size_t>(sides_.names.word_labels.n_rows);
        if (room_.near_sums.size() < n_rows) room_.near_sums.resize(n_rows, 0.0f);
        if (room_.word_values.size() < n_words) room_.word_values.resize(n_words, 0.0f);
        if (room_.slots.size() < n_labels) {
            room_.slots.resize(n_labels, -1);
            room_.votes.resize(n_labels, 0.0f);
            room_.shares.resize(n_labels, 0.0f);
            room_.strengths.resize(n_labels, 0.0f);
            room_.letter_shares.resize(n_labels, 0.0f);
            room_.cosines.resize(n_labels, 0.0f);
            room_.beside_sums.resize(n_labels, 0.0f);
        }
        room_.labels.clear();
        room_.table.clear();
    }

    float* candidate(std::int32_t label) {
        std::int32_t& slot = room_.slots[label];
        if (slot < 0) {
            slot = static_cast<std::int32_t>(room_.labels.size());
            room_.labels.push_back(label);
            room_.table.insert(room_.table.end(), missing_.begin(), missing_.end());
        }
        return room_.table.data() + static_cast<std::size_t>(slot) * n_columns_;
    }

    void ask_models() {
        best_.assign(asked_.n_models, 1e-9f);
        for (std::int32_t m = 0; m < asked_.n_models; ++m) {
            const std::int32_t* labels = labels_ + m * asked_.width;
            const float* scores = scores_ + m * asked_.width;
            if (labels[0] >= 0) best_[m] = std::max(scores[0], 1e-9f);
            for (std::int32_t rank = 0; rank < asked_.width && labels[rank] >= 0; ++rank) {
                float* columns = candidate(labels[rank]) + 3 * m;
                columns[0] = scores[rank];
                columns[1] = static_cast<float>(rank);
                columns[2] = scores[rank] / best_[m];
            }
        }
    }

    void ask_near_rows() {
        const NearSide& near = sides_.near;
        double squares = 0;
        for (std::int64_t q = begin_; q < features_end_; ++q) {
            const double value = asked_.rows.values[q];
            squares += value * value;
            n_features_ += value != 0;
        }
        length_ = squares > 0 ? std::sqrt(squares) : 1;
        const std::int64_t* starts = near.starts;
        // Rarest columns first, of equally rare ones those of smaller numbers.
        room_.rare_first.clear();
        for (std::int64_t q = begin_; q < features_end_; ++q) {
            const std::int32_t column = asked_.rows.columns[q];
            room_.rare_first.emplace_back(starts[column + 1] - starts[column], q);
        }
        std::sort(room_.rare_first.begin(), room_.rare_first.end());
        std::int64_t left = near.most_postings;
        std::size_t n_touched = 0;
        for (const auto& [n_postings, q] : room_.rare_first) {
            const float value = static_cast<float>(asked_.rows.values[q] / length_);
            if (value == 0.0f) continue;
            if ((left -= n_postings) < 0) break;
            const std::int32_t column = asked_.rows.columns[q];
            const float step = value * near.scale[column];
            if (room_.touched_rows.size() < n_touched + static_cast<std::size_t>(n_postings)) room_.touched_rows.resize(n_touched + static_cast<std::size_t>(n_postings));
            float* const sums = room_.near_sums.data();
            std::int32_t* const touched = room_.touched_rows.data();
            const std::int8_t* const values = near.values + starts[column];
            const std::uint8_t* code = near.codes + near.code_starts[column];
            std::int64_t row = -1;
            for (std::int64_t p = 0; p < n_postings; ++p) {
                row += 1 + next_code(code);
                const float sum = sums[row];
                touched[n_touched] = static_cast<std::int32_t>(row);
                // A sum that comes back to 0 lets a row in twice: the second time it is 0 and is left out below.
                n_touched += sum == 0.0f;  // no jump: nobody could predict it
                sums[row] = sum + step * static_cast<float>(values[p]);
            }
        }
        room_.best.resize(near.n_near);
        TopKHeap heap(room_.best.data(), near.n_near);
        for (std::size_t i = 0; i < n_touched; ++i) {
            const std::int32_t row = room_.touched_rows[i];
            const float sum = room_.near_sums[row];
            if (sum > 0.0f && !(heap.full() && sum < heap.worst())) heap.offer(sum, row);
            room_.near_sums[row] = 0.0f;
        }
        const std::int32_t n_near = heap.size();
        const Scored* rows = heap.sorted();
        float total = 0;
        for (std::int32_t i = 0; i < n_near; ++i) total += rows[i].score;
        closest_ = n_near ? rows[0].score : 0.0f;
        for (std::int32_t i = 0; i < n_near; ++i) {
            const std::int32_t row = rows[i].label;
            for (std::int64_t p = near.labels.starts[row]; p < near.labels.starts[row + 1]; ++p) {
                float* columns = candidate(near.labels.columns[p]) + near_;
                columns[0] += rows[i].score / std::max(total, 1e-9f);
                columns[1] = std::max(columns[1], rows[i].score);
                columns[2] += i < kFirstRows ? 1.0f : 0.0f;
            }
        }
    }

    // The rows that lie nearest in the learned space; their labels with most votes become candidates.
    void ask_learned() {
        const LearnedSide& learned = sides_.learned;
        room_.touched_votes.clear();
        room_.learned_rows.clear();
        room_.by_votes.clear();
        if (learned.projection.dim == 0) return;
        const auto n_dims = static_cast<std::size_t>(learned.projection.dim);
        room_.place.resize(n_dims);
        place_row();
        float largest = 0, squares = 0;
        for (const float value : room_.place) {
            largest = std::max(largest, std::fabs(value));
            squares += value * value;
        }
        if (!(largest > 0) || !std::isfinite(squares)) return;
        room_.small_place.resize(n_dims);
        for (std::size_t d = 0; d < n_dims; ++d) room_.small_place[d] = static_cast<std::int16_t>(std::lrint(room_.place[d] / largest * 127));
        const float scale = largest / 127 / std::sqrt(squares);
        room_.learned_rows.resize(learned.n_near);
        TopKHeap heap(room_.learned_rows.data(), learned.n_near);
        const ByteTable rows{learned.rows, sides_.near.labels.n_rows, learned.projection.dim};
        compare(room_.small_place, rows, scale, learned.row_scale);
        keep_nearest(heap);
        room_.learned_rows.resize(static_cast<std::size_t>(heap.size()));
        heap.sorted();
        float total = 0;
        for (Scored& row : room_.learned_rows) total += sharpened(row.score);
        const SparsePattern& labels = sides_.near.labels;
        for (const Scored& row : room_.learned_rows) {
            for (std::int64_t p = labels.starts[row.label]; p < labels.starts[row.label + 1]; ++p) {
                const std::int32_t label = labels.columns[p];
                if (room_.votes[label] == 0.0f) room_.touched_votes.push_back(label);
                room_.votes[label] += sharpened(row.score) / std::max(total, 1e-9f);
            }
        }
        for (const std::int32_t label : room_.touched_votes) room_.by_votes.push_back({room_.votes[label], label});
        const auto n = std::min<std::size_t>(room_.by_votes.size(), static_cast<std::size_t>(kWorstRank));
        std::partial_sort(room_.by_votes.begin(), room_.by_votes.begin() + n, room_.by_votes.end(), better);
        room_.by_votes.resize(n);
        for (std::size_t i = 0; i < std::min<std::size_t>(n, static_cast<std::size_t>(learned.most_proposed)); ++i)
            candidate(room_.by_votes[i].label);
    }

    // Fills room_.place: where the row lies.
    void place_row() {
        const LearnedSide& learned = sides_.learned;
        room_.place_columns.assign(asked_.rows.columns + begin_, asked_.rows.columns + features_end_);
        room_.place_values.resize(room_.place_columns.size());
        const auto weigh = [&](const float* scale) {
            for (std::size_t i = 0; i < room_.place_values.size(); ++i)
                room_.place_values[i] = static_cast<float>(asked_.rows.values[begin_ + static_cast<std::int64_t>(i)] / length_) * scale[room_.place_columns[i]];
        };
        const auto n = static_cast<std::int64_t>(room_.place_columns.size());
        if (learned.units.dim > 0) {
            room_.units.resize(static_cast<std::size_t>(learned.units.dim));
            weigh(learned.unit_scale);
            kernels().byte_row_times(room_.place_columns.data(), room_.place_values.data(), n, learned.units, room_.units.data());
        }
        weigh(learned.projection_scale);
        for (std::int64_t unit = 0; unit < learned.units.dim; ++unit) {
            const float value = room_.units[unit] + learned.unit_bias[unit];
            if (!(value > 0)) continue;
            const auto column = static_cast<std::int32_t>(sides_.n_features + unit);
            room_.place_columns.push_back(column);
            room_.place_values.push_back(value * learned.projection_scale[column]);
        }
        kernels().byte_row_times(room_.place_columns.data(), room_.place_values.data(), static_cast<std::int64_t>(room_.place_columns.size()),
                                 learned.projection, room_.place.data());
    }

    static float sharpened(float similar) {
        similar = std::min(similar, 1.0f) + 1e-3f;
        for (int i = 0; i < kSharpness; ++i) similar *= similar;
        return similar;
    }

    void fill_learned() {
        if (learned_ == meaning_) return;
        const SparsePattern& labels = sides_.near.labels;
        for (std::size_t i = 0; i < room_.learned_rows.size(); ++i) {
            const Scored row = room_.learned_rows[i];
            for (std::int64_t p = labels.starts[row.label]; p < labels.starts[row.label + 1]; ++p) {
                if (room_.slots[labels.columns[p]] < 0) continue;
                float* columns = candidate(labels.columns[p]) + learned_;
                columns[0] = room_.votes[labels.columns[p]];
                columns[1] = std::max(columns[1], row.score);
                columns[2] += i < kFirstLearned ? 1.0f : 0.0f;
            }
        }
        for (std::size_t i = 0; i < room_.by_votes.size(); ++i) {
            if (room_.slots[room_.by_votes[i].label] >= 0) candidate(room_.by_votes[i].label)[learned_ + 3] = static_cast<float>(i);
        }
        for (const std::int32_t label : room_.touched_votes) room_.votes[label] = 0.0f;
    }

    // Fills room_.similar: what every line of a table has in common with the row.
    void compare(const std::vector<std::int16_t>& query, const ByteTable& lines, float by, const float* scale) {
        room_.similar.resize(static_cast<std::size_t>(lines.n_rows));
        kernels().byte_lines_times(query.data(), lines, by, scale, room_.similar.data());
    }
    void compare(const MeaningSide::Table& table) {
        compare(room_.small_meaning, {table.lines, table.n_lines, sides_.meaning.n_dims}, room_.meaning_scale, table.scale);
    }

    void keep_nearest(TopKHeap& heap) const {
        for (std::size_t row = 0; row < room_.similar.size(); ++row) {
            const float similar = room_.similar[row];
            if (similar > 0 && !(heap.full() && similar < heap.worst())) heap.offer(similar, static_cast<std::int32_t>(row));
        }
    }

    // What a line of a table has in common with the text.
    float similar(const MeaningSide::Table& table, std::int64_t line) const {
        float found;
        kernels().byte_lines_times(room_.small_meaning.data(), {table.lines + line * sides_.meaning.n_dims, 1, sides_.meaning.n_dims},
                                   room_.meaning_scale, table.scale + line, &found);
        return found;
    }

    // The labels with most votes of the texts that mean the most similar, those that the vector tells, and those with similar names.
    void ask_meaning() {
        const MeaningSide& meaning = sides_.meaning;
        room_.touched_meaning.clear();
        room_.meaning_rows.clear();
        room_.by_meaning.clear();
        room_.by_told.clear();
        room_.by_name_meaning.clear();
        room_.meaning_scale = 0;
        if (meaning.n_dims == 0) return;
        float largest = 0, squares = 0;
        for (std::int64_t q = meaning_begin_; q < end_; ++q) {
            largest = std::max(largest, std::fabs(asked_.rows.values[q]));
            squares += asked_.rows.values[q] * asked_.rows.values[q];
        }
        if (!(largest > 0) || !std::isfinite(squares)) return;
        room_.small_meaning.assign(static_cast<std::size_t>(meaning.n_dims), 0);
        for (std::int64_t q = meaning_begin_; q < end_; ++q) {
            const std::int64_t d = asked_.rows.columns[q] - meaning.first_column;
            if (d < meaning.n_dims) room_.small_meaning[d] = static_cast<std::int16_t>(std::lrint(asked_.rows.values[q] / largest * 127));
        }
        room_.meaning_scale = largest / 127 / std::sqrt(squares);
        ask_similar_texts();
        tell_labels(meaning.told, meaning.most_told, room_.told, room_.by_told);
        tell_labels(meaning.names, meaning.most_names, room_.name_meaning, room_.by_name_meaning);
    }

    void ask_similar_texts() {
        const MeaningSide& meaning = sides_.meaning;
        if (room_.meaning_votes.size() < static_cast<std::size_t>(sides_.n_labels)) room_.meaning_votes.resize(sides_.n_labels, 0.0f);
        room_.meaning_rows.resize(meaning.n_near);
        TopKHeap heap(room_.meaning_rows.data(), meaning.n_near);
        compare(meaning.rows);
        keep_nearest(heap);
        room_.meaning_rows.resize(static_cast<std::size_t>(heap.size()));
        heap.sorted();
        float total = 0;
        for (const Scored& row : room_.meaning_rows) total += row.score * row.score;
        const SparsePattern& labels = sides_.near.labels;
        for (const Scored& row : room_.meaning_rows) {
            for (std::int64_t p = labels.starts[row.label]; p < labels.starts[row.label + 1]; ++p) {
                const std::int32_t label = labels.columns[p];
                if (room_.meaning_votes[label] == 0.0f) room_.touched_meaning.push_back(label);
                room_.meaning_votes[label] += row.score * row.score / std::max(total, 1e-9f);
            }
        }
        for (const std::int32_t label : room_.touched_meaning) room_.by_meaning.push_back({room_.meaning_votes[label], label});
        propose_best(room_.by_meaning, meaning.most_rows);
    }

    // What a table with a line for each label says of all of them; the best become candidates.
    void tell_labels(const MeaningSide::Table& table, std::int32_t most_proposed, std::vector<float>& said, std::vector<Scored>& order) {
        if (table.n_lines == 0) return;
        compare(table);
        said.swap(room_.similar);
        for (std::int32_t label = 0; label < sides_.n_labels; ++label)
            if (said[label] > 0) order.push_back({said[label], label});
        propose_best(order, most_proposed);
    }

    // Keeps those that have a rank, best first; the first of them become candidates.
    void propose_best(std::vector<Scored>& order, std::int32_t most_proposed) {
        const auto n = std::min<std::size_t>(order.size(), static_cast<std::size_t>(kWorstRank));
        std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n), order.end(), better);
        order.resize(n);
        for (std::size_t i = 0; i < std::min<std::size_t>(n, static_cast<std::size_t>(most_proposed)); ++i) candidate(order[i].label);
    }

    void fill_meaning() {
        if (meaning_ == n_columns_) return;
        const MeaningSide& meaning = sides_.meaning;
        const SparsePattern& labels = sides_.near.labels;
        for (std::size_t i = 0; i < room_.meaning_rows.size(); ++i) {
            const Scored row = room_.meaning_rows[i];
            for (std::int64_t p = labels.starts[row.label]; p < labels.starts[row.label + 1]; ++p) {
                if (room_.slots[labels.columns[p]] < 0) continue;
                float* columns = candidate(labels.columns[p]) + meaning_;
                columns[0] = room_.meaning_votes[labels.columns[p]];
                columns[1] = std::max(columns[1], row.score);
                columns[2] += i < kFirstLearned ? 1.0f : 0.0f;
            }
        }
        for (const std::int32_t label : room_.touched_meaning) room_.meaning_votes[label] = 0.0f;
        if (room_.meaning_scale == 0) return;
        for (std::size_t slot = 0; slot < room_.labels.size(); ++slot) {
            float* columns = room_.table.data() + slot * n_columns_ + meaning_;
            const std::int32_t label = room_.labels[slot];
            if (meaning.told.n_lines) columns[4] = room_.told[label];
            if (meaning.centres.n_lines) columns[6] = similar(meaning.centres, label);
            if (meaning.names.n_lines) columns[7] = room_.name_meaning[label];
        }
        fill_ranks(room_.by_meaning, 3);
        fill_ranks(room_.by_told, 5);
        fill_ranks(room_.by_name_meaning, 8);
    }

    void fill_ranks(const std::vector<Scored>& order, int column) {
        for (std::size_t i = 0; i < order.size(); ++i) {
            if (room_.slots[order[i].label] >= 0) candidate(order[i].label)[meaning_ + column] = static_cast<float>(i);
        }
    }

    // Adds up the words of all names in the row; the names with the largest promise become candidates.
    void ask_names() {
        const NameSide& names = sides_.names;
        room_.touched_names.clear();
        if (names.word_labels.n_rows == 0) return;
        room_.touched_words.clear();
        for (std::int64_t q = begin_; q < features_end_; ++q) {
            if (asked_.rows.values[q] == 0.0f) continue;
            const std::int32_t column = asked_.rows.columns[q];
            for (std::int64_t p = names.column_words.starts[column]; p < names.column_words.starts[column + 1]; ++p) {
                const std::int32_t word = names.column_words.columns[p];
                if (room_.word_values[word] == 0.0f) room_.touched_words.push_back(word);
                room_.word_values[word] += std::max(std::fabs(asked_.rows.values[q]), 1e-6f);
            }
        }
        for (const std::int32_t word : room_.touched_words) {
            const float value = room_.word_values[word];
            room_.word_values[word] = 0.0f;
            for (std::int64_t p = names.word_labels.starts[word]; p < names.word_labels.starts[word + 1]; ++p) {
                const std::int32_t label = names.word_labels.columns[p];
                const float share = names.word_labels.values[p];
                if (room_.shares[label] == 0.0f) room_.touched_names.push_back(label);
                room_.shares[label] += share;
                room_.strengths[label] += value * share;
            }
        }
        room_.order.clear();
        for (const std::int32_t label : room_.touched_names) {
            const float share = room_.shares[label];
            if (share >= names.smallest_share) room_.order.push_back({share + names.right[label], label});
        }
        const auto n = std::min<std::size_t>(room_.order.size(), static_cast<std::size_t>(names.most_proposed));
        std::partial_sort(room_.order.begin(), room_.order.begin() + n, room_.order.end(), better);
        for (std::size_t i = 0; i < n; ++i) candidate(room_.order[i].label);
    }

    void ask_phrases() {
        if (sides_.phrase_right == nullptr || said_begin_ >= meaning_begin_) return;
        // Every block holds the same labels, in the same order.
        const std::int64_t n = (meaning_begin_ - said_begin_) / 3;
        for (std::int64_t i = said_begin_; i < said_begin_ + n; ++i) {
            const std::int64_t label = asked_.rows.columns[i] - asked_.first_said;
            if (label < 0 || label >= sides_.n_labels) continue;
            float* columns = candidate(static_cast<std::int32_t>(label)) + phrases_;
            columns[0] = asked_.rows.values[i];
            columns[1] = asked_.rows.values[i + n] - 1.0f;
            columns[2] = std::log1p(asked_.rows.values[i + 2 * n] - 1.0f);
            columns[3] = sides_.phrase_right[label];
        }
    }

    // Adds up the runs of characters of all names in the text; the largest shares and cosines become candidates.
    void ask_letters() {
        const LetterSide& letters = sides_.letters;
        room_.touched_letters.clear();
        room_.by_share.clear();
        room_.by_cosine.clear();
        if (letters.labels.n_rows == 0) return;
        const std::int32_t* columns = asked_.rows.columns;
        std::int64_t q = std::lower_bound(columns + features_end_, columns + said_begin_, letters.first_column) - columns;
        for (; q < said_begin_ && columns[q] < letters.first_column + letters.labels.n_rows; ++q) {
            const std::int64_t run = columns[q] - letters.first_column;
            const float value = asked_.rows.values[q];
            for (std::int64_t p = letters.labels.starts[run]; p < letters.labels.starts[run + 1]; ++p) {
                const std::int32_t label = letters.labels.columns[p];
                const float weight = letters.labels.values[p];
                if (room_.letter_shares[label] == 0.0f) room_.touched_letters.push_back(label);
                room_.letter_shares[label] += weight * weight;
                room_.cosines[label] += value * weight;
            }
        }
        for (const std::int32_t label : room_.touched_letters) {
            if (room_.letter_shares[label] < letters.least_share) continue;
            room_.by_share.push_back({room_.letter_shares[label], label});
            room_.by_cosine.push_back({room_.cosines[label], label});
        }
        for (std::vector<Scored>* order : {&room_.by_share, &room_.by_cosine}) {
            const auto n = std::min<std::size_t>(order->size(), static_cast<std::size_t>(kWorstRank));
            std::partial_sort(order->begin(), order->begin() + n, order->end(), better);
            order->resize(n);
            for (std::size_t i = 0; i < std::min<std::size_t>(n, static_cast<std::size_t>(letters.most_proposed)); ++i)
                candidate((*order)[i].label);
        }
    }

    void fill_letters() {
        for (const std::int32_t label : room_.touched_letters) {
            if (room_.slots[label] >= 0 && room_.letter_shares[label] >= sides_.letters.least_share) {
                float* columns = candidate(label) + letters_;
                columns[0] = room_.letter_shares[label];
                columns[1] = room_.cosines[label];
            }
            room_.letter_shares[label] = room_.cosines[label] = 0.0f;
        }
        for (std::size_t i = 0; i < room_.by_share.size(); ++i) {
            if (room_.slots[room_.by_share[i].label] >= 0) candidate(room_.by_share[i].label)[letters_ + 2] = static_cast<float>(i);
            if (room_.slots[room_.by_cosine[i].label] >= 0) candidate(room_.by_cosine[i].label)[letters_ + 3] = static_cast<float>(i);
        }
    }

    // Adds up the companions of the first model's best answers; the strongest become candidates.
    void ask_companions() {
        const BesideSide& beside = sides_.beside;
        room_.touched_beside.clear();
        for (std::int32_t rank = 0; rank < std::min(beside.n_sure, asked_.width) && labels_[rank] >= 0; ++rank) {
            const float score = std::max(scores_[rank], 1e-6f);
            const std::int32_t label = labels_[rank];
            for (std::int64_t p = beside.shares.starts[label]; p < beside.shares.starts[label + 1]; ++p) {
                const std::int32_t companion = beside.shares.columns[p];
                if (room_.beside_sums[companion] == 0.0f) room_.touched_beside.push_back(companion);
                room_.beside_sums[companion] += score * beside.shares.values[p];
            }
        }
        room_.order.clear();
        for (const std::int32_t label : room_.touched_beside) room_.order.push_back({room_.beside_sums[label], label});
        const auto n = std::min<std::size_t>(room_.order.size(), static_cast<std::size_t>(beside.most_proposed));
        std::partial_sort(room_.order.begin(), room_.order.begin() + n, room_.order.end(), better);
        for (std::size_t i = 0; i < n; ++i) candidate(room_.order[i].label);
    }

    void fill_names() {
        const NameSide& names = sides_.names;
        room_.order.clear();
        for (const std::int32_t label : room_.touched_names) {
            const float share = room_.shares[label];
            if (share < names.least_share) continue;
            room_.order.push_back({share * names.mass[label], label});
            if (room_.slots[label] < 0) continue;
            float* columns = candidate(label) + names_;
            columns[0] = share;
            columns[1] = room_.strengths[label];
            columns[2] = share >= names.whole ? names.right[label] : kNotWhole;
            columns[3] = share >= names.whole ? names.matched[label] : kNotWhole;
            columns[4] = names.mass[label];
            columns[5] = names.words[label];
        }
        const auto n = std::min<std::size_t>(room_.order.size(), static_cast<std::size_t>(kWorstRank));
        std::partial_sort(room_.order.begin(), room_.order.begin() + n, room_.order.end(), better);
        for (std::size_t i = 0; i < n; ++i) {
            if (room_.slots[room_.order[i].label] >= 0) candidate(room_.order[i].label)[names_ + 6] = static_cast<float>(i);
        }
        for (const std::int32_t label : room_.touched_names) room_.shares[label] = room_.strengths[label] = 0.0f;
    }

    void fill_companions() {
        for (const std::int32_t label : room_.touched_beside) {
            if (room_.slots[label] >= 0) candidate(label)[beside_] = room_.beside_sums[label];
            room_.beside_sums[label] = 0.0f;
        }
    }

    // What is known without a side.
    void finish() {
        const std::int32_t plain = beside_ + 1;
        const std::size_t n = room_.labels.size();
        room_.closest = closest_;
        for (std::size_t slot = 0; slot < n; ++slot) {
            float* columns = room_.table.data() + slot * n_columns_;
            columns[plain] = sides_.label_rows[room_.labels[slot]];
            columns[plain + 1] = static_cast<float>(n_features_);
            float n_sides = (columns[near_] > 0) + (columns[names_] > 0 && columns[names_] >= sides_.names.smallest_share);
            for (std::int32_t m = 0; m < asked_.n_models; ++m) {
                columns[plain + 2 + m] = best_[m];
                n_sides += columns[3 * m] > 0;
            }
            columns[plain + 2 + asked_.n_models] = closest_;
            columns[plain + 3 + asked_.n_models] = n_sides;
            room_.slots[room_.labels[slot]] = -1;
        }
    }

    const Sides& sides_;
    const AskedRows& asked_;
    CandidateRoom& room_;
    const std::int32_t n_columns_, near_, names_, phrases_, letters_, beside_, meaning_, learned_;  // where the columns of each side begin
    const std::int32_t* labels_;
    const float* scores_;
    std::int64_t begin_, end_, meaning_begin_, features_end_, said_begin_;
    std::int64_t n_features_ = 0;
    double length_ = 1;
    float closest_ = 0.0f;
    std::vector<float> missing_, best_;
};

}  // namespace

void gather_candidates(const Sides& sides, const AskedRows& asked, std::int64_t row, CandidateRoom& room) {
    Gatherer(sides, asked, row, room).run();
}

void look_again(const BesideSide& beside, const std::int32_t* labels, const float* chances, std::int64_t n, CandidateRoom& room, float* columns) {
    constexpr std::size_t kLikeliest = 10, kOneByOne = 3;
    room.order.resize(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) {
        room.order[i] = {chances[i], labels[i]};
        room.slots[labels[i]] = static_cast<std::int32_t>(i);
    }
    std::sort(room.order.begin(), room.order.end(), better);  // sums do not depend on the order of the candidates
    float total = 0;
    for (const Scored& one : room.order) total += one.score;
    const std::size_t n_likely = std::min(kLikeliest, room.order.size());
    for (std::size_t rank = 0; rank < room.order.size(); ++rank) {
        float* known = columns + static_cast<std::int64_t>(room.slots[room.order[rank].label]) * kSecondColumns;
        known[0] = room.order[rank].score;
        known[1] = std::min(static_cast<float>(rank), kWorstRank);
        known[2] = 0.0f;
        for (std::size_t i = 0; i < kOneByOne; ++i) known[3 + i] = i == rank || i >= n_likely ? -1.0f : 0.0f;
        known[6] = room.order[0].score;
        known[7] = total;
    }
    for (std::size_t i = 0; i < n_likely; ++i) {
        const Scored likely = room.order[i];
        for (std::int64_t p = beside.shares.starts[likely.label]; p < beside.shares.starts[likely.label + 1]; ++p) {
            const std::int32_t slot = room.slots[beside.shares.columns[p]];
            if (slot < 0 || beside.shares.columns[p] == likely.label) continue;
            float* known = columns + static_cast<std::int64_t>(slot) * kSecondColumns;
            known[2] += likely.score * beside.shares.values[p];
            if (i < kOneByOne) known[3 + i] = beside.shares.values[p];
        }
    }
    for (std::int64_t i = 0; i < n; ++i) room.slots[labels[i]] = -1;
}

}  // namespace lw
