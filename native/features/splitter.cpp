#include "features/splitter.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "features/unicode.hpp"

namespace lw {
namespace {

constexpr std::ptrdiff_t kRun = 1 << 16;  // letters between two looks for an interrupt

using unicode::classes;

// Calls with(code) for the character at p, lowered if asked (one or two code points), and returns the next place.
template <class With>
inline const char* each_lowered(std::string_view text, const char* p, bool lowercase, With&& with) {
    const char* end = text.data() + text.size();
    int n_bytes = 0;
    const std::uint32_t code = unicode::decode(p, end, n_bytes);
    if (lowercase && (classes()[code] & unicode::kHasLower)) {
        if (code == unicode::kCapitalSigma && unicode::is_final_sigma(text.data(), p, end)) {
            with(unicode::kFinalSigma);
        } else {
            std::uint32_t lowered[2];
            const int n = unicode::lower(code, lowered);
            for (int i = 0; i < n; ++i) with(lowered[i]);
        }
    } else {
        with(code);
    }
    return p + n_bytes;
}

}  // namespace

TokenRules::TokenRules(Analyzer analyzer, int min_n, int max_n, bool lowercase, int min_length)
    : analyzer(analyzer), min_n(min_n), max_n(max_n), lowercase(lowercase), min_length(min_length) {
    if (min_n < 1 || max_n < min_n || min_length < 1) throw std::invalid_argument("TokenRules: 1 <= min_n <= max_n, 1 <= min_length");
    for (int byte = 0; byte < 256; ++byte) {
        const bool upper = byte >= 'A' && byte <= 'Z';
        std::uint8_t out = 0;
        if (byte >= 0x80) {
            out = kWide;
        } else if (classes()[byte] & unicode::kIsWord) {
            out = static_cast<std::uint8_t>(upper && lowercase ? byte + 32 : byte);
        }
        word_byte[static_cast<std::size_t>(byte)] = out;
    }
}

// Lower case takes at most 3 bytes for 2 (U+0130, U+023A), a byte that is no UTF-8 becomes U+FFFD with 3; spaces are
// added only around words. The rest of the room makes the last tokens readable (see kReadable).
char* Splitter::room_for(std::string_view text) {
    const std::size_t wanted = text.size() * 3 + 16 + kReadable;
    if (wanted > 0xffffffffu) throw std::length_error("a text is longer than 1.4 GB");
    if (buffer_size_ < wanted) {
        buffer_ = std::make_unique_for_overwrite<char[]>(wanted);  // most of it is never touched: zeros would cost pages
        buffer_size_ = wanted;
    }
    return buffer_.get();
}

void Splitter::find_words(std::string_view text) {
    char* const buffer = room_for(text);
    char* out = buffer;
    char* start = buffer;
    std::ptrdiff_t n_more = 0;  // bytes of the word beyond one a character
    const bool has_stop_words = rules_.stop_words.size() > 0;
    const auto close = [&] {
        const std::string_view word(start, static_cast<std::size_t>(out - start));
        if (out - start - n_more >= rules_.min_length && !(has_stop_words && rules_.stop_words.find(TokenKey::of(word)) != TokenTable::kNone)) {
            starts_.push_back(static_cast<std::uint32_t>(start - buffer));
            *out++ = ' ';
        } else {
            out = start;
        }
        start = out;
        n_more = 0;
    };
    const std::uint8_t* const word_byte = rules_.word_byte.data();
    const char* p = text.data();
    const char* const end = p + text.size();
    while (p < end) {
        pulse_.beat();
        // Pointers of its own, so that the loop over plain letters keeps them in registers.
        const char* const stop = p + std::min(end - p, kRun);
        char* write = out;
        const char* read = p;
        std::uint8_t byte = 0;
        while (read < stop && static_cast<std::uint8_t>((byte = word_byte[static_cast<unsigned char>(*read)]) - 1) < TokenRules::kWide - 1) {
            *write++ = static_cast<char>(byte);
            ++read;
        }
        out = write;
        p = read;
        if (p == stop) continue;
        if (byte == 0) {
            if (out != start) close();
            ++p;
            continue;
        }
        p = each_lowered(text, p, rules_.lowercase, [&](std::uint32_t code) {
            if (classes()[code] & unicode::kIsWord) {
                char* behind = unicode::encode(code, out);
                n_more += behind - out - 1;
                out = behind;
            } else if (out != start) {
                close();
            }
        });
    }
    if (out != start) close();
    starts_.push_back(static_cast<std::uint32_t>(out - buffer));
}

// Runs of two or more white spaces become one space; a single one stays what it is.
void Splitter::find_chars(std::string_view text) {
    char* const buffer = room_for(text);
    char* out = buffer;
    bool after_space = false;
    const char* const end = text.data() + text.size();
    for (const char* p = text.data(); p < end;) {
        pulse_.beat();
        p = each_lowered(text, p, rules_.lowercase, [&](std::uint32_t code) {
            const bool space = classes()[code] & unicode::kIsSpace;
            if (space && after_space) {
                out = buffer + starts_.back();
                *out++ = ' ';
            } else {
                starts_.push_back(static_cast<std::uint32_t>(out - buffer));
                out = unicode::encode(code, out);
            }
            after_space = space;
        });
    }
    starts_.push_back(static_cast<std::uint32_t>(out - buffer));
}

void Splitter::find_padded_words(std::string_view text) {
    char* const buffer = room_for(text);
    char* out = buffer;
    gaps_.clear();
    const auto add = [&](std::uint32_t code) {
        starts_.push_back(static_cast<std::uint32_t>(out - buffer));
        out = unicode::encode(code, out);
    };
    const auto gap = [&] {
        gaps_.push_back(starts_.size());
        add(' ');
    };
    bool after_space = true;
    const char* const end = text.data() + text.size();
    for (const char* p = text.data(); p < end;) {
        pulse_.beat();
        p = each_lowered(text, p, rules_.lowercase, [&](std::uint32_t code) {
            const bool space = classes()[code] & unicode::kIsSpace;
            if (space != after_space && (space || gaps_.empty())) gap();
            if (!space) add(code);
            after_space = space;
        });
    }
    if (!after_space) gap();
    starts_.push_back(static_cast<std::uint32_t>(out - buffer));
}

void Splitter::count_padded_words() {
    constexpr std::uint32_t none = 0xffffffffu;
    words_.clear();
    const std::size_t mask = std::bit_ceil(2 * gaps_.size() + 2) - 1;
    word_slots_.assign(mask + 1, none);
    for (std::size_t i = 0; i + 1 < gaps_.size(); ++i) {
        pulse_.beat();
        const std::size_t first = gaps_[i], last = gaps_[i + 1] + 1;
        const std::string_view bytes(buffer_.get() + starts_[first], starts_[last] - starts_[first]);
        std::size_t slot = static_cast<std::size_t>(token_hash(bytes)) & mask;
        while (word_slots_[slot] != none && words_[word_slots_[slot]].bytes != bytes) slot = (slot + 1) & mask;
        if (word_slots_[slot] == none) {
            word_slots_[slot] = static_cast<std::uint32_t>(words_.size());
            words_.push_back({first, last, bytes, 0});
        }
        ++words_[word_slots_[slot]].times;
    }
}

}  // namespace lw
