// Sparse rows of text -> CSR arrays, with many threads and with a line number for every fault.
//
// One scanner reads the three formats: XMC one-file (`1,5 3:0.2 9:1`), split files (`3:0.2 9:1`) and multi-label svmlight
// (index base, comments, entries without value). The caller reads the header and hands over blocks of whole lines.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace lw {

struct RowRules {
    bool labels = true;         // a row begins with its label list
    bool svmlight = false;      // comments after '#', `feature` alone means 1, blank lines are no rows
    std::int64_t n_features = -1;  // -1: any
    std::int64_t n_labels = -1;
    std::int64_t index_base = 0;   // the smallest feature number in the text
    bool keep_going = false;    // note bad rows and keep them as empty rows, instead of stopping at the first
    std::string item = "feature";  // what messages call an entry
};

struct Fault {
    std::int64_t line;  // from 1
    std::string message;
};

// A growing array without initialisation; the caller ensures room once a line, then writes through plain pointers.
template <class T>
class Growing {
public:
    Growing() = default;
    Growing(const Growing&) = delete;
    Growing& operator=(const Growing&) = delete;
    ~Growing() { std::free(items_); }

    T* room(std::size_t extra) {
        if (size_ + extra > capacity_) {
            const std::size_t wanted = capacity_ + capacity_ / 2 > size_ + extra ? capacity_ + capacity_ / 2 : size_ + extra;
            void* moved = std::realloc(static_cast<void*>(items_), wanted * sizeof(T));
            if (moved == nullptr) throw std::bad_alloc();
            items_ = static_cast<T*>(moved);
            capacity_ = wanted;
        }
        return items_ + size_;
    }
    void added(std::size_t n) { size_ += n; }
    void push(T item) {
        *room(1) = item;
        ++size_;
    }
    const T* data() const { return items_; }
    std::size_t size() const { return size_; }

private:
    T* items_ = nullptr;
    std::size_t size_ = 0, capacity_ = 0;
};

// The rows of one piece of text; pieces are parsed independently and joined at the end.
struct Piece {
    Growing<std::int32_t> x_columns, y_columns;
    Growing<float> x_values;
    Growing<std::uint32_t> x_counts, y_counts;  // one a row
    Growing<std::uint32_t> bad_rows;            // within the piece
    std::vector<Fault> faults;                  // the first few; lines within the piece
    std::int64_t n_lines = 0, n_rows = 0, last_filled_row = -1;
    std::int64_t duplicate_features = 0, duplicate_labels = 0;
    std::int64_t lowest_feature = INT64_MAX, highest_feature = -1, highest_label = -1;
};

class RowParser {
public:
    explicit RowParser(RowRules rules) : rules_(std::move(rules)) {}
    RowParser(const RowParser&) = delete;
    RowParser& operator=(const RowParser&) = delete;

    // Parse the whole lines of a block; gives the bytes used. With `last` the rest counts as a line too.
    std::size_t feed(const char* text, std::size_t size, bool last, int n_threads);

    // Write everything parsed so far into arrays of the sizes below; may be called once.
    void assemble(std::int64_t* x_starts, std::int32_t* x_columns, float* x_values, std::int64_t* y_starts,
                  std::int32_t* y_columns, std::int64_t* bad_rows, int n_threads);

    bool stopped() const { return !rules_.keep_going && !faults.empty(); }

    std::vector<Fault> faults;  // the first few, in file order
    std::int64_t n_lines = 0, n_rows = 0, last_filled_row = -1, n_bad = 0;
    std::int64_t x_size = 0, y_size = 0;
    std::int64_t duplicate_features = 0, duplicate_labels = 0;
    std::int64_t lowest_feature = INT64_MAX, highest_feature = -1, highest_label = -1;

private:
    void add(Piece& piece);
    RowRules rules_;
    std::vector<std::unique_ptr<Piece>> pieces_;
};

// Text of the rows first..last in one of the formats, in row order; each float in its shortest exact form.
struct RowFormat {
    bool labels = true;
    bool svmlight = false;
    std::int64_t index_base = 0;
};
std::vector<std::string> format_rows(const std::int64_t* x_starts, const std::int32_t* x_columns, const float* x_values,
                                     const std::int64_t* y_starts, const std::int32_t* y_columns, std::int64_t first,
                                     std::int64_t last, const RowFormat& format, int n_threads);

}  // namespace lw
