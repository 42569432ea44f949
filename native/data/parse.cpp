#include "data/parse.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>

#include "data/decimal.hpp"
#include "parallel.hpp"

namespace lw {
namespace {

constexpr std::size_t kPieceBytes = 1 << 20;  // text and rows of a piece stay in the second-level cache
constexpr std::size_t kFaultsKept = 3;
constexpr std::int64_t kMostColumns = INT32_MAX;

bool is_space(char c) { return c == ' ' || c == '\t'; }

// A short, printable excerpt of the text up to the next space.
std::string excerpt(const char* p, const char* end) {
    std::string out = "'";
    for (; p < end && !is_space(*p); ++p) {
        if (out.size() > 30) {
            out += "...";
            break;
        }
        const unsigned char c = static_cast<unsigned char>(*p);
        if (c >= 0x20 && c < 0x7f) {
            out += *p;
        } else {
            static const char* hex = "0123456789abcdef";
            out += {'\\', 'x', hex[c >> 4], hex[c & 15]};
        }
    }
    return out + "'";
}

// Thrown inside a line; the line's loop turns it into a Fault.
struct BadRow {
    std::string message;
};

class LineScanner {
public:
    LineScanner(const RowRules& rules, Piece& out) : rules_(rules), out_(out) {
        const std::int64_t features = rules.n_features < 0 ? kMostColumns : std::min(rules.n_features, kMostColumns);
        const std::int64_t labels = rules.n_labels < 0 ? kMostColumns : std::min(rules.n_labels, kMostColumns);
        feature_limit_ = static_cast<std::uint32_t>(features);
        label_limit_ = static_cast<std::uint32_t>(labels);
        base_ = static_cast<std::uint32_t>(rules.index_base);
    }

    // One line without its line end; kSlack bytes after `end` are readable and *end is no digit.
    void scan(const char* line, const char* end) {
        ++out_.n_lines;
        const char* p = skip_spaces(line);
        const bool blank = p == end || (rules_.svmlight && *p == '#');
        if (blank && rules_.svmlight) {
            if (std::memchr(p, 0, static_cast<std::size_t>(end - p)) == nullptr) return;
        }
        if (!blank) out_.last_filled_row = out_.n_rows;
        std::uint32_t n_x = 0, n_y = 0;
        try {
            // An entry takes two bytes at least ("1 "), so the room is enough for any line.
            const std::size_t most = static_cast<std::size_t>(end - line) / 2 + 1;
            if (rules_.labels) p = labels(line, end, out_.y_columns.room(most), n_y);
            entries(p, end, out_.x_columns.room(most), out_.x_values.room(most), n_x);
        } catch (BadRow& bad) {
            n_x = n_y = 0;
            out_.bad_rows.push(static_cast<std::uint32_t>(out_.n_rows));
            if (out_.faults.size() < kFaultsKept) {
                if (std::memchr(line, 0, static_cast<std::size_t>(end - line)) != nullptr) {
                    bad.message = "holds a NUL byte; is this a text file?";
                }
                out_.faults.push_back({out_.n_lines, std::move(bad.message)});
            }
        }
        out_.x_columns.added(n_x);
        out_.x_values.added(n_x);
        out_.y_columns.added(n_y);
        out_.x_counts.push(n_x);
        out_.y_counts.push(n_y);
        ++out_.n_rows;
    }

private:
    static const char* skip_spaces(const char* p) {
        while (is_space(*p)) ++p;
        return p;
    }

    [[noreturn]] static void outside(const std::string& what, const std::string& number, std::int64_t base, std::uint32_t limit) {
        if (limit == 0) throw BadRow{what + " " + number + " is not allowed: there are no " + what + "s"};
        throw BadRow{what + " " + number + " is outside " + std::to_string(base) + ".." + std::to_string(base + limit - 1)};
    }

    // The column number at p, moved past it; 8 digits and more come here.
    std::uint32_t long_column(const char*& p) const {
        std::uint64_t value = 0;
        for (; is_digit(*p); ++p) value = std::min<std::uint64_t>(value * 10 + static_cast<std::uint64_t>(*p - '0'), UINT32_MAX);
        return static_cast<std::uint32_t>(value);
    }

