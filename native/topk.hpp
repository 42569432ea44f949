// The k best (score, label) seen so far: larger score first, equal scores to the smaller label.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>

namespace lw {

struct Scored {
    float score;
    std::int32_t label;
};

// Labels with scores that a kernel adds up at once, at most.
inline constexpr int kMostAddedUp = 64;

inline bool better(const Scored& a, const Scored& b) { return a.score > b.score || (a.score == b.score && a.label < b.label); }

// A heap whose front is the worst kept entry; the caller owns the memory (k entries).
class TopKHeap {
public:
    TopKHeap(Scored* memory, std::int32_t k) : entries_(memory), k_(k) {}

    // A score that is no number counts as the worst one: unordered scores would lead std::sort outside the array.
    void offer(float score, std::int32_t label) {
        const Scored entry{score == score ? score : -std::numeric_limits<float>::infinity(), label};
        if (size_ < k_) {
            entries_[size_++] = entry;
            std::push_heap(entries_, entries_ + size_, better);
        } else if (better(entry, entries_[0])) {
            replace_worst(entry);
        }
    }
    // The smallest score that may still enter.
    bool full() const { return size_ == k_; }
    float worst() const { return entries_[0].score; }
    std::int32_t size() const { return size_; }
    // Best first; the heap is used up.
    const Scored* sorted() {
        std::sort(entries_, entries_ + size_, better);
        return entries_;
    }

private:
    // One way down the heap; taking the worst entry out and putting the new one in would be two.
    void replace_worst(const Scored& entry) {
        std::int32_t place = 0;
        for (std::int32_t child = 1; child < k_; child = 2 * place + 1) {
            child += child + 1 < k_ && better(entries_[child], entries_[child + 1]);  // the worse of two
            if (!better(entry, entries_[child])) break;
            entries_[place] = entries_[child];
            place = child;
        }
        entries_[place] = entry;
    }

    Scored* entries_;
    std::int32_t k_;
    std::int32_t size_ = 0;
};

}  // namespace lw
