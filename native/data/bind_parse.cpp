// Rows of text for Python: parsed in parts, and written.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "bind/bind.hpp"
#include "data/parse.hpp"

namespace nb = nanobind;

namespace lw {
namespace {

std::vector<std::pair<std::int64_t, std::string>> faults_of(const RowParser& parser) {
    std::vector<std::pair<std::int64_t, std::string>> out;
    for (const Fault& fault : parser.faults) out.emplace_back(fault.line, fault.message);
    return out;
}

void assemble(RowParser& parser, Out<std::int64_t> x_starts, Out<std::int32_t> x_columns, Out<float> x_values,
              Out<std::int64_t> y_starts, Out<std::int32_t> y_columns, Out<std::int64_t> bad_rows, int n_threads) {
    const auto rows = static_cast<std::size_t>(parser.n_rows) + 1;
    const auto x_size = static_cast<std::size_t>(parser.x_size), y_size = static_cast<std::size_t>(parser.y_size);
    if (parser.stopped() || x_starts.size() != rows || y_starts.size() != rows || x_columns.size() != x_size ||
        x_values.size() != x_size || y_columns.size() != y_size || bad_rows.size() != static_cast<std::size_t>(parser.n_bad)) {
        throw std::invalid_argument("assemble: the arrays do not have the parser's sizes, or parsing stopped at a fault");
    }
    WithoutGil released;
    parser.assemble(x_starts.data(), x_columns.data(), x_values.data(), y_starts.data(), y_columns.data(), bad_rows.data(),
                    n_threads);
}

nb::bytes formatted(In<std::int64_t> x_starts, In<std::int32_t> x_columns, In<float> x_values, In<std::int64_t> y_starts,
                    In<std::int32_t> y_columns, std::int64_t first, std::int64_t last, bool labels, bool svmlight,
                    std::int64_t index_base, int n_threads) {
    const auto rows = static_cast<std::int64_t>(x_starts.size()) - 1;
    if (first < 0 || last < first || last > rows || x_columns.size() != x_values.size() ||
        (labels && y_starts.size() != x_starts.size())) {
        throw std::invalid_argument("format_rows: arrays of different sizes, or rows outside them");
    }
    std::vector<std::string> pieces;
    {
        WithoutGil released;
        pieces = format_rows(x_starts.data(), x_columns.data(), x_values.data(), y_starts.data(), y_columns.data(), first, last,
                             {labels, svmlight, index_base}, n_threads);
    }
    std::size_t size = 0;
    for (const std::string& piece : pieces) size += piece.size();
    std::string all;
    all.reserve(size);
    for (const std::string& piece : pieces) all += piece;
    return nb::bytes(all.data(), all.size());
}

}  // namespace

void bind_parse(nb::module_& m) {
    nb::class_<RowParser>(m, "RowParser", "Parses sparse text rows, block by block; see native/data/parse.hpp.")
        .def(
            "__init__",
            [](RowParser* self, bool labels, bool svmlight, std::int64_t n_features, std::int64_t n_labels,
               std::int64_t index_base, bool keep_going, std::string item) {
                new (self) RowParser({labels, svmlight, n_features, n_labels, index_base, keep_going, std::move(item)});
            },
            nb::arg("labels"), nb::arg("svmlight") = false, nb::arg("n_features") = -1, nb::arg("n_labels") = -1,
            nb::arg("index_base") = 0, nb::arg("keep_going") = false, nb::arg("item") = "feature")
        .def(
            "feed",
            [](RowParser& self, In<std::uint8_t> text, bool last, int n_threads) {
                WithoutGil released;
                return self.feed(reinterpret_cast<const char*>(text.data()), text.size(), last, n_threads);
            },
            nb::arg("text"), nb::arg("last"), nb::arg("n_threads"),
            "Parse the whole lines of a block and give the number of bytes used; with `last` the rest is a line too.")
        .def("assemble", &assemble, nb::arg("x_starts"), nb::arg("x_columns"), nb::arg("x_values"), nb::arg("y_starts"),
             nb::arg("y_columns"), nb::arg("bad_rows"), nb::arg("n_threads"),
             "Write all rows into arrays of the sizes n_rows + 1, x_size, y_size and n_bad, and forget them.")
        .def_prop_ro("faults", &faults_of, "(line, message) of the first bad rows.")
        .def_prop_ro("stopped", &RowParser::stopped, "True after a fault, unless keep_going.")
        .def_ro("n_lines", &RowParser::n_lines)
        .def_ro("n_rows", &RowParser::n_rows)
        .def_ro("n_bad", &RowParser::n_bad, "Bad rows met; they are kept as empty rows.")
        .def_ro("last_filled_row", &RowParser::last_filled_row, "The last row that is not a blank line; -1: none.")
        .def_ro("x_size", &RowParser::x_size)
        .def_ro("y_size", &RowParser::y_size)
        .def_ro("duplicate_features", &RowParser::duplicate_features)
        .def_ro("duplicate_labels", &RowParser::duplicate_labels)
        .def_ro("lowest_feature", &RowParser::lowest_feature)
        .def_ro("highest_feature", &RowParser::highest_feature, "-1: there is no feature.")
        .def_ro("highest_label", &RowParser::highest_label, "-1: there is no label.");
    m.def("format_rows", &formatted, nb::arg("x_starts"), nb::arg("x_columns"), nb::arg("x_values"), nb::arg("y_starts"),
          nb::arg("y_columns"), nb::arg("first"), nb::arg("last"), nb::arg("labels"), nb::arg("svmlight"),
          nb::arg("index_base"), nb::arg("n_threads"), "The text of the rows first..last, one a line.");
}

}  // namespace lw