    const char* labels(const char* line, const char* end, std::int32_t* columns, std::uint32_t& count) {
        const char* p = line;
        std::uint32_t n = 0;
        std::int64_t previous = -1;
        bool ordered = true;
        if (p == end || is_space(*p) || (rules_.svmlight && *p == '#')) return p;
        for (;;) {
            const char* start = p;
            pulse_.beat();
            const Digits digits = leading_digits(p);
            std::uint32_t label = digits.value;
            p += digits.count;
            if (digits.count == 8) {
                p = start;
                label = long_column(p);
            }
            const char stop = *p;
            if (p == start || (stop != ',' && p != end && !is_space(stop) && !(rules_.svmlight && stop == '#'))) {
                if (p != start && stop == ':' && n == 0) return line;  // no label list: the row begins with an entry
                bad_label(line, start, end);
            }
            if (label >= label_limit_) outside("label", std::string(start, p), 0, label_limit_);
            ordered &= static_cast<std::int64_t>(label) > previous;
            previous = label;
            columns[n++] = static_cast<std::int32_t>(label);
            if (stop != ',') break;
            ++p;
        }
        if (!ordered) {
            std::sort(columns, columns + n, [&](std::int32_t a, std::int32_t b) {
                pulse_.beat();
                return a < b;
            });
            const std::uint32_t unique = static_cast<std::uint32_t>(std::unique(columns, columns + n) - columns);
            out_.duplicate_labels += n - unique;
            n = unique;
        }
        out_.highest_label = std::max<std::int64_t>(out_.highest_label, columns[n - 1]);
        count = n;
        return p;
    }

    [[noreturn]] void bad_label(const char* line, const char* start, const char* end) const {
        if (*start == '-' && is_digit(start[1])) {
            const char* p = start + 1;
            while (is_digit(*p)) ++p;
            throw BadRow{"label " + std::string(start, p) + " is negative; labels are column numbers from 0"};
        }
        throw BadRow{"label list " + excerpt(line, end) + " is malformed; expected numbers with commas between, like 3,17"};
    }

    void entries(const char* p, const char* end, std::int32_t* columns, float* values, std::uint32_t& count) {
        std::uint32_t n = 0;
        std::int64_t previous = -1, lowest = INT64_MAX, highest = -1;
        bool ordered = true;
        for (;;) {
            p = skip_spaces(p);
            if (p == end) break;
            const char* const start = p;
            pulse_.beat();
            const Digits digits = leading_digits(p);
            std::uint32_t column = digits.value;
            p += digits.count;
            if (digits.count == 8) {
                p = start;
                column = long_column(p);
            }
            float value;
            if (*p == ':' && p != start) {
                ++p;
                if (!short_value(p, end, value)) value = any_value(start, p, end);
            } else if (rules_.svmlight && p == start && *p == '#') {
                if (std::memchr(p, 0, static_cast<std::size_t>(end - p)) != nullptr) throw BadRow{""};
                break;
            } else if (rules_.svmlight && p != start && ends(*p, p, end)) {
                value = 1.0f;
            } else {
                bad_entry(start, end);
            }
            if (column - base_ >= feature_limit_) {
                const char* stop = start;
                while (is_digit(*stop)) ++stop;
                outside(rules_.item, std::string(start, stop), rules_.index_base, feature_limit_);
            }
            column -= base_;
            lowest = std::min<std::int64_t>(lowest, column);
            highest = std::max<std::int64_t>(highest, column);
            columns[n] = static_cast<std::int32_t>(column);
            values[n] = value;
            if (value != 0.0f) {  // a zero is no entry
                ordered &= column > previous;
                previous = column;
                ++n;
            }
        }
        if (!ordered) n = sort_and_sum(columns, values, n);
        out_.lowest_feature = std::min(out_.lowest_feature, lowest);
        out_.highest_feature = std::max(out_.highest_feature, highest);
        count = n;
    }

    bool ends(char c, const char* p, const char* end) const {
        return c == ' ' || p == end || c == '\t' || (rules_.svmlight && c == '#');
    }

    // Short decimals (0.1380, 12.5, 7), moved past; false for anything else. Digits and power of ten are exact in
    // float32, so the one division rounds once, as it must.
    bool short_value(const char*& p, const char* end, float& value) const {
        static constexpr float kPower[8] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f};
        static constexpr std::uint32_t kWhole[8] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
        // One digit before the point is by far the commonest: guessing it shortens the chain of dependent steps
        // (measured: 40 % less time than counting the digits before the point).
        Digits whole{static_cast<std::uint32_t>(static_cast<unsigned char>(*p - '0')), 1};
        if (p[1] != '.' || whole.value > 9) whole = leading_digits(p);
        const char* q = p + whole.count;
        Digits part{0, 0};
        if (*q == '.') {
            part = leading_digits(q + 1);
            q += 1 + part.count;
        }
        if (whole.count - 1u >= 7u || whole.count + part.count > 8u || !ends(*q, q, end)) return false;
        const std::uint32_t all = whole.value * kWhole[part.count] + part.value;
        if (all > 1u << 24) return false;
        value = static_cast<float>(all) / kPower[part.count];
        p = q;
        return true;
    }

