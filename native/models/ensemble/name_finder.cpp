#include "models/ensemble/name_finder.hpp"

#include <algorithm>
#include <stdexcept>

namespace lw {
namespace {

std::size_t n_characters(std::string_view word) {
    return static_cast<std::size_t>(std::count_if(word.begin(), word.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

bool ends_with_any(std::string_view word, std::initializer_list<std::string_view> endings) {
    return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) { return word.ends_with(ending); });
}

}  // namespace

NameFinder::NameFinder(const std::vector<std::string_view>& phrases, std::vector<std::int64_t> starts, std::vector<std::int32_t> labels)
    : rules_(Analyzer::word, 1, 1, true, 1), phrases_(1, -1), starts_(std::move(starts)), labels_(std::move(labels)) {
    rules_.word_byte['_'] = 0;
    if (starts_.size() != phrases.size() + 1 || starts_.front() != 0 || starts_.back() != static_cast<std::int64_t>(labels_.size()) ||
        !std::is_sorted(starts_.begin(), starts_.end()))
        throw std::invalid_argument("every name needs its labels");
    std::size_t n_words = 1;
    for (const std::string_view phrase : phrases) n_words += 1 + static_cast<std::size_t>(std::count(phrase.begin(), phrase.end(), ' '));
    std::size_t room = 16;
    while (room < 2 * n_words) room *= 2;
    steps_.assign(room, {kNoStep, 0});
    ReadableCopy copy;
    for (std::size_t i = 0; i < phrases.size(); ++i) {
        std::int32_t node = 0;
        for (std::size_t begin = 0; begin <= phrases[i].size();) {
            const std::size_t end = std::min(phrases[i].find(' ', begin), phrases[i].size());
            const std::uint32_t id = words_.find_or_add(TokenKey::of(copy.of(phrases[i].substr(begin, end - begin))));
            Step& step = steps_[slot(static_cast<std::uint64_t>(node) << 32 | id)];
            if (step.from == kNoStep) {
                step = {static_cast<std::uint64_t>(node) << 32 | id, static_cast<std::int32_t>(phrases_.size())};
                phrases_.push_back(-1);
            }
            node = step.to;
            begin = end + 1;
        }
        if (phrases_[node] >= 0) throw std::invalid_argument("a name comes twice");
        phrases_[node] = static_cast<std::int32_t>(i);
    }
}

std::size_t NameFinder::slot(std::uint64_t from) const {
    const std::size_t mask = steps_.size() - 1;
    std::size_t place = static_cast<std::size_t>(detail::fold(from ^ 0xa0761d6478bd642full, 0xe7037ed1a0b428dbull)) & mask;
    while (steps_[place].from != kNoStep && steps_[place].from != from) place = (place + 1) & mask;
    return place;
}

std::int32_t NameFinder::next(std::int32_t node, std::int32_t word) const {
    if (word < 0) return -1;
    const Step& step = steps_[slot(static_cast<std::uint64_t>(node) << 32 | static_cast<std::uint32_t>(word))];
    return step.from == kNoStep ? -1 : step.to;
}

// The number of a word of a text without its ending, as `stem` in labelwood/models/ensemble/label_words.py cuts it; -1 if no name has it.
std::int32_t NameFinder::word(const TokenKey& key, ReadableCopy& copy) const {
    const std::string_view word(key.bytes, key.length);
    std::uint32_t id = 0;
    const std::size_t n = word.ends_with('s') ? n_characters(word) : 0;
    if (n > 4 && word.ends_with("ies")) {
        id = words_.find(TokenKey::of(copy.of(std::string(word.substr(0, word.size() - 3)) + 'y')));
    } else if (n > 4 && ends_with_any(word, {"ches", "shes", "sses", "xes", "oes"})) {
        id = words_.find(TokenKey::of(word.substr(0, word.size() - 2)));
    } else if (n > 3 && !ends_with_any(word, {"ss", "us", "is"})) {
        id = words_.find(TokenKey::of(word.substr(0, word.size() - 1)));
    } else {
        id = words_.find(key);
    }
    return id == TokenTable::kNone ? -1 : static_cast<std::int32_t>(id);
}

void NameFinder::find(std::string_view text, Room& room) const {
    room.words.clear();
    room.found.clear();
    room.splitter.split(text, [&](const TokenKey& key) { room.words.push_back(word(key, room.copy)); });
    std::size_t reach = 0;  // where the longest names so far end
    for (std::size_t first = 0; first < room.words.size(); ++first) {
        room.ends.clear();
        std::int32_t node = 0;
        for (std::size_t at = first; at < room.words.size() && (node = next(node, room.words[at])) >= 0; ++at) {
            if (phrases_[node] >= 0) {
                room.ends.push_back(phrases_[node]);
                room.ends.push_back(static_cast<std::int32_t>(at + 1));
            }
        }
        const std::size_t longest = room.ends.empty() ? 0 : static_cast<std::size_t>(room.ends.back());
        for (std::size_t i = 0; i < room.ends.size(); i += 2) {
            const auto end = static_cast<std::size_t>(room.ends[i + 1]);
            const bool alone = end == longest && end > reach;
            for (std::int64_t p = starts_[room.ends[i]]; p < starts_[room.ends[i] + 1]; ++p)
                room.found.push_back({labels_[p], 1.0f, alone ? 1.0f : 0.0f, static_cast<float>(first)});
        }
        reach = std::max(reach, longest);
    }
    std::stable_sort(room.found.begin(), room.found.end(), [](const FoundName& a, const FoundName& b) { return a.label < b.label; });
    std::size_t n = 0;
    for (const FoundName& name : room.found) {
        if (n > 0 && room.found[n - 1].label == name.label) {
            room.found[n - 1].times += name.times;
            room.found[n - 1].alone += name.alone;
        } else {
            room.found[n++] = name;
        }
    }
    room.found.resize(n);
}

}  // namespace lw
