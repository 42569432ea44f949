// What every side says about the labels that it proposes for a row, as one table of candidates for the ranker.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "models/ensemble/byte_table.hpp"
#include "sparse_rows.hpp"
#include "topk.hpp"

namespace lw {

// Training rows by column, and the labels of each. The rows of a column rise. Each is kept as the number of rows that it leaves out
// behind the one before it, seven bits a byte, the lowest first; the highest bit of a byte says that another one follows.
struct NearSide {
    const std::int64_t* starts;       // (n_features + 1): the first entry of each column
    const std::int64_t* code_starts;  // the first byte of each column's codes
    const std::uint8_t* codes;
    const std::int8_t* values;        // of every entry, times the scale of its column
    const float* scale;
    SparsePattern labels;
    std::int32_t n_near;              // the most similar rows that are asked
    std::int64_t most_postings;       // entries that a search reads, those of the rarest columns
};

// The number that begins at a byte of such codes, which moves behind it.
inline std::int64_t next_code(const std::uint8_t*& code) {
    std::int64_t number = *code & 0x7f;
    for (int shift = 7; *code++ & 0x80; shift += 7) number |= static_cast<std::int64_t>(*code & 0x7f) << shift;
    return number;
}

// Training rows in a space where rows with the same labels lie together. No dimensions: there is none.
// A row is placed by its features and, if there are some, by units that see its features and are cut off at 0.
struct LearnedSide {
    ByteTable units;                      // (n_features, n_units), times the scale of the feature; n_units 0: none
    const float *unit_scale, *unit_bias;
    ByteTable projection;                 // (n_features + n_units, n_dims), times the scale of the feature or unit
    const float* projection_scale;
    const std::int8_t* rows;              // (n_rows, n_dims), times the scale of the row: vectors of length 1
    const float* row_scale;
    std::int32_t n_near, most_proposed;   // the nearest rows that are asked, the labels with most votes that are proposed
};

// Dense vectors of texts: what a text means, in the last columns of a row. n_dims 0: there are none. Every table is in bytes, each
// line times its scale; a line stands for a vector of length 1, but those of `told` for the weights of a regression.
struct MeaningSide {
    struct Table {
        const std::int8_t* lines;  // (n_lines, n_dims)
        const float* scale;
        std::int64_t n_lines;      // 0: the table is not there
    };
    Table rows;                    // of training texts
    Table told, centres, names;    // of every label: the weights that tell it, the mean of its texts, its name
    std::int64_t first_column;
    std::int32_t n_dims;
    std::int32_t n_near, most_rows, most_told, most_names;  // nearest texts that are asked; labels that each part proposes
};

// Words of label names: which columns of a row say them, and what share of each name they are. n_words 0: no names.
struct NameSide {
    SparsePattern column_words;
    SparseRows word_labels;
    const float *mass, *words, *right, *matched;  // of every label
    float least_share, smallest_share, whole;     // to be a sign, to be proposed, to be a whole name
    std::int32_t most_proposed;
};

// Runs of characters of label names: a view of the texts has a column for each. n_rows of `labels` 0: there are none.
struct LetterSide {
    SparseRows labels;           // of every run the labels and its weights in their names: rows of length 1 for a label
    std::int64_t first_column;   // of the view
    float least_share;           // of a name's squared weights that must be in the text to be a sign
    std::int32_t most_proposed;  // by the share, and as many by the cosine
};

// The companions of every label.
struct BesideSide {
    SparseRows shares;
    std::int32_t n_sure, most_proposed;
};

struct Sides {
    NearSide near;
    LearnedSide learned;
    MeaningSide meaning;
    NameSide names;
    LetterSide letters;
    BesideSide beside;
    const float* phrase_right;  // of every label: how often a name in the text was right; null without texts
    const float* label_rows;    // of every label: log(1 + its training rows)
    const float* favour;        // of every label: what its chance is multiplied with; null: 1
    std::int32_t n_features, n_labels;
};

// Rows with features in the columns below n_features, and from first_said on, if there are texts, three blocks of n_labels
// columns: how often a name stands in the text, how often outside a longer one + 1, the place of its first word + 1. Columns
// rise; a feature that is 0 says nothing. labels and scores (n_rows, n_models, width): what the models answer, best first,
// -1 padded.
struct AskedRows {
    SparseRows rows;
    std::int64_t first_said;
    const std::int32_t* labels;
    const float* scores;
    std::int32_t n_models, width;
};

// Columns of the table: of each model score, rank, share of the best; of similar rows votes, closest, first five; of the
// words of names share, strength, right, matched, mass, words, rank; of names in the text times, alone, first, right; of the
// characters of names share, cosine and the ranks by both; beside; label rows; of the row features, best score of each model, closest row; the sides that name the label. Last, if there is a
// learned space: votes of its nearest rows, closest, first ten, rank by votes. Behind that, if texts have dense vectors: the same
// four of their nearest texts, what the regression tells and its rank, cosine to the centre, cosine to the name and its rank.
inline constexpr std::int32_t kLearnedColumns = 4, kMeaningColumns = 9;
inline std::int32_t n_table_columns(std::int32_t n_models, const Sides& sides) {
    return 4 * n_models + 23 + (sides.learned.projection.dim > 0 ? kLearnedColumns : 0) +
           (sides.meaning.n_dims > 0 ? kMeaningColumns : 0);
}

// Memory for one row after another; every array is back to 0 (slots: -1) between two rows.
struct CandidateRoom {
    std::vector<float> near_sums, votes, place, shares, strengths, letter_shares, cosines, beside_sums, word_values;
    std::vector<std::int32_t> slots;
    std::vector<std::int32_t> touched_rows, touched_words, touched_names, touched_letters, touched_beside, touched_votes;
    std::vector<float> units, place_values;
    std::vector<std::int32_t> place_columns;
    std::vector<std::int16_t> small_place;  // whole numbers from -127 to 127
    std::vector<float> similar;            // of every line of a table to the row
    std::vector<Scored> learned_rows, by_votes;
    std::vector<Scored> meaning_rows, by_meaning, by_told, by_name_meaning;
    std::vector<float> meaning_votes, told, name_meaning;
    std::vector<std::int32_t> touched_meaning;
    std::vector<std::int16_t> small_meaning;
    float meaning_scale = 0;  // of small_meaning; 0: the text says nothing
    std::vector<Scored> best, order, by_share, by_cosine;
    std::vector<std::int32_t> labels;  // the candidates of the last row
    float closest = 0;                 // the cosine of its most similar training row
    std::vector<float> table;          // (n candidates, n columns)
    std::vector<std::int32_t> items;
    std::vector<std::pair<std::int64_t, std::int64_t>> rare_first;  // entries of a feature's column, the feature's place
    std::vector<double> sums, second_sums;
    std::vector<float> shown;               // the table of the candidates that are looked at twice
    std::vector<std::int32_t> places;
    std::vector<float> chances, second;  // what a first ranker gives each candidate; what these chances say of each
};

// Fills room.labels, in no order, room.table and room.closest with the candidates of one row.
void gather_candidates(const Sides& sides, const AskedRows& asked, std::int64_t row, CandidateRoom& room);

// Columns that the chances of a row's candidates by a first ranker give each of them: chance, rank, the shares of the ten
// likeliest labels' rows that have it, times their chances, added up; the shares of the three likeliest one by one (-1: it is
// this label, or there is none); the largest chance, the sum of all.
inline constexpr std::int32_t kSecondColumns = 8;

// Fills columns (n, kSecondColumns) for n different labels; room.slots must have room for all labels.
void look_again(const BesideSide& beside, const std::int32_t* labels, const float* chances, std::int64_t n, CandidateRoom& room, float* columns);

}  // namespace lw
