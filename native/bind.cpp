// The Python module labelwood._native. One bind_*.cpp per topic; only these files know Python.
#include <nanobind/nanobind.h>

#include "bind.hpp"
#include "parallel.hpp"

namespace nb = nanobind;

NB_MODULE(_native, m) {
    m.doc() = "labelwood's C++ kernels: plain arrays in and out; the Python modules around it hold the policy.";
    m.def("max_threads", &lw::max_threads, "The number of threads that a call with n_threads=0 uses.");
    lw::bind_dense_rows(m);
    lw::bind_hits(m);
    lw::bind_hsoftmax(m);
    lw::bind_index_search(m);
    lw::bind_kmeans(m);
    lw::bind_labelspace(m);
    lw::bind_linear(m);
    lw::bind_neighbors(m);
    lw::bind_parse(m);
    lw::bind_shortlist(m);
    lw::bind_tokens(m);
    lw::bind_twomeans(m);
    lw::bind_walks(m);
}