    // The slow way of a value: any number of digits, signs, exponents; or a fault.
    float any_value(const char* start, const char*& p, const char* end) const {
        const Number number = read_number(p);
        const bool whole = number.end <= end && ends(*number.end, number.end, end);
        if (number.fault == NumberFault::none && whole) {
            p = number.end;
            return number.value;
        }
        const std::string what = "value " + excerpt(p, end) + " of " + rules_.item + " " + std::string(start, p - 1);
        if (number.fault == NumberFault::not_finite) throw BadRow{what + " is not finite"};
        if (number.fault == NumberFault::too_large && whole) throw BadRow{what + " is too large for a 32-bit float"};
        throw BadRow{what + " is not a number"};
    }

    [[noreturn]] void bad_entry(const char* start, const char* end) const {
        const std::string text = excerpt(start, end);
        if (*start == '-' && is_digit(start[1])) {
            const char* p = start + 1;
            while (is_digit(*p)) ++p;
            throw BadRow{rules_.item + " " + std::string(start, p) + " is negative; " + rules_.item + "s are numbered from " +
                         std::to_string(rules_.index_base)};
        }
        if (rules_.svmlight && end - start >= 4 && std::memcmp(start, "qid:", 4) == 0) {
            throw BadRow{text + ": ranking data (qid) is not multi-label data; remove the qid fields"};
        }
        throw BadRow{"expected " + rules_.item + ":value, but got " + text};
    }

    // Put a row in column order and add up what came twice, in double so that the order of the text matters little.
    std::uint32_t sort_and_sum(std::int32_t* columns, float* values, std::uint32_t n) {
        order_.clear();
        for (std::uint32_t i = 0; i < n; ++i) order_.emplace_back(columns[i], values[i]);
        std::stable_sort(order_.begin(), order_.end(), [&](const auto& a, const auto& b) {
            pulse_.beat();
            return a.first < b.first;
        });
        std::uint32_t kept = 0;
        for (std::uint32_t i = 0; i < n;) {
            const std::int32_t column = order_[i].first;
            double sum = order_[i].second;
            std::uint32_t j = i + 1;
            for (; j < n && order_[j].first == column; ++j) sum += order_[j].second;
            out_.duplicate_features += j - i - 1;
            const float value = static_cast<float>(sum);
            if (std::isinf(value)) {
                throw BadRow{"the values of " + rules_.item + " " + std::to_string(column + rules_.index_base) +
                             ", which comes several times, add up to more than a 32-bit float holds"};
            }
            columns[kept] = column;
            values[kept] = value;
            kept += value != 0.0f;
            i = j;
        }
        return kept;
    }

    const RowRules& rules_;
    Piece& out_;
    std::uint32_t feature_limit_, label_limit_, base_;
    std::vector<std::pair<std::int32_t, float>> order_;
    Pulse pulse_;  // a line may be as long as the file
};

void scan_piece(const RowRules& rules, const char* p, const char* end, const char* readable, Piece& out) {
    LineScanner scanner(rules, out);
    std::string copy;
    while (p < end) {
        const char* found = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
        const char* stop = found == nullptr ? end : found;
        const char* next = found == nullptr ? end : found + 1;
        if (stop > p && stop[-1] == '\r') --stop;
        if (static_cast<std::size_t>(readable - stop) < kSlack) {  // the last lines: reading on would leave the buffer
            copy.assign(p, stop);
            copy.append(kSlack, '\n');
            scanner.scan(copy.data(), copy.data() + (stop - p));
        } else {
            scanner.scan(p, stop);
        }
        if (!rules.keep_going && !out.faults.empty()) return;
        p = next;
    }
}

}  // namespace

