#include "features/tokens.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <numeric>

#include "parallel.hpp"

namespace lw {
namespace {

constexpr std::int64_t kChunk = 16;  // texts handed to a thread at once

struct Pair {
    std::uint32_t id, count;
};

struct RowPlace {
    std::uint32_t thread, size;
    std::size_t start;
};

std::uint64_t packed(std::uint32_t id, std::uint32_t count) { return static_cast<std::uint64_t>(id) << 32 | count; }

std::uint32_t id_of(std::uint64_t pair) { return static_cast<std::uint32_t>(pair >> 32); }

// Sorts by id: longer rows byte by byte, as ids of a usual vocabulary need only 2-3 passes.
void sort_by_id(std::vector<std::uint64_t>& row, std::vector<std::uint64_t>& spare, std::uint32_t max_id) {
    if (row.size() < 100) {
        std::sort(row.begin(), row.end());
        return;
    }
    spare.resize(row.size());
    for (int shift = 0; shift < 32 && max_id >> shift > 0; shift += 8) {
        std::array<std::uint32_t, 257> place{};
        for (const std::uint64_t item : row) ++place[(id_of(item) >> shift & 0xff) + 1];
        std::partial_sum(place.begin(), place.end(), place.begin());
        for (const std::uint64_t item : row) spare[place[id_of(item) >> shift & 0xff]++] = item;
        row.swap(spare);
    }
}

// One thread's share of the texts.
struct Share {
    explicit Share(const TokenRules& rules) : splitter(rules) {}
    Share(Share&&) = delete;  // the pipeline points to the table

    // Counts a text; each token remembers its place in the current row, so a row needs no table of its own.
    void count(std::string_view text) {
        const std::size_t start = pairs.size();
        const auto add = [&](const TokenKey& key, std::uint32_t times) {
            const std::uint32_t id = table.find_or_add(key);
            Token& token = table[id];
            const std::size_t place = start + token.place;
            if (token.place != TokenTable::kNone && place < pairs.size() && pairs[place].id == id) {
                pairs[place].count += times;
            } else {
                token.place = static_cast<std::uint32_t>(pairs.size() - start);
                ++token.n_rows;
                pairs.push_back({id, times});
            }
        };
        splitter.split_counted(text, [&](const TokenKey& key, std::uint32_t times) { pipeline.push(key, times, add); });
        pipeline.flush(add);
    }

    Splitter splitter;
    TokenTable table;
    Pipeline pipeline{table};
    std::vector<Pair> pairs;
};

struct Merged {
    Token token;
    std::uint64_t start;  // decides most comparisons
    std::int64_t n_rows;
    std::int64_t total;
    std::int32_t column;

    bool operator<(const Merged& other) const {
        if (start != other.start) return start < other.start;
        std::array<char, 16> room, other_room;
        return token.text(room) < other.token.text(other_room);
    }
};

// The tokens of all shares, each once, and for every share its number -> place in the result.
class Union {
public:
    Union(std::deque<Share>& shares, int n_threads) : places_(shares.size()) {
        Pulse pulse;
        if (shares.size() == 1) {
            TokenTable& table = shares[0].table;
            places_[0].resize(table.size());
            std::iota(places_[0].begin(), places_[0].end(), 0u);
            for (std::uint32_t id = 0; id < table.size(); ++id) {
                pulse.beat();
                add(tokens, table[id]);
            }
            return;
        }
        // Tokens with equal low tag bits meet in one bin, so the bins are merged independently.
        constexpr std::size_t n_bins = 64;
        using Ids = std::vector<std::uint32_t>;
        std::vector<std::array<Ids, n_bins>> bins(shares.size());
        parallel_for(static_cast<std::int64_t>(shares.size()), n_threads, 1, [&](std::int64_t s, int) {
            const TokenTable& table = shares[static_cast<std::size_t>(s)].table;
            Pulse pulse;
            for (std::uint32_t id = 0; id < table.size(); ++id) {
                pulse.beat();
                bins[static_cast<std::size_t>(s)][table[id].tag % n_bins].push_back(id);
            }
            places_[static_cast<std::size_t>(s)].resize(table.size());
        });
        std::array<std::vector<Merged>, n_bins> parts;
        parallel_for(static_cast<std::int64_t>(n_bins), n_threads, 1, [&](std::int64_t b, int) {
            const std::size_t bin = static_cast<std::size_t>(b);
            TokenTable seen;
            Pulse pulse;
            for (std::size_t s = 0; s < shares.size(); ++s) {
                for (const std::uint32_t id : bins[s][bin]) {
                    pulse.beat();
                    const Token& token = shares[s].table[id];
                    const std::uint32_t place = seen.find_or_refer(token);
                    if (place == parts[bin].size()) {
                        add(parts[bin], token);
                    } else {
                        parts[bin][place].n_rows += token.n_rows;
                    }
                    places_[s][id] = place;
                }
            }
        });
        for (std::size_t bin = 0; bin < n_bins; ++bin) {
            const auto base = static_cast<std::uint32_t>(tokens.size());
            tokens.insert(tokens.end(), parts[bin].begin(), parts[bin].end());
            for (std::size_t s = 0; s < shares.size(); ++s) {
                for (const std::uint32_t id : bins[s][bin]) {
                    pulse.beat();
                    places_[s][id] += base;
                }
            }
        }
    }

