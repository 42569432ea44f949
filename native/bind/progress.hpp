// A Python function as the progress report of native code, which runs without the GIL.
#pragma once
#include <cstdint>

#include "bind/bind.hpp"

namespace lw {

// What report_progress is given as its context. interrupted: Python's error is set, for the caller to throw on.
struct PythonProgress {
    nanobind::object function;
    bool interrupted = false;
};

// Calls function(done, total); false if it raised, or if a signal such as Ctrl-C came.
inline bool report_progress(void* context, std::int64_t done, std::int64_t total) {
    auto* state = static_cast<PythonProgress*>(context);
    nanobind::gil_scoped_acquire gil;
    try {
        if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
        state->function(done, total);
        return true;
    } catch (nanobind::python_error& error) {
        error.restore();
        state->interrupted = true;
        return false;
    }
}

}  // namespace lw
