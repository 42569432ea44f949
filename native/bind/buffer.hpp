// One-dimensional arrays of a call that takes microseconds. An nb::ndarray goes by DLPack, half a microsecond an array;
// the buffer protocol gives the same memory in a fifth of that. Longer calls use In and Out of bind.hpp.
#pragma once
#include <nanobind/nanobind.h>

#include <cstdint>
#include <type_traits>

namespace lw {

// A view of an array of T (std::int32_t or float; const: only to be read). The GIL is held where it begins and ends.
template <class T>
class Buffer {
public:
    explicit Buffer(nanobind::handle object) noexcept {
        constexpr int wanted = PyBUF_ND | PyBUF_FORMAT | (std::is_const_v<T> ? 0 : PyBUF_WRITABLE);
        constexpr char kind = std::is_floating_point_v<T> ? 'f' : 'i';
        if (PyObject_GetBuffer(object.ptr(), &view_, wanted) != 0) {
            PyErr_Clear();  // the caller says what is wrong, or goes another way
        } else {
            fits_ = view_.ndim == 1 && view_.itemsize == sizeof(T) && view_.format && view_.format[0] == kind && !view_.format[1];
        }
    }
    ~Buffer() {
        if (view_.obj) PyBuffer_Release(&view_);
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    // Whether the object is a contiguous array of T; nothing else may be asked if it is not.
    bool fits() const { return fits_; }
    T* data() const { return static_cast<T*>(view_.buf); }
    std::size_t size() const { return static_cast<std::size_t>(view_.shape[0]); }
    T& operator()(std::size_t i) const { return data()[i]; }

private:
    Py_buffer view_{};
    bool fits_ = false;
};

}  // namespace lw
