// z = v.relu(W x + c) + b with 256 units. Parameters of a head: W (units x d), c (units), v (units), b.
//
// The heads of a batch are stepped one after the other. A head's W, its activations and its gradient then
// stay in the cache from the forward product to the update, which would otherwise carry every gradient to
// memory and back; and no bit of a head depends on which others are trained beside it.

#include <algorithm>
#include <array>
#include <utility>

#include "candor/base/by_processor.hpp"
#include "candor/base/sum.hpp"
#include "candor/instruments/logistic_loss.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/linalg/singular_values.hpp"
#include "instruments/head_model.hpp"

namespace candor::instruments {

namespace {

constexpr std::int64_t units = 256;

/// The parameters of one head, or their gradient, by name.
template <class T>
struct Parts {
    MatrixView<T> w;
    std::span<T> c, v;
    T& b;

    Parts(std::span<T> all, std::int64_t dimension)
        : w{all.data(), units, dimension, dimension},
          c(all.subspan(static_cast<std::size_t>(units * dimension), units)),
          v(all.subspan(static_cast<std::size_t>(units * (dimension + 1)), units)),
          b(all.back()) {}
};

/// row <- relu(row + bias), where a NaN stays NaN, and z <- z + weight row.
CANDOR_BY_PROCESSOR void activate_unit(float* row, float bias, double weight, double* z) {
    // Two loops, each of a form that compilers make vectors of.
    for (std::int64_t i = 0; i < batch_rows; ++i) {
        const float h = row[i] + bias;
        row[i] = h <= 0.0F ? 0.0F : h;
    }
    for (std::int64_t i = 0; i < batch_rows; ++i) z[i] += weight * row[i];
}

/// by_row <- weight by_logit where the unit is active, else 0.
CANDOR_BY_PROCESSOR void pass_back(const float* row, const float* by_logit, float weight, float* by_row) {
    for (std::int64_t i = 0; i < batch_rows; ++i) by_row[i] = row[i] > 0 ? weight * by_logit[i] : 0;
}

/// z of the rows of a batch.
using Logits = std::array<double, batch_rows>;

class HiddenHead final : public HeadModel {
  public:
    explicit HiddenHead(std::int64_t dimension)
        : dimension_(dimension),
          hidden_(units, batch_rows),
          by_hidden_(units, batch_rows),
          gradient_(1, size()) {}

    std::int64_t size() const override { return units * (dimension_ + 2) + 1; }
    std::int64_t fan_in(std::int64_t i) const override {
        return i < units * (dimension_ + 1) ? dimension_ : units;
    }

    void step(const Batch& batch, HeadState& state) override {
        for (std::int64_t f = 0; f < batch.findings(); ++f) step_one(batch, f, state);
    }

    void logits(MatrixView<const float> features, MatrixView<const float> parameters,
                MatrixView<double> out) override {
        // In double, so that the only roundings that a margin shows are those of the rows. In whole blocks,
        // the last one filled up: equal rows get equal logits wherever they stand.
        Matrix<double> w(units, dimension_), block(batch_rows, dimension_), hidden(units, batch_rows);
        for (std::int64_t f = 0; f < parameters.rows; ++f) {
            const Parts<const float> head(parameters.row(f), dimension_);
            for (std::int64_t u = 0; u < units; ++u) std::ranges::copy(head.w.row(u), w.row(u).begin());
            for (std::int64_t first = 0; first < features.rows; first += batch_rows) {
                const std::int64_t count = std::min(batch_rows, features.rows - first);
                for (std::int64_t i = 0; i < count; ++i)
                    std::ranges::copy(features.row(first + i), block.row(i).begin());
                for (std::int64_t i = count; i < batch_rows; ++i) std::ranges::fill(block.row(i), 0.0);
                linalg::product(w.view(), block.view(), hidden.view());
                Logits z;
                z.fill(head.b);
                for (std::size_t u = 0; u < units; ++u) {
                    const double bias = head.c[u], weight = head.v[u];
                    const std::span<const double> row =
                        std::as_const(hidden).row(static_cast<std::int64_t>(u));
                    for (std::size_t i = 0; i < z.size(); ++i) {
                        const double h = row[i] + bias;
                        z[i] += weight * (h <= 0 ? 0 : h);
                    }
                }
                std::copy_n(z.begin(), count, out.row(f).begin() + first);
            }
        }
    }

    double lipschitz(std::span<const float> parameters) const override {
        const Parts<const float> head(parameters, dimension_);
        return norm(head.v) * linalg::singular_values(head.w).front();
    }

  private:
    /// hidden_ = relu(W x + c), one row a unit and one column a row of `features`; returns z.
    Logits activate(MatrixView<const float> features, const Parts<const float>& head) {
        linalg::product(head.w, features, hidden_.view());
        Logits z;
        z.fill(head.b);
        for (std::size_t u = 0; u < units; ++u)
            activate_unit(hidden_.row(static_cast<std::int64_t>(u)).data(), head.c[u], head.v[u], z.data());
        return z;
    }

    void step_one(const Batch& batch, std::int64_t finding, HeadState& state) {
        const Parts<const float> head(std::as_const(state.parameters).row(finding), dimension_);
        const Logits z = activate(batch.features(), head);
        std::array<float, batch_rows> by_logit;
        std::ranges::transform(z, by_logit.begin(), [](double value) { return static_cast<float>(value); });
        if (loss_gradient(by_logit, batch.labels(finding), by_logit) == 0) return;

        std::array<float, batch_rows> ones;
        ones.fill(1);
        const std::span<const float> all_ones(ones), g(by_logit);
        const Parts<float> gradient(gradient_.row(0), dimension_);
        for (std::size_t u = 0; u < units; ++u) {
            const std::span<const float> row = std::as_const(hidden_).row(static_cast<std::int64_t>(u));
            const std::span<float> by_row = by_hidden_.row(static_cast<std::int64_t>(u));
            pass_back(row.data(), by_logit.data(), head.v[u], by_row.data());
            gradient.v[u] = static_cast<float>(dot(g, row));
            gradient.c[u] = static_cast<float>(dot(all_ones, std::span<const float>(by_row)));
        }
        gradient.b = static_cast<float>(dot(all_ones, g));
        linalg::multiply(by_hidden_.view(), batch.features(), gradient.w);
        state.update(finding, gradient_.row(0));
    }

    std::int64_t dimension_;
    Matrix<float> hidden_, by_hidden_;  // units x batch rows
    Matrix<float> gradient_;            // one row of parameters
};

}  // namespace

std::unique_ptr<HeadModel> hidden_head(std::int64_t dimension) {
    return std::make_unique<HiddenHead>(dimension);
}

}  // namespace candor::instruments