    Merged& of(std::size_t share, std::uint32_t id) { return tokens[places_[share][id]]; }

    // For each number of a share its column or -1: a small array of its own, as it is read once for every pair.
    std::vector<std::int32_t> columns_of(std::size_t share) const {
        std::vector<std::int32_t> columns(places_[share].size());
        for (std::size_t id = 0; id < columns.size(); ++id) columns[id] = tokens[places_[share][id]].column;
        return columns;
    }

    std::vector<Merged> tokens;

private:
    static void add(std::vector<Merged>& to, const Token& token) {
        to.push_back({token, token.start(), token.n_rows, 0, -1});
    }
    std::vector<std::vector<std::uint32_t>> places_;
};

// Gives every token within the limits its column and returns them in column order.
std::vector<const Merged*> choose(std::vector<Merged>& tokens, const TokenLimits& limits) {
    std::vector<Merged*> chosen;
    for (Merged& token : tokens) {
        const auto n_rows = static_cast<double>(token.n_rows);
        if (n_rows >= limits.min_rows && n_rows <= limits.max_rows) chosen.push_back(&token);
    }
    Pulse pulse;  // sorting millions of tokens takes seconds
    const auto before = [&](const Merged* a, const Merged* b) {
        pulse.beat();
        return *a < *b;
    };
    if (limits.max_tokens > 0 && static_cast<std::int64_t>(chosen.size()) > limits.max_tokens) {
        const auto last = chosen.begin() + limits.max_tokens;
        std::nth_element(chosen.begin(), last, chosen.end(), [&](const Merged* a, const Merged* b) {
            pulse.beat();
            return a->total != b->total ? a->total > b->total : before(a, b);
        });
        chosen.erase(last, chosen.end());
    }
    std::sort(chosen.begin(), chosen.end(), before);
    for (std::size_t i = 0; i < chosen.size(); ++i) chosen[i]->column = static_cast<std::int32_t>(i);
    return {chosen.begin(), chosen.end()};
}

CountedTokens listed(const std::vector<const Merged*>& chosen) {
    CountedTokens out;
    std::size_t n_bytes = 0;
    for (const Merged* found : chosen) n_bytes += found->token.length;
    out.bytes.reserve(n_bytes);
    out.offsets.push_back(0);
    std::array<char, 16> room;
    Pulse pulse;
    for (const Merged* found : chosen) {
        const std::string_view text = found->token.text(room);
        pulse.beat();
        out.bytes.insert(out.bytes.end(), text.begin(), text.end());
        out.offsets.push_back(static_cast<std::int64_t>(out.bytes.size()));
        out.n_rows.push_back(found->n_rows);
        out.totals.push_back(found->total);
    }
    return out;
}

void set_room(CountRows& rows) {
    std::partial_sum(rows.pointers.begin(), rows.pointers.end(), rows.pointers.begin());
    const auto size = static_cast<std::size_t>(rows.pointers.back());
    rows.columns = std::make_unique_for_overwrite<std::int32_t[]>(size);
    rows.counts = std::make_unique_for_overwrite<std::int32_t[]>(size);
}

void write_row(CountRows& rows, std::size_t row, const std::vector<std::uint64_t>& pairs) {
    auto at = static_cast<std::size_t>(rows.pointers[row]);
    for (const std::uint64_t pair : pairs) {
        rows.columns[at] = static_cast<std::int32_t>(pair >> 32);
        rows.counts[at++] = static_cast<std::int32_t>(pair & 0xffffffffu);
    }
}

int threads_for(std::int64_t n_texts, int n_threads) {
    if (n_threads < 1) n_threads = max_threads();
    const std::int64_t useful = (n_texts + kChunk - 1) / kChunk;
    return static_cast<int>(std::clamp<std::int64_t>(useful, 1, n_threads));
}

// Rows whose columns are known while the text is read: read(splitter, text, found) appends the columns and counts of tokens, packed.
template <class Read>
CountRows fixed_columns(const Texts& texts, const TokenRules& rules, std::uint32_t max_id, int n_threads, Read&& read) {
    const auto n_texts = static_cast<std::int64_t>(texts.size());
    n_threads = threads_for(n_texts, n_threads);
    struct Local {
        Splitter splitter;
        std::vector<std::uint64_t> found, spare;  // packed
        std::vector<Pair> pairs;
    };
    std::deque<Local> locals;
    for (int t = 0; t < n_threads; ++t) locals.push_back({Splitter(rules), {}, {}, {}});
    std::vector<RowPlace> places(texts.size());
    CountRows out;
    out.pointers.assign(texts.size() + 1, 0);
    parallel_for(n_texts, n_threads, kChunk, [&](std::int64_t i, int thread) {
        const auto row = static_cast<std::size_t>(i);
        Local& local = locals[static_cast<std::size_t>(thread)];
        local.found.clear();
        read(local.splitter, texts[row], local.found);
        sort_by_id(local.found, local.spare, max_id);
        const std::size_t start = local.pairs.size();
        for (const std::uint64_t some : local.found) {
            const auto times = static_cast<std::uint32_t>(some);
            if (local.pairs.size() > start && local.pairs.back().id == id_of(some)) {
                local.pairs.back().count += times;
            } else {
                local.pairs.push_back({id_of(some), times});
            }
        }
        places[row] = {static_cast<std::uint32_t>(thread), static_cast<std::uint32_t>(local.pairs.size() - start), start};
        out.pointers[row + 1] = places[row].size;
    });
    set_room(out);
    parallel_for(n_texts, n_threads, kChunk, [&](std::int64_t i, int) {
        const RowPlace& place = places[static_cast<std::size_t>(i)];
        const Pair* from = locals[place.thread].pairs.data() + place.start;
        auto at = static_cast<std::size_t>(out.pointers[static_cast<std::size_t>(i)]);
        for (std::uint32_t j = 0; j < place.size; ++j, ++at) {
            out.columns[at] = static_cast<std::int32_t>(from[j].id);
            out.counts[at] = static_cast<std::int32_t>(from[j].count);
        }
    });
    return out;
}

}  // namespace

CountedTokens count_tokens(const Texts& texts, const TokenRules& rules, const TokenLimits& limits, int n_threads, CountRows* rows) {
    const auto n_texts = static_cast<std::int64_t>(texts.size());
    n_threads = threads_for(n_texts, n_threads);
    std::deque<Share> shares;
    for (int t = 0; t < n_threads; ++t) shares.emplace_back(rules);
    std::vector<RowPlace> places(texts.size());
    parallel_for(n_texts, n_threads, kChunk, [&](std::int64_t i, int thread) {
        Share& share = shares[static_cast<std::size_t>(thread)];
        const std::size_t start = share.pairs.size();
        share.count(texts[static_cast<std::size_t>(i)]);
        places[static_cast<std::size_t>(i)] = {static_cast<std::uint32_t>(thread), static_cast<std::uint32_t>(share.pairs.size() - start), start};
    });

    Union all(shares, n_threads);
    if (limits.want_totals || limits.max_tokens > 0) {
        Pulse pulse;
        for (std::size_t s = 0; s < shares.size(); ++s) {
            for (const Pair& pair : shares[s].pairs) {
                pulse.beat();
                all.of(s, pair.id).total += pair.count;
            }
        }
    }
    CountedTokens out = listed(choose(all.tokens, limits));
    out.n_seen = static_cast<std::int64_t>(all.tokens.size());
    if (!rows) return out;

    std::vector<std::vector<std::int32_t>> columns;
    for (std::size_t s = 0; s < shares.size(); ++s) columns.push_back(all.columns_of(s));
    const auto pairs_of = [&](std::int64_t i) {
        const RowPlace& place = places[static_cast<std::size_t>(i)];
        return shares[place.thread].pairs.data() + place.start;
    };
    rows->pointers.assign(texts.size() + 1, 0);
    parallel_for(n_texts, n_threads, kChunk, [&](std::int64_t i, int) {
        const RowPlace& place = places[static_cast<std::size_t>(i)];
        const Pair* pairs = pairs_of(i);
        const std::int32_t* column = columns[place.thread].data();
        std::int64_t kept = 0;
        for (std::uint32_t j = 0; j < place.size; ++j) kept += column[pairs[j].id] >= 0;
        rows->pointers[static_cast<std::size_t>(i) + 1] = kept;
    });
    set_room(*rows);
    std::vector<std::vector<std::uint64_t>> keys(static_cast<std::size_t>(n_threads)), spares(keys.size());
    const auto max_id = static_cast<std::uint32_t>(out.n_rows.size());
    parallel_for(n_texts, n_threads, kChunk, [&](std::int64_t i, int thread) {
        const RowPlace& place = places[static_cast<std::size_t>(i)];
        const Pair* pairs = pairs_of(i);
        auto& row = keys[static_cast<std::size_t>(thread)];
        row.clear();
        for (std::uint32_t j = 0; j < place.size; ++j) {
            const std::int32_t column = columns[place.thread][pairs[j].id];
            if (column >= 0) row.push_back(packed(static_cast<std::uint32_t>(column), pairs[j].count));
        }
        sort_by_id(row, spares[static_cast<std::size_t>(thread)], max_id);
        write_row(*rows, static_cast<std::size_t>(i), row);
    });
    return out;
}

CountRows look_up_tokens(const Texts& texts, const TokenRules& rules, const TokenTable& vocabulary, int n_threads) {
    using Found = std::vector<std::uint64_t>;
    return fixed_columns(texts, rules, vocabulary.size(), n_threads, [&](Splitter& splitter, std::string_view text, Found& found) {
        Pipeline pipeline(vocabulary);
        const auto look_up = [&](const TokenKey& key, std::uint32_t times) {
            const std::uint32_t id = vocabulary.find(key);
            if (id != TokenTable::kNone) found.push_back(packed(id, times));
        };
        splitter.split_counted(text, [&](const TokenKey& key, std::uint32_t times) { pipeline.push(key, times, look_up); });
        pipeline.flush(look_up);
    });
}

CountRows hash_tokens(const Texts& texts, const TokenRules& rules, std::uint32_t n_buckets, int n_threads) {
    using Found = std::vector<std::uint64_t>;
    return fixed_columns(texts, rules, n_buckets, n_threads, [&](Splitter& splitter, std::string_view text, Found& found) {
        splitter.split_counted(text, [&](const TokenKey& key, std::uint32_t times) {
            found.push_back(packed(static_cast<std::uint32_t>(key.hash % n_buckets), times));
        });
    });
}

std::vector<std::uint32_t> in_byte_order(const TokenTable& table) {
    struct Place {
        Merged token;
        std::uint32_t id;
    };
    std::vector<Place> places;
    places.reserve(table.size());
    for (std::uint32_t id = 0; id < table.size(); ++id) places.push_back({{table[id], table[id].start(), 0, 0, -1}, id});
    Pulse pulse;
    std::sort(places.begin(), places.end(), [&](const Place& a, const Place& b) {
        pulse.beat();
        return a.token < b.token;
    });
    std::vector<std::uint32_t> ids;
    ids.reserve(places.size());
    for (const Place& place : places) ids.push_back(place.id);
    return ids;
}

}  // namespace lw
