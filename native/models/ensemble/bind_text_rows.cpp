// What the sides see of texts, for Python: features, the columns of views, and where label names stand.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <stdexcept>

#include "bind/bind.hpp"
#include "features/tfidf.hpp"
#include "features/bind_vocabulary.hpp"
#include "models/ensemble/name_finder.hpp"
#include "parallel.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

template <class T>
using Array = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

void need(bool fits, const char* what) {
    if (!fits) throw std::invalid_argument(what);
}

template <class T>
Array<T> give(std::unique_ptr<T[]> values, std::size_t size) {
    T* data = values.release();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return Array<T>(data, {size}, owner);
}

// A view of texts: tf-idf with rows of length 1, of which only the largest values stay.
struct View {
    nb::object kept_rules, kept_tokens;
    const TokenRules* rules;
    const TokenTable* tokens;
    In<double> idf;
    std::size_t most_of_row;
};

// The part of a row that one view gives: columns rise.
struct Entry {
    std::int32_t column;
    float value;
};

class TextRows {
public:
    explicit TextRows(std::int32_t n_features) : n_features_(n_features) { need(n_features >= 0, "the number of features is below 0"); }

    void view(nb::object rules, nb::object vocabulary, In<double> idf, std::int32_t most_of_row) {
        const auto* tokens = &nb::cast<const Vocabulary&>(vocabulary).table;
        need(idf.size() == tokens->size(), "a view has a weight for each token");
        need(most_of_row >= 1, "a row of a view keeps a token");
        views_.push_back({rules, vocabulary, &nb::cast<const TokenRules&>(rules), tokens, idf, static_cast<std::size_t>(most_of_row)});
    }

    void names(nb::tuple phrases, In<std::int64_t> starts, In<std::int32_t> labels, std::int32_t n_labels) {
        const Texts words = texts_of(phrases);
        need(std::all_of(labels.data(), labels.data() + labels.size(), [&](std::int32_t label) { return 0 <= label && label < n_labels; }),
             "no such label");
        finder_.emplace(words, std::vector<std::int64_t>(starts.data(), starts.data() + starts.size()),
                        std::vector<std::int32_t>(labels.data(), labels.data() + labels.size()));
        n_labels_ = n_labels;
    }

    // (row pointers, columns, values) of features beside what the texts say.
    nb::tuple rows(In<std::int64_t> starts, In<std::int32_t> columns, In<float> values, nb::tuple texts, int n_threads) const {
        const Texts seen = texts_of(texts);
        const auto n_rows = static_cast<std::int64_t>(seen.size());
        need(static_cast<std::int64_t>(starts.size()) == n_rows + 1, "every row has a text");
        need(columns.size() == values.size(), "a value for each column");
        for (std::int64_t row = 0; row < n_rows; ++row) need(starts.data()[row] <= starts.data()[row + 1], "row pointers rise");
        need(starts.data()[0] == 0 && starts.data()[n_rows] == static_cast<std::int64_t>(columns.size()), "row pointers do not fit the columns");
        std::vector<std::vector<Entry>> said(seen.size());
        std::vector<std::int64_t> pointers(seen.size() + 1, 0);
        {
            WithoutGil released;
            fill(seen, n_threads, said);
        }
        for (std::size_t row = 0; row < said.size(); ++row)
            pointers[row + 1] = pointers[row] + starts.data()[row + 1] - starts.data()[row] + static_cast<std::int64_t>(said[row].size());
        const auto size = static_cast<std::size_t>(pointers.back());
        auto all_columns = std::make_unique_for_overwrite<std::int32_t[]>(size);
        auto all_values = std::make_unique_for_overwrite<float[]>(size);
        for (std::size_t row = 0; row < said.size(); ++row) {
            std::int64_t at = pointers[row];
            for (std::int64_t p = starts.data()[row]; p < starts.data()[row + 1]; ++p, ++at) {
                all_columns[at] = columns.data()[p];
                all_values[at] = values.data()[p];
            }
            for (const Entry& entry : said[row]) {
                all_columns[at] = entry.column;
                all_values[at++] = entry.value;
            }
        }
        auto all_starts = std::make_unique_for_overwrite<std::int64_t[]>(pointers.size());
        std::copy(pointers.begin(), pointers.end(), all_starts.get());
        return nb::make_tuple(give(std::move(all_starts), pointers.size()), give(std::move(all_columns), size), give(std::move(all_values), size));
    }

private:
    void fill(const Texts& texts, int n_threads, std::vector<std::vector<Entry>>& said) const {
        const auto n_rows = static_cast<std::int64_t>(texts.size());
        std::int32_t first = n_features_;
        for (const View& view : views_) {
            const CountRows counted = look_up_tokens(texts, *view.rules, *view.tokens, n_threads);
            std::vector<float> values(static_cast<std::size_t>(counted.pointers.back()));
            weigh_rows(n_rows, counted.pointers.data(), counted.columns.get(), counted.counts.get(), view.idf.data(), true, Norm::l2,
                       n_threads, values.data());
            parallel_for(n_rows, n_threads, 64, [&](std::int64_t row, int) {
                append_largest(counted, values.data(), row, first, view.most_of_row, said[static_cast<std::size_t>(row)]);
            });
            first += static_cast<std::int32_t>(view.tokens->size());
        }
        if (finder_) find_names(texts, first, n_threads, said);
    }

