// Token bytes -> small numbers: an open-addressing hash table with the bytes stored beside it.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lw {

namespace detail {

inline std::uint64_t load8(const char* p) {
    std::uint64_t value = 0;
    if constexpr (std::endian::native == std::endian::little) {
        std::memcpy(&value, p, 8);
    } else {
        for (int i = 0; i < 8; ++i) value |= static_cast<std::uint64_t>(static_cast<unsigned char>(p[i])) << (8 * i);
    }
    return value;
}

// Both halves of the 128-bit product folded together: one multiply mixes all bits of both arguments.
inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
    __extension__ typedef unsigned __int128 wide;
    const wide product = static_cast<wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Keeps the first n bytes of a 16-byte load, n <= 16: masks[n] for the low, masks[n + 9] for the high half.
inline constexpr std::array<std::uint64_t, 26> kMasks = [] {
    std::array<std::uint64_t, 26> masks{};
    for (int n = 0; n <= 16; ++n) {
        const int low = n < 8 ? n : 8, high = n < 8 ? 0 : n - 8;
        masks[static_cast<std::size_t>(n)] = low == 8 ? ~0ull : (1ull << (8 * low)) - 1;
        if (n >= 8) masks[static_cast<std::size_t>(n + 9)] = high == 8 ? ~0ull : (1ull << (8 * high)) - 1;
    }
    return masks;
}();

}  // namespace detail

// Bytes that may be read 16 bytes past their start: the key of a short token is two loads and two masks, without a
// branch on its length (the length of the next word is what no branch predictor knows).
inline constexpr std::size_t kReadable = 16;

// A token made ready for look-up. Up to 16 bytes stand in lo and hi, zero-padded; `bytes` matters for longer ones.
struct TokenKey {
    const char* bytes;
    std::uint64_t lo, hi;
    std::uint64_t hash;
    std::uint32_t length;

    std::uint32_t tag() const { return static_cast<std::uint32_t>(hash >> 32); }
    bool is_long() const { return length > 16; }

    // The hash is the same on every platform: saved hashing-mode models depend on it, so it must never change (a new
    // one needs a new token format number in labelwood.features.tokens). Multiply-fold in the manner of wyhash.
    static TokenKey of(std::string_view readable) {
        constexpr std::uint64_t k0 = 0xa0761d6478bd642full, k1 = 0xe7037ed1a0b428dbull, k2 = 0x8ebc6af09c88c6e3ull;
        using detail::fold;
        using detail::load8;
        const char* p = readable.data();
        std::size_t n = readable.size();
        std::uint64_t seed = k2 ^ n;
        TokenKey key{p, 0, 0, 0, static_cast<std::uint32_t>(n)};
        if (n > 16) {
            for (; n > 16; n -= 16, p += 16) seed = fold(load8(p) ^ k0, load8(p + 8) ^ seed);
            key.lo = load8(p + n - 16);
            key.hi = load8(p + n - 8);
        } else {
            key.lo = load8(p) & detail::kMasks[n];
            key.hi = load8(p + 8) & detail::kMasks[n < 8 ? 17 : n + 9];
        }
        key.hash = fold(k1 ^ readable.size(), fold(key.lo ^ k1, key.hi ^ seed));
        return key;
    }
};

inline std::uint64_t token_hash(std::string_view readable) { return TokenKey::of(readable).hash; }

// A copy of bytes from anywhere that may be read as TokenKey::of needs it.
class ReadableCopy {
public:
    std::string_view of(std::string_view token) {
        copy_.assign(token);
        copy_.append(kReadable, '\0');
        return {copy_.data(), token.size()};
    }

private:
    std::string copy_;
};

// Bytes that stay where they are while more are added.
class Arena {
public:
    const char* keep(const char* bytes, std::size_t size) {
        if (size > left_) {
            left_ = size > kChunk ? size : kChunk;
            chunks_.push_back(std::make_unique_for_overwrite<char[]>(left_));
            next_ = chunks_.back().get();
        }
        char* place = next_;
        std::memcpy(place, bytes, size);
        next_ += size;
        left_ -= size;
        return place;
    }

private:
    static constexpr std::size_t kChunk = std::size_t{1} << 18;
    std::vector<std::unique_ptr<char[]>> chunks_;
    char* next_ = nullptr;
    std::size_t left_ = 0;
};

// Half a cache line with everything that counting needs; longer tokens have their bytes elsewhere.
struct alignas(32) Token {
    union {
        std::uint64_t inside[2];  // up to 16 bytes: as in TokenKey
        struct {
            const char* bytes;
            std::uint64_t hash;
        } outside;
    };
    std::uint32_t length;
    std::uint32_t tag;     // high half of the hash
    std::uint32_t n_rows;  // rows that hold the token
    std::uint32_t place;   // where the token stands in the row being counted

    bool is_long() const { return length > 16; }

    bool is(const TokenKey& key) const {
        if (length != key.length) return false;
        if (!is_long()) return ((inside[0] ^ key.lo) | (inside[1] ^ key.hi)) == 0;
        return outside.hash == key.hash && std::memcmp(outside.bytes, key.bytes, length) == 0;
    }

    // The bytes; those of a short token are written to `room`.
    std::string_view text(std::array<char, 16>& room) const {
        if (is_long()) return {outside.bytes, length};
        for (std::size_t i = 0; i < 16; ++i) room[i] = static_cast<char>(inside[i / 8] >> (8 * (i % 8)));
        return {room.data(), length};
    }

