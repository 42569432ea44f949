// The Python module labelwood._native. One bind_*.cpp per topic, beside its kernels; only these files and this folder know Python.
#include <nanobind/nanobind.h>

#include "bind/bind.hpp"
#include "parallel.hpp"

namespace nb = nanobind;

namespace {

// Runs Python's handlers of the signals that came, and throws what they raise: KeyboardInterrupt after Ctrl-C. Python
// runs them in its main thread only; from another one this does nothing. The calling thread may hold the GIL or not.
void run_signal_handlers() {
    nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace

NB_MODULE(_native, m) {
#ifndef LW_SANITIZED
    // A daemon thread that still holds a model when the program ends is no fault of the program: users are not told of it.
    nb::set_leak_warnings(false);
#endif
    m.doc() = "labelwood's C++ kernels: plain arrays in and out; the Python modules around it hold the policy.";
    m.def("max_threads", &lw::max_threads, "The number of threads that a call with n_threads=0 uses.");
    lw::set_interrupt_check(run_signal_handlers);
    lw::bind_boosting(m);
    lw::bind_candidates(m);
    lw::bind_dense_rows(m);
    lw::bind_hits(m);
    lw::bind_hsoftmax(m);
    lw::bind_index_search(m);
    lw::bind_kmeans(m);
    lw::bind_labelspace(m);
    lw::bind_linear(m);
    lw::bind_neighbors(m);
    lw::bind_network(m);
    lw::bind_parse(m);
    lw::bind_row_forest(m);
    lw::bind_shortlist(m);
    lw::bind_text_rows(m);
    lw::bind_tokens(m);
    lw::bind_training(m);
    lw::bind_twomeans(m);
    lw::bind_walks(m);
}