    // Appends a row of a view, without all but its largest values; of equal ones the smaller columns stay.
    static void append_largest(const CountRows& rows, const float* values, std::int64_t row, std::int32_t first, std::size_t n, std::vector<Entry>& to) {
        const std::size_t begin = to.size();
        for (std::int64_t p = rows.pointers[row]; p < rows.pointers[row + 1]; ++p) to.push_back({first + rows.columns[p], values[p]});
        if (to.size() - begin <= n) return;
        const auto larger = [](const Entry& a, const Entry& b) { return a.value != b.value ? a.value > b.value : a.column < b.column; };
        std::nth_element(to.begin() + begin, to.begin() + begin + n, to.end(), larger);
        to.resize(begin + n);
        std::sort(to.begin() + begin, to.end(), [](const Entry& a, const Entry& b) { return a.column < b.column; });
    }

    // Appends three blocks of a column for each label: times, times alone + 1, place of the first word + 1.
    void find_names(const Texts& texts, std::int32_t first, int n_threads, std::vector<std::vector<Entry>>& said) const {
        std::deque<NameFinder::Room> rooms;
        for (int t = 0; t < (n_threads < 1 ? max_threads() : n_threads); ++t) rooms.emplace_back(*finder_);
        parallel_for(static_cast<std::int64_t>(texts.size()), n_threads, 16, [&](std::int64_t row, int thread) {
            NameFinder::Room& room = rooms[static_cast<std::size_t>(thread)];
            finder_->find(texts[static_cast<std::size_t>(row)], room);
            std::vector<Entry>& to = said[static_cast<std::size_t>(row)];
            for (const FoundName& name : room.found) to.push_back({first + name.label, name.times});
            for (const FoundName& name : room.found) to.push_back({first + n_labels_ + name.label, name.alone + 1});
            for (const FoundName& name : room.found) to.push_back({first + 2 * n_labels_ + name.label, name.first + 1});
        });
    }

    std::int32_t n_features_, n_labels_ = 0;
    std::vector<View> views_;
    std::optional<NameFinder> finder_;
};

}  // namespace

void bind_text_rows(nb::module_& m) {
    nb::class_<TextRows>(m, "TextRows", "What the sides see of texts: features, the columns of views, where label names stand.")
        .def(nb::init<std::int32_t>(), "n_features"_a)
        .def("view", &TextRows::view, "rules"_a, "vocabulary"_a, "idf"_a, "most_of_row"_a, "One more view, behind those before.")
        .def("names", &TextRows::names, "phrases"_a, "starts"_a, "labels"_a, "n_labels"_a, "The names of labels, words with blanks between.")
        .def("rows", &TextRows::rows, "starts"_a, "columns"_a, "values"_a, "texts"_a, "n_threads"_a,
             "(row pointers, columns, values) of features beside what the texts say.");
}

}  // namespace lw
