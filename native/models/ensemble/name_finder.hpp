// Where the names of labels stand in a text, word by word in their order.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "features/splitter.hpp"

namespace lw {

// A label whose name stands in a text: how often, how often not within a longer name, and the place of its first word.
struct FoundName {
    std::int32_t label;
    float times, alone, first;
};

// Words are runs of letters and digits in lower case, without the endings of English plurals.
class NameFinder {
public:
    // phrases: the words of each name, already without endings, one blank between; labels of phrase i: labels[starts[i] .. starts[i + 1]).
    NameFinder(const std::vector<std::string_view>& phrases, std::vector<std::int64_t> starts, std::vector<std::int32_t> labels);

    // Memory of one thread.
    struct Room {
        explicit Room(const NameFinder& finder) : splitter(finder.rules_) {}

        Splitter splitter;
        ReadableCopy copy;
        std::vector<std::int32_t> words, ends;
        std::vector<FoundName> found;
    };

    // Fills room.found, by rising labels.
    void find(std::string_view text, Room& room) const;

private:
    struct Step {
        std::uint64_t from;  // node and word; kNoStep in a free slot
        std::int32_t to;
    };
    static constexpr std::uint64_t kNoStep = ~0ull;

    std::int32_t word(const TokenKey& key, ReadableCopy& copy) const;
    std::size_t slot(std::uint64_t from) const;
    std::int32_t next(std::int32_t node, std::int32_t word) const;

    TokenRules rules_;
    TokenTable words_;
    std::vector<Step> steps_;            // open addressing: node and word -> node
    std::vector<std::int32_t> phrases_;  // the name that ends at a node, or -1
    std::vector<std::int64_t> starts_;
    std::vector<std::int32_t> labels_;
};

}  // namespace lw
