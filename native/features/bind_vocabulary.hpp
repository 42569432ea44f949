// Tokens by number as Python objects hold them, and the texts of a Python tuple.
#pragma once
#include <nanobind/nanobind.h>

#include "features/tokens.hpp"
#include "parallel.hpp"

namespace lw {

struct Vocabulary {
    TokenTable table;
};

// The UTF-8 bytes of every text, not copied: a str keeps its UTF-8 form, and the tuple keeps the strs. Python's own
// error comes out for an item that is no str or holds a lone surrogate.
inline Texts texts_of(const nanobind::tuple& texts) {
    Texts out;
    out.reserve(nanobind::len(texts));
    Pulse pulse;
    for (nanobind::handle text : texts) {
        pulse.beat();
        Py_ssize_t size = 0;
        const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
        if (!bytes) throw nanobind::python_error();
        out.emplace_back(bytes, static_cast<std::size_t>(size));
    }
    return out;
}

}  // namespace lw
