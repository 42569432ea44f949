// Bindings of the tokenizer: texts in, counts and tf-idf values out.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "bind/bind.hpp"
#include "features/merge_counts.hpp"
#include "features/tfidf.hpp"
#include "features/tokens.hpp"
#include "features/unicode.hpp"
#include "features/unicode_tables.hpp"
#include "features/bind_vocabulary.hpp"
#include "parallel.hpp"

namespace nb = nanobind;

namespace lw {
namespace {

template <class T>
using Array = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
using Rows = std::tuple<Array<std::int64_t>, Array<std::int32_t>, Array<std::int32_t>>;

template <class T>
Array<T> give(std::vector<T>&& values) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return Array<T>(kept->data(), {kept->size()}, owner);
}

template <class T>
Array<T> give(std::unique_ptr<T[]> values, std::size_t size) {
    T* data = values.release();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return Array<T>(data, {size}, owner);
}

Rows give(CountRows&& rows) {
    const auto size = rows.pointers.empty() ? std::size_t{0} : static_cast<std::size_t>(rows.pointers.back());
    return {give(std::move(rows.pointers)), give(std::move(rows.columns), size), give(std::move(rows.counts), size)};
}

Analyzer analyzer_named(const std::string& name) {
    if (name == "word") return Analyzer::word;
    if (name == "char") return Analyzer::chars;
    if (name == "char_wb") return Analyzer::chars_in_words;
    throw std::invalid_argument("unknown analyzer " + name);
}

Norm norm_named(const std::string& name) {
    if (name == "none") return Norm::none;
    if (name == "l1") return Norm::l1;
    if (name == "l2") return Norm::l2;
    throw std::invalid_argument("unknown norm " + name);
}

// Calls with(i, key) for every token of a list kept as bytes and offsets, after checking the offsets.
template <class With>
void each_token(const In<std::uint8_t>& bytes, const In<std::int64_t>& offsets, With&& with) {
    const std::int64_t* at = offsets.data();
    const std::size_t n = offsets.shape(0);
    if (n == 0 || at[0] != 0 || at[n - 1] != static_cast<std::int64_t>(bytes.shape(0))) {
        throw std::invalid_argument("token offsets must go from 0 to the number of bytes");
    }
    const char* data = reinterpret_cast<const char*>(bytes.data());
    for (std::size_t i = 1; i < n; ++i) {
        if (at[i] < at[i - 1] || at[i] > at[n - 1]) throw std::invalid_argument("token offsets must ascend");
    }
    ReadableCopy copy;
    Pulse pulse;
    for (std::size_t i = 0; i + 1 < n; ++i) {
        pulse.beat();
        with(i, TokenKey::of(copy.of({data + at[i], static_cast<std::size_t>(at[i + 1] - at[i])})));
    }
}

void bind_classes(nb::module_& m) {
    nb::class_<TokenRules>(m, "TokenRules", "How texts are cut into tokens.")
        .def(
            "__init__",
            [](TokenRules* self, const std::string& analyzer, int min_n, int max_n, bool lowercase, int min_length,
               const std::vector<std::string>& stop_words) {
                new (self) TokenRules(analyzer_named(analyzer), min_n, max_n, lowercase, min_length);
                ReadableCopy copy;
                for (const std::string& word : stop_words) self->stop_words.find_or_add(TokenKey::of(copy.of(word)));
            },
            nb::kw_only(), nb::arg("analyzer"), nb::arg("min_n"), nb::arg("max_n"), nb::arg("lowercase"), nb::arg("min_length"),
            nb::arg("stop_words"));
    nb::class_<Vocabulary>(m, "Vocabulary", "Tokens by number, for fast look-up; does not change.")
        .def(
            "__init__",
            [](Vocabulary* self, const In<std::uint8_t>& bytes, const In<std::int64_t>& offsets) {
                Vocabulary made;
                each_token(bytes, offsets, [&](std::size_t i, const TokenKey& token) {
                    if (made.table.find_or_add(token) != i) throw std::invalid_argument("token " + std::to_string(i) + " comes twice");
                });
                new (self) Vocabulary(std::move(made));
            },
            nb::arg("bytes"), nb::arg("offsets"))
        .def("__len__", [](const Vocabulary& self) { return self.table.size(); })
        .def(
            "find",
            [](const Vocabulary& self, const In<std::uint8_t>& bytes, const In<std::int64_t>& offsets) {
                std::vector<std::int64_t> ids;
                each_token(bytes, offsets, [&](std::size_t, const TokenKey& token) {
                    const std::uint32_t id = self.table.find(token);
                    ids.push_back(id == TokenTable::kNone ? -1 : static_cast<std::int64_t>(id));
                });
                return give(std::move(ids));
            },
            nb::arg("bytes"), nb::arg("offsets"), "The number of every token, -1 for unknown ones.")
        .def(
            "find_words",
            [](const Vocabulary& self, const nb::list& words) {
                std::vector<std::int32_t> ids;
                ReadableCopy copy;
                for (const std::string_view word : texts_of(nb::tuple(words))) {
                    const std::uint32_t id = self.table.find(TokenKey::of(copy.of(word)));
                    ids.push_back(id == TokenTable::kNone ? -1 : static_cast<std::int32_t>(id));
                }
                return give(std::move(ids));
            },
            nb::arg("words"), "The number of every word of a list, -1 for unknown ones.");
}

void bind_counting(nb::module_& m) {
    m.def(
        "count_tokens",
        [](const nb::tuple& texts, const TokenRules& rules, double min_rows, double max_rows, std::int64_t max_tokens, bool want_totals,
           bool want_rows, int n_threads) {
            const Texts seen = texts_of(texts);
            CountRows rows;
            CountedTokens tokens;
            {
                WithoutGil released;
                tokens = count_tokens(seen, rules, {min_rows, max_rows, max_tokens, want_totals}, n_threads, want_rows ? &rows : nullptr);
            }
            std::vector<std::uint8_t> bytes(tokens.bytes.begin(), tokens.bytes.end());
            return std::make_tuple(give(std::move(bytes)), give(std::move(tokens.offsets)), give(std::move(tokens.n_rows)),
                                   give(std::move(tokens.totals)), tokens.n_seen, give(std::move(rows)));
        },
        nb::arg("texts"), nb::arg("rules"), nb::kw_only(), nb::arg("min_rows"), nb::arg("max_rows"), nb::arg("max_tokens"),
        nb::arg("want_totals"), nb::arg("want_rows"), nb::arg("n_threads"),
        "The tokens of the texts and their counts: (token bytes, token offsets, rows with the token, occurrences, number of "
        "different tokens before the limits, (row pointers, columns, counts)). max_tokens 0 and n_threads 0: no limit.");
    m.def(
        "look_up_tokens",
        [](const nb::tuple& texts, const TokenRules& rules, const Vocabulary& vocabulary, int n_threads) {
            const Texts seen = texts_of(texts);
            CountRows rows;
            {
                WithoutGil released;
                rows = look_up_tokens(seen, rules, vocabulary.table, n_threads);
            }
            return give(std::move(rows));
        },
        nb::arg("texts"), nb::arg("rules"), nb::arg("vocabulary"), nb::arg("n_threads"),
        "Counts of the tokens that the vocabulary knows: (row pointers, columns, counts).");
    m.def(
        "hash_tokens",
        [](const nb::tuple& texts, const TokenRules& rules, std::uint32_t n_buckets, int n_threads) {
            if (n_buckets < 1 || n_buckets > 0x7fffffffu) throw std::invalid_argument("n_buckets must be from 1 to 2^31 - 1");
            const Texts seen = texts_of(texts);
            CountRows rows;
            {
                WithoutGil released;
                rows = hash_tokens(seen, rules, n_buckets, n_threads);
            }
            return give(std::move(rows));
        },
        nb::arg("texts"), nb::arg("rules"), nb::arg("n_buckets"), nb::arg("n_threads"),
        "Counts of the tokens in columns hash % n_buckets: (row pointers, columns, counts).");
    m.def(
        "merge_counts",
        [](const In<std::int64_t>& pointers, const In<std::int32_t>& columns, const In<std::int32_t>& counts,
           const In<std::int32_t>& column_of, std::int32_t n_columns, int n_threads) {
            const std::size_t n = pointers.shape(0);
            const std::int64_t* at = pointers.data();
            if (n == 0 || at[0] != 0 || at[n - 1] != static_cast<std::int64_t>(columns.shape(0)) || columns.shape(0) != counts.shape(0) ||
                !std::is_sorted(at, at + n)) {
                throw std::invalid_argument("merge_counts: row pointers must ascend from 0 to the number of entries");
            }
            CountRows merged;
            {
                WithoutGil released;
                merged = merge_counts(static_cast<std::int64_t>(n) - 1, at, columns.data(), counts.data(),
                                      static_cast<std::int64_t>(column_of.shape(0)), column_of.data(), n_columns, n_threads);
            }
            return give(std::move(merged));
        },
        nb::arg("pointers"), nb::arg("columns"), nb::arg("counts"), nb::arg("column_of"), nb::arg("n_columns"), nb::arg("n_threads"),
        "Counts with every column moved to column_of[column] (-1: left out); those of a row that meet are added up.");
    m.def(
        "token_strings",
        [](const In<std::uint8_t>& bytes, const In<std::int64_t>& offsets, const In<std::int64_t>& places) {
            const std::int64_t* at = offsets.data();
            const auto n_bytes = static_cast<std::int64_t>(bytes.shape(0)), n_tokens = static_cast<std::int64_t>(offsets.shape(0)) - 1;
            nb::list words;
            for (std::size_t i = 0; i < places.shape(0); ++i) {
                const std::int64_t place = places.data()[i];
                if (place < 0 || place >= n_tokens || at[place] < 0 || at[place] > at[place + 1] || at[place + 1] > n_bytes) {
                    throw std::invalid_argument("token_strings: there is no token " + std::to_string(place));
                }
                words.append(nb::str(reinterpret_cast<const char*>(bytes.data()) + at[place], static_cast<std::size_t>(at[place + 1] - at[place])));
            }
            return words;
        },
        nb::arg("bytes"), nb::arg("offsets"), nb::arg("places"), "The tokens at some places as a list of str.");
    m.def(
        "distinct_tokens",
        [](const In<std::uint8_t>& bytes, const In<std::int64_t>& offsets) {
            TokenTable table;
            std::vector<std::int32_t> place_of;
            std::vector<std::int64_t> first;
            each_token(bytes, offsets, [&](std::size_t i, const TokenKey& token) {
                const std::uint32_t id = table.find_or_add(token);
                if (id == first.size()) first.push_back(static_cast<std::int64_t>(i));
                place_of.push_back(static_cast<std::int32_t>(id));
            });
            const std::vector<std::uint32_t> ids = in_byte_order(table);
            std::vector<std::int32_t> rank(ids.size());
            std::vector<std::int64_t> places(ids.size());
            for (std::size_t i = 0; i < ids.size(); ++i) {
                rank[ids[i]] = static_cast<std::int32_t>(i);
                places[i] = first[ids[i]];
            }
            for (std::int32_t& place : place_of) place = rank[static_cast<std::size_t>(place)];
            return std::make_tuple(give(std::move(places)), give(std::move(place_of)));
        },
        nb::arg("bytes"), nb::arg("offsets"),
        "Different tokens in ascending order of their bytes: (where each first comes, the number of every token among them).");
    m.def(
        "split_text",
        [](const nb::str& text, const TokenRules& rules) {
            Splitter splitter(rules);
            const Texts seen = texts_of(nb::make_tuple(text));
            nb::list tokens;
            splitter.split(seen[0], [&](const TokenKey& token) { tokens.append(nb::str(token.bytes, token.length)); });
            return tokens;
        },
        nb::arg("text"), nb::arg("rules"), "The tokens of one text.");
}

}  // namespace

