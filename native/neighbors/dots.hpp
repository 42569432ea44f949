// Inner products of dense rows; rows are padded with zeros to a multiple of 16 columns.
#pragma once
#include <cstdint>

namespace lw {

inline constexpr int kQueriesAtOnce = 4;

}  // namespace lw
