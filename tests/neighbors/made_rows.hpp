#pragma once

// Feature rows made by formula for the tests of this room.

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <numbers>
#include <string_view>
#include <vector>

#include "candor/base/index.hpp"
#include "candor/base/matrix.hpp"
#include "candor/base/random.hpp"

namespace candor::testing {

/// Normal numbers by Box and Muller.
class Normal {
  public:
    explicit Normal(std::string_view purpose) : stream_(8, purpose, 0) {}
    double operator()() {
        const double radius = std::sqrt(-2 * std::log(stream_.uniform(next_))),
                     turn = stream_.uniform(next_ + 1);
        next_ += 2;
        return radius * std::cos(2 * std::numbers::pi * turn);
    }

  private:
    Stream stream_;
    std::uint64_t next_ = 0;
};

template <class T>
Matrix<T> matrix_of(std::initializer_list<std::initializer_list<double>> rows) {
    Matrix<T> out(static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows.begin()->size()));
    std::int64_t i = 0;
    for (const auto& row : rows) {
        std::size_t j = 0;
        for (const double v : row) out.row(i)[j++] = static_cast<T>(v);
        ++i;
    }
    return out;
}

template <class T>
Matrix<T> gaussian(std::int64_t rows, std::int64_t dimension) {
    Normal normal("gaussian");
    Matrix<T> out(rows, dimension);
    for (std::int64_t i = 0; i < rows; ++i) {
        for (T& v : out.row(i)) v = static_cast<T>(normal());
    }
    return out;
}

/// Rows around one direction with mean cosine about 1 / (1 + width^2): 0.999 at width 0.0316.
template <class T>
Matrix<T> cone(std::int64_t rows, std::int64_t dimension, double width) {
    Normal normal("cone");
    std::vector<double> axis(static_cast<std::size_t>(dimension));
    double squares = 0;
    for (double& v : axis) {
        v = normal();
        squares += v * v;
    }
    const double spread = width * std::sqrt(squares / static_cast<double>(dimension));
    Matrix<T> out(rows, dimension);
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < axis.size(); ++j)
            out.row(i)[j] = static_cast<T>(axis[j] + spread * normal());
    }
    return out;
}

inline std::vector<ContextRow> first_rows(std::int64_t count) {
    std::vector<ContextRow> rows;
    for (std::int64_t i = 0; i < count; ++i) rows.emplace_back(i);
    return rows;
}

}  // namespace candor::testing