void bind_tokens(nb::module_& m) {
    bind_classes(m);
    bind_counting(m);
    m.def(
        "token_hash",
        [](const nb::str& token) {
            const Texts seen = texts_of(nb::make_tuple(token));
            ReadableCopy copy;
            return token_hash(copy.of(seen[0]));
        },
        nb::arg("token"), "The 64-bit hash of a token, the same on every platform.");
    m.def(
        "weigh_rows",
        [](const In<std::int64_t>& pointers, const In<std::int32_t>& columns, const In<std::int32_t>& counts, const In<double>& idf,
           bool sublinear, const std::string& norm, int n_threads, const Out<float>& values) {
            const std::size_t size = columns.shape(0);
            if (pointers.shape(0) == 0 || counts.shape(0) != size || values.shape(0) != size) {
                throw std::invalid_argument("weigh_rows: columns, counts and values must have one length");
            }
            const double* weights = idf.shape(0) ? idf.data() : nullptr;
            const auto n_rows = static_cast<std::int64_t>(pointers.shape(0)) - 1;
            const Norm kind = norm_named(norm);
            WithoutGil released;
            weigh_rows(n_rows, pointers.data(), columns.data(), counts.data(), weights, sublinear, kind, n_threads, values.data());
        },
        nb::arg("pointers"), nb::arg("columns"), nb::arg("counts"), nb::arg("idf"), nb::arg("sublinear"), nb::arg("norm"),
        nb::arg("n_threads"), nb::arg("values"), "Writes the tf-idf values of counted rows; an empty idf stands for ones.");
    m.def("unicode_version", [] { return std::string(unicode::kVersion); }, "The Unicode version of the tokenizer's tables.");
    m.def(
        "unicode_class", [](std::uint32_t code) { return code < unicode::kCodePoints ? unicode::classes()[code] : 0; }, nb::arg("code"),
        "The class bits of a code point: 1 word, 2 space, 4 cased, 8 ignorable before or behind a sigma, 16 has a lower case.");
}

}  // namespace lw
