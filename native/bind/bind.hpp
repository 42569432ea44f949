// Array views for the bindings, and the list of binding functions.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "interrupt.hpp"

namespace lw {

template <class T>
using In = nanobind::ndarray<const T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
template <class T>
using Out = nanobind::ndarray<T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
template <class T>
using In2 = nanobind::ndarray<const T, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;
template <class T>
using Out2 = nanobind::ndarray<T, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;

// Gives up the GIL for a kernel that may take long, and begins the time between two looks for Ctrl-C.
class WithoutGil {
public:
    WithoutGil() { begin_call(); }

private:
    nanobind::gil_scoped_release released_;
};

// One function per bind_*.cpp.
void bind_boosting(nanobind::module_& m);
void bind_candidates(nanobind::module_& m);
void bind_dense_rows(nanobind::module_& m);
void bind_hits(nanobind::module_& m);
void bind_hsoftmax(nanobind::module_& m);
void bind_index_search(nanobind::module_& m);
void bind_kmeans(nanobind::module_& m);
void bind_labelspace(nanobind::module_& m);
void bind_linear(nanobind::module_& m);
void bind_neighbors(nanobind::module_& m);
void bind_network(nanobind::module_& m);
void bind_parse(nanobind::module_& m);
void bind_row_forest(nanobind::module_& m);
void bind_shortlist(nanobind::module_& m);
void bind_text_rows(nanobind::module_& m);
void bind_tokens(nanobind::module_& m);
void bind_training(nanobind::module_& m);
void bind_twomeans(nanobind::module_& m);
void bind_walks(nanobind::module_& m);

}  // namespace lw
