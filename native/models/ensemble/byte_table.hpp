// ByteTable: a dense table of bytes that sparse rows are multiplied with.
#pragma once
#include <cstdint>

namespace lw {

// Row-major: n_rows x dim.
struct ByteTable {
    const std::int8_t* data;
    std::int64_t n_rows;
    std::int64_t dim;
};

}  // namespace lw
