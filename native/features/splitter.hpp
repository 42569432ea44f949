// Text -> tokens: words, word n-grams, or character n-grams, cut as scikit-learn's vectorizers cut them.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "features/token_table.hpp"
#include "parallel.hpp"

namespace lw {

enum class Analyzer { word, chars, chars_in_words };

// How texts are cut. Words are the runs of \w with at least min_length characters that are not stop words.
struct TokenRules {
    TokenRules(Analyzer analyzer, int min_n, int max_n, bool lowercase, int min_length);

    Analyzer analyzer;
    int min_n, max_n;
    bool lowercase;
    int min_length;
    TokenTable stop_words;
    // For each first byte: 0 separates words, kWide starts a character outside ASCII, else the byte to write.
    static constexpr std::uint8_t kWide = 0x80;
    std::array<std::uint8_t, 256> word_byte;
};

// Cuts one text after another; holds the scratch memory of one thread.
class Splitter {
public:
    explicit Splitter(const TokenRules& rules) : rules_(rules) {}

    // emit(const TokenKey&) for every token, repeated ones repeatedly; the bytes live until the next call.
    template <class Emit>
    void split(std::string_view text, Emit&& emit) {
        starts_.clear();
        switch (rules_.analyzer) {
            case Analyzer::word:
                find_words(text);
                emit_runs(emit, 1);
                break;
            case Analyzer::chars:
                find_chars(text);
                emit_runs(emit, 0);
                break;
            case Analyzer::chars_in_words:
                find_padded_words(text);
                for (std::size_t i = 0; i + 1 < gaps_.size(); ++i) {
                    pulse_.beat();
                    emit_padded(emit, gaps_[i], gaps_[i + 1] + 1);
                }
                break;
        }
    }

    // The same tokens in another order: emit(const TokenKey&, how often). Those inside a word that a text repeats come once.
    template <class Emit>
    void split_counted(std::string_view text, Emit&& emit) {
        if (rules_.analyzer != Analyzer::chars_in_words) return split(text, [&](const TokenKey& key) { emit(key, 1u); });
        starts_.clear();
        find_padded_words(text);
        count_padded_words();
        for (const PaddedWord& word : words_) {
            pulse_.beat();
            emit_padded([&](const TokenKey& key) { emit(key, word.times); }, word.first, word.last);
        }
    }

private:
    // From one space to behind the other, in starts_.
    struct PaddedWord {
        std::size_t first, last;
        std::string_view bytes;
        std::uint32_t times;
    };

    void find_words(std::string_view text);         // buffer_: words joined by single spaces; starts_: the words
    void find_chars(std::string_view text);         // buffer_: the text; starts_: its characters
    void find_padded_words(std::string_view text);  // the same, one space around every word; gaps_: the spaces
    void count_padded_words();                      // words_: every padded word, once
    char* room_for(std::string_view text);

    // Every run of min_n..max_n units; `gap` bytes (the joining space) are left off the end.
    template <class Emit>
    void emit_runs(Emit&& emit, std::uint32_t gap) {
        const std::size_t n_units = starts_.size() - 1;  // starts_ ends with one place behind the last unit
        const std::size_t longest = static_cast<std::size_t>(rules_.max_n);
        for (std::size_t n = static_cast<std::size_t>(rules_.min_n); n <= longest && n <= n_units; ++n) {
            for (std::size_t i = 0; i + n <= n_units; ++i) {
                pulse_.beat();
                emit(TokenKey::of({buffer_.get() + starts_[i], starts_[i + n] - starts_[i] - gap}));
            }
        }
    }

    // The runs inside one padded word; a word no longer than n characters comes whole, once.
    template <class Emit>
    void emit_padded(Emit&& emit, std::size_t first, std::size_t last) {
        for (std::size_t n = static_cast<std::size_t>(rules_.min_n); n <= static_cast<std::size_t>(rules_.max_n); ++n) {
            if (last - first <= n) {
                emit(TokenKey::of({buffer_.get() + starts_[first], starts_[last] - starts_[first]}));
                return;
            }
            for (std::size_t i = first; i + n <= last; ++i) {
                emit(TokenKey::of({buffer_.get() + starts_[i], starts_[i + n] - starts_[i]}));
            }
        }
    }

    const TokenRules& rules_;
    std::unique_ptr<char[]> buffer_;
    std::size_t buffer_size_ = 0;
    std::vector<std::uint32_t> starts_;
    std::vector<std::size_t> gaps_;
    std::vector<PaddedWord> words_;
    std::vector<std::uint32_t> word_slots_;  // a hash table of words_
    Pulse pulse_;
};

}  // namespace lw