    // The first 8 bytes, most significant first: numbers in the order of the texts.
    std::uint64_t start() const {
        std::uint64_t bytes = is_long() ? detail::load8(outside.bytes) : inside[0];
        std::uint64_t turned = 0;
        for (int i = 0; i < 8; ++i, bytes >>= 8) turned = turned << 8 | (bytes & 0xff);
        return turned;
    }

    TokenKey key() const {
        if (is_long()) return TokenKey::of({outside.bytes, length});
        return {nullptr, inside[0], inside[1], static_cast<std::uint64_t>(tag) << 32, length};
    }
};

class TokenTable {
public:
    static constexpr std::uint32_t kNone = 0xffffffffu;

    TokenTable() : slots_(std::size_t{1} << kFirstBits, Slot{0, kNone}), shift_(32 - kFirstBits) {}
    TokenTable(TokenTable&&) = default;
    TokenTable(const TokenTable&) = delete;  // tokens point into the arena

    std::uint32_t find(const TokenKey& key) const { return slots_[slot(key)].id; }

    // The token's number; a new token gets the next one.
    std::uint32_t find_or_add(const TokenKey& key) {
        const std::size_t place = slot(key);
        const std::uint32_t id = slots_[place].id;
        return id != kNone ? id : insert(place, key, key.is_long() ? arena_.keep(key.bytes, key.length) : nullptr);
    }

    // The same for a token of another table that outlives this one: long bytes are not copied.
    std::uint32_t find_or_refer(const Token& token) {
        const TokenKey key = token.key();
        const std::size_t place = slot(key);
        const std::uint32_t id = slots_[place].id;
        return id != kNone ? id : insert(place, key, key.bytes);
    }

    // Bring slot, token and long bytes near, one after the other, before a token is asked for; see Pipeline.
    void prefetch_slot(std::uint32_t tag) const { __builtin_prefetch(&slots_[tag >> shift_]); }
    void prefetch_token(std::uint32_t tag) const {
        const std::uint32_t id = slots_[tag >> shift_].id;
        if (id != kNone) __builtin_prefetch(&tokens_[id]);
    }
    void prefetch_bytes(std::uint32_t tag) const {
        const std::uint32_t id = slots_[tag >> shift_].id;
        if (id != kNone && tokens_[id].is_long()) __builtin_prefetch(tokens_[id].outside.bytes);
    }

    std::uint32_t size() const { return static_cast<std::uint32_t>(tokens_.size()); }
    Token& operator[](std::uint32_t id) { return tokens_[id]; }
    const Token& operator[](std::uint32_t id) const { return tokens_[id]; }

private:
    struct Slot {
        std::uint32_t tag, id;
    };
    static constexpr int kFirstBits = 10;

    // The slot that holds the token, or the free one where it belongs.
    std::size_t slot(const TokenKey& key) const {
        const std::size_t mask = slots_.size() - 1;
        const std::uint32_t tag = key.tag();
        std::size_t place = tag >> shift_;
        for (;; place = (place + 1) & mask) {
            const Slot& here = slots_[place];
            if (here.id == kNone || (here.tag == tag && tokens_[here.id].is(key))) return place;
        }
    }

    std::uint32_t insert(std::size_t place, const TokenKey& key, const char* kept) {
        const std::uint32_t id = size();
        if (id >= 0x7fffffffu) throw std::length_error("more than 2^31 - 1 different tokens; use hashing mode");
        Token token{};
        if (key.is_long()) {
            token.outside = {kept, key.hash};
        } else {
            token.inside[0] = key.lo;
            token.inside[1] = key.hi;
        }
        token.length = key.length;
        token.tag = key.tag();
        token.place = kNone;
        tokens_.push_back(token);
        slots_[place] = {token.tag, id};
        if (tokens_.size() * 4 > slots_.size() * 3) grow();
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

// Hands tokens on a little later than it gets them, so that their place in a table can be fetched meanwhile: tables of
// millions of n-grams fit in no cache, and a look-up without it waits for up to three misses, one after the other.
class Pipeline {
public:
    explicit Pipeline(const TokenTable& table) : table_(table) {}

    template <class Use>  // use(key, times), the bytes must live until flush
    void push(const TokenKey& key, std::uint32_t times, Use&& use) {
        waiting_[in_ % kSize] = key;
        times_[in_ % kSize] = times;
        table_.prefetch_slot(key.tag());
        if (in_ >= kStep) table_.prefetch_token(waiting_[(in_ - kStep) % kSize].tag());
        if (in_ >= 2 * kStep) table_.prefetch_bytes(waiting_[(in_ - 2 * kStep) % kSize].tag());
        ++in_;
        if (in_ > 3 * kStep) hand_on(use);
    }

    template <class Use>
    void flush(Use&& use) {
        while (out_ < in_) hand_on(use);
        in_ = out_ = 0;
    }

private:
    static constexpr std::size_t kSize = 32, kStep = 8;

    template <class Use>
    void hand_on(Use&& use) {
        const std::size_t place = out_++ % kSize;
        use(waiting_[place], times_[place]);
    }

    const TokenTable& table_;
    std::size_t in_ = 0, out_ = 0;
    std::array<TokenKey, kSize> waiting_{};
    std::array<std::uint32_t, kSize> times_{};
};

}  // namespace lw
