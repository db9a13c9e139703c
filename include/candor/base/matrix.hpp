#pragma once

/// Dense row-major matrices: a view, and the aligned storage behind it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

namespace candor {

/// `rows` x `cols` values, row-major; row i starts at `data + i * stride`, stride >= cols.
template <class T>
struct MatrixView {
    T* data = nullptr;
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    std::int64_t stride = 0;

    std::span<T> row(std::int64_t i) const { return {data + i * stride, static_cast<std::size_t>(cols)}; }
    MatrixView block(std::int64_t first, std::int64_t count) const {
        return {data + first * stride, count, cols, stride};
    }
    operator MatrixView<const T>() const { return {data, rows, cols, stride}; }
};

/// Asks the system for large pages behind `bytes` from `begin` on, where it gives them on request: a matrix
/// of gigabytes otherwise costs a page fault every 4 KiB. Without effect on small memory.
void prefer_large_pages(void* begin, std::size_t bytes);

/// Owning matrix; each row starts on a 64-byte boundary. Values are uninitialised.
template <class T>
class Matrix {
  public:
    Matrix() = default;
    Matrix(std::int64_t rows, std::int64_t cols)
        : rows_(rows), cols_(cols), stride_((cols + lane - 1) / lane * lane) {
        const std::size_t bytes = static_cast<std::size_t>(rows * stride_ + lane) * sizeof(T);
        storage_.reset(static_cast<T*>(::operator new[](bytes, std::align_val_t{64})));
        prefer_large_pages(storage_.get(), bytes);
    }

    std::int64_t rows() const { return rows_; }
    std::int64_t cols() const { return cols_; }
    MatrixView<T> view() { return {storage_.get(), rows_, cols_, stride_}; }
    MatrixView<const T> view() const { return {storage_.get(), rows_, cols_, stride_}; }
    std::span<T> row(std::int64_t i) { return view().row(i); }
    std::span<const T> row(std::int64_t i) const { return view().row(i); }

  private:
    static constexpr std::int64_t lane = 64 / sizeof(T);
    struct Free {
        void operator()(T* p) const { ::operator delete[](p, std::align_val_t{64}); }
    };
    std::int64_t rows_ = 0, cols_ = 0, stride_ = 0;
    std::unique_ptr<T[], Free> storage_;
};

}  // namespace candor
