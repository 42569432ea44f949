// Token bytes -> small numbers: an open-addressing hash table with the bytes stored beside it.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace lw {

namespace detail {

inline std::uint64_t load_bytes(const char* p, int n) {
    std::uint64_t value = 0;
    if constexpr (std::endian::native == std::endian::little) {
        std::memcpy(&value, p, static_cast<std::size_t>(n));
    } else {
        for (int i = 0; i < n; ++i) value |= static_cast<std::uint64_t>(static_cast<unsigned char>(p[i])) << (8 * i);
    }
    return value;
}

// Both halves of the 128-bit product folded together: one multiply mixes all bits of both arguments.
inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
    __extension__ typedef unsigned __int128 wide;
    const wide product = static_cast<wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace detail

// The hash of a token, the same on every platform: saved hashing-mode models depend on it, so it must never change
// (a new one needs a new token format number in labelwood.features.tokens). Multiply-fold in the manner of wyhash.
inline std::uint64_t token_hash(std::string_view token) {
    constexpr std::uint64_t k0 = 0xa0761d6478bd642full, k1 = 0xe7037ed1a0b428dbull, k2 = 0x8ebc6af09c88c6e3ull;
    using detail::fold;
    using detail::load_bytes;
    const char* p = token.data();
    std::size_t n = token.size();
    std::uint64_t a = 0, b = 0, seed = k2 ^ token.size();
    if (n > 16) {
        for (; n > 16; n -= 16, p += 16) seed = fold(load_bytes(p, 8) ^ k0, load_bytes(p + 8, 8) ^ seed);
        a = load_bytes(p + n - 16, 8);
        b = load_bytes(p + n - 8, 8);
    } else if (n >= 8) {
        a = load_bytes(p, 8);
        b = load_bytes(p + n - 8, 8);
    } else if (n >= 4) {
        a = load_bytes(p, 4);
        b = load_bytes(p + n - 4, 4);
    } else if (n > 0) {
        a = load_bytes(p, 1) << 16 | load_bytes(p + n / 2, 1) << 8 | load_bytes(p + n - 1, 1);
    }
    return fold(k1 ^ token.size(), fold(a ^ k1, b ^ seed));
}

// Bytes that stay where they are while more are added.
class Arena {
public:
    const char* keep(std::string_view token) {
        if (token.empty()) return "";
        if (token.size() > left_) {
            const std::size_t size = token.size() > kChunk ? token.size() : kChunk;
            chunks_.push_back(std::make_unique_for_overwrite<char[]>(size));
            next_ = chunks_.back().get();
            left_ = size;
        }
        char* place = next_;
        std::memcpy(place, token.data(), token.size());
        next_ += token.size();
        left_ -= token.size();
        return place;
    }

private:
    static constexpr std::size_t kChunk = std::size_t{1} << 18;
    std::vector<std::unique_ptr<char[]>> chunks_;
    char* next_ = nullptr;
    std::size_t left_ = 0;
};

struct Token {
    const char* bytes;
    std::uint32_t length;
    std::uint32_t tag;    // high half of the hash
    std::uint32_t n_rows; // rows that hold the token
    std::uint32_t place;  // where the token stands in the row being counted; see RowCounter

    std::string_view text() const { return {bytes, length}; }
};

class TokenTable {
public:
    static constexpr std::uint32_t kNone = 0xffffffffu;

    TokenTable() : slots_(std::size_t{1} << kFirstBits, Slot{0, kNone}), shift_(32 - kFirstBits) {}
    TokenTable(TokenTable&&) = default;
    TokenTable(const TokenTable&) = delete;  // tokens point into the arena

    static std::uint32_t tag(std::string_view token) { return static_cast<std::uint32_t>(token_hash(token) >> 32); }

    std::uint32_t find(std::string_view token) const { return slots_[slot(tag(token), token)].id; }

    // The token's number; a new token gets the next one, its bytes copied into the arena.
    std::uint32_t find_or_add(std::string_view token) {
        const std::uint32_t hash = tag(token);
        const std::size_t place = slot(hash, token);
        const std::uint32_t id = slots_[place].id;
        return id != kNone ? id : insert(place, hash, arena_.keep(token), token.size());
    }

    // The same for bytes that outlive the table and are not copied.
    std::uint32_t find_or_refer(const Token& token) {
        const std::size_t place = slot(token.tag, token.text());
        const std::uint32_t id = slots_[place].id;
        return id != kNone ? id : insert(place, token.tag, token.bytes, token.length);
    }

    // Brings a token's slot near before it is asked for: tables of millions of n-grams do not fit in any cache.
    void prefetch(std::uint32_t hash) const { __builtin_prefetch(&slots_[hash >> shift_]); }

    std::uint32_t size() const { return static_cast<std::uint32_t>(tokens_.size()); }
    Token& operator[](std::uint32_t id) { return tokens_[id]; }
    const Token& operator[](std::uint32_t id) const { return tokens_[id]; }

private:
    struct Slot {
        std::uint32_t tag, id;
    };
    static constexpr int kFirstBits = 10;

    // The slot that holds the token, or the free one where it belongs.
    std::size_t slot(std::uint32_t hash, std::string_view token) const {
        const std::size_t mask = slots_.size() - 1;
        std::size_t place = hash >> shift_;
        for (;; place = (place + 1) & mask) {
            const Slot& here = slots_[place];
            if (here.id == kNone) return place;
            if (here.tag == hash && tokens_[here.id].text() == token) return place;
        }
    }

    std::uint32_t insert(std::size_t place, std::uint32_t hash, const char* bytes, std::size_t length) {
        const std::uint32_t id = size();
        if (id >= 0x7fffffffu) throw std::length_error("more than 2^31 - 1 different tokens; use hashing mode");
        tokens_.push_back(Token{bytes, static_cast<std::uint32_t>(length), hash, 0, kNone});
        slots_[place] = {hash, id};
        if (tokens_.size() * 2 > slots_.size()) grow();
        return id;
    }

    void grow() {
        if (shift_ == 0) throw std::length_error("token table full");
        --shift_;
        std::vector<Slot> old(slots_.size() * 2, Slot{0, kNone});
        old.swap(slots_);
        const std::size_t mask = slots_.size() - 1;
        for (const Slot& slot : old) {
            if (slot.id == kNone) continue;
            std::size_t place = slot.tag >> shift_;
            while (slots_[place].id != kNone) place = (place + 1) & mask;
            slots_[place] = slot;
        }
    }

    std::vector<Slot> slots_;
    std::vector<Token> tokens_;
    Arena arena_;
    int shift_;
};

}  // namespace lw