std::size_t RowParser::feed(const char* text, std::size_t size, bool last, int n_threads) {
    std::size_t usable = size;
    if (!last) {
        while (usable > 0 && text[usable - 1] != '\n') --usable;
    }
    std::vector<std::size_t> cuts{0};
    while (cuts.back() < usable) {
        std::size_t cut = cuts.back() + kPieceBytes;
        if (cut < usable) {
            const void* found = std::memchr(text + cut, '\n', usable - cut);
            cut = found == nullptr ? usable : static_cast<std::size_t>(static_cast<const char*>(found) - text) + 1;
        } else {
            cut = usable;
        }
        cuts.push_back(cut);
    }
    const std::int64_t n_pieces = static_cast<std::int64_t>(cuts.size()) - 1;
    const std::size_t before = pieces_.size();
    for (std::int64_t i = 0; i < n_pieces; ++i) pieces_.push_back(std::make_unique<Piece>());

    std::atomic<std::int64_t> first_bad{n_pieces};  // pieces behind it need no work: the first fault in the file counts
    const auto scan = [&](std::int64_t i, int) {
        if (!rules_.keep_going && i > first_bad.load(std::memory_order_relaxed)) return;
        Piece& piece = *pieces_[before + static_cast<std::size_t>(i)];
        scan_piece(rules_, text + cuts[static_cast<std::size_t>(i)], text + cuts[static_cast<std::size_t>(i) + 1], text + size, piece);
        if (!piece.faults.empty()) {
            std::int64_t seen = first_bad.load();
            while (i < seen && !first_bad.compare_exchange_weak(seen, i)) {
            }
        }
    };
    try {
        parallel_for(n_pieces, n_threads, 1, scan);
    } catch (...) {
        pieces_.resize(before);  // the sizes count whole pieces only
        throw;
    }
    for (std::int64_t i = 0; i < n_pieces && !stopped(); ++i) add(*pieces_[before + static_cast<std::size_t>(i)]);
    return usable;
}

void RowParser::add(Piece& piece) {
    for (Fault& fault : piece.faults) {
        if (faults.size() < kFaultsKept) faults.push_back({n_lines + fault.line, std::move(fault.message)});
    }
    if (piece.last_filled_row >= 0) last_filled_row = n_rows + piece.last_filled_row;
    n_lines += piece.n_lines;
    n_rows += piece.n_rows;
    n_bad += static_cast<std::int64_t>(piece.bad_rows.size());
    x_size += static_cast<std::int64_t>(piece.x_columns.size());
    y_size += static_cast<std::int64_t>(piece.y_columns.size());
    duplicate_features += piece.duplicate_features;
    duplicate_labels += piece.duplicate_labels;
    lowest_feature = std::min(lowest_feature, piece.lowest_feature);
    highest_feature = std::max(highest_feature, piece.highest_feature);
    highest_label = std::max(highest_label, piece.highest_label);
}

void RowParser::assemble(std::int64_t* x_starts, std::int32_t* x_columns, float* x_values, std::int64_t* y_starts,
                         std::int32_t* y_columns, std::int64_t* bad_rows, int n_threads) {
    struct Place {
        std::int64_t row, x, y, bad;
    };
    std::vector<Place> places;
    Place at{0, 0, 0, 0};
    for (const auto& piece : pieces_) {
        places.push_back(at);
        at.row += piece->n_rows;
        at.x += static_cast<std::int64_t>(piece->x_columns.size());
        at.y += static_cast<std::int64_t>(piece->y_columns.size());
        at.bad += static_cast<std::int64_t>(piece->bad_rows.size());
    }
    if (at.row != n_rows) throw std::logic_error("the rows were written before");
    x_starts[0] = y_starts[0] = 0;
    const auto copy = [](auto* to, const auto& from) {
        if (from.size() != 0) std::memcpy(to, from.data(), from.size() * sizeof(*to));
    };
    std::vector<std::unique_ptr<Piece>> pieces = std::move(pieces_);  // gone, however this ends
    pieces_.clear();
    parallel_for(static_cast<std::int64_t>(pieces.size()), n_threads, 1, [&](std::int64_t i, int) {
        const Place& place = places[static_cast<std::size_t>(i)];
        auto& piece = pieces[static_cast<std::size_t>(i)];
        copy(x_columns + place.x, piece->x_columns);
        copy(x_values + place.x, piece->x_values);
        copy(y_columns + place.y, piece->y_columns);
        std::int64_t x_end = place.x, y_end = place.y;
        for (std::int64_t row = 0; row < piece->n_rows; ++row) {
            x_starts[place.row + row + 1] = x_end += piece->x_counts.data()[row];
            y_starts[place.row + row + 1] = y_end += piece->y_counts.data()[row];
        }
        for (std::size_t b = 0; b < piece->bad_rows.size(); ++b) {
            bad_rows[place.bad + static_cast<std::int64_t>(b)] = place.row + piece->bad_rows.data()[b];
        }
        piece.reset();  // text may be large: give memory back as soon as it is copied
    });
}

}  // namespace lw
