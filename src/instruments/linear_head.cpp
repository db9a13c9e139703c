// z = w.x + b. Parameters of a head: w (d), b.

#include <algorithm>

#include "candor/base/sum.hpp"
#include "candor/instruments/logistic_loss.hpp"
#include "candor/linalg/gemm.hpp"
#include "instruments/head_model.hpp"

namespace candor::instruments {

namespace {

/// Findings fill up whole vectors of any processor, so that a product has one of a few shapes.
constexpr std::int64_t finding_multiple = 16;

class LinearHead final : public HeadModel {
  public:
    LinearHead(std::int64_t findings, std::int64_t dimension)
        : dimension_(dimension),
          padded_((findings + finding_multiple - 1) / finding_multiple * finding_multiple),
          weights_(padded_, dimension),
          by_logit_(padded_, batch_rows),
          logits_(batch_rows, padded_),
          gradient_(padded_, size()) {
        for (std::int64_t f = 0; f < padded_; ++f) std::ranges::fill(weights_.row(f), 0.0F);
    }

    std::int64_t size() const override { return dimension_ + 1; }
    std::int64_t fan_in(std::int64_t) const override { return dimension_; }

    void step(const Batch& batch, HeadState& state) override {
        for (std::int64_t f = 0; f < batch.findings(); ++f)
            std::ranges::copy(state.parameters.row(f).first(width()), weights_.row(f).begin());
        linalg::product(batch.features(), weights_.view(), logits_.view());

        std::vector<bool> labelled(static_cast<std::size_t>(batch.findings()));
        for (std::int64_t f = 0; f < padded_; ++f) {
            const std::span<float> mine = by_logit_.row(f);
            if (f >= batch.findings()) {
                std::ranges::fill(mine, 0.0F);
                continue;
            }
            const float bias = state.parameters.row(f)[width()];
            const auto column = static_cast<std::size_t>(f);
            for (std::int64_t i = 0; i < batch_rows; ++i)
                mine[static_cast<std::size_t>(i)] = logits_.row(i)[column] + bias;
            labelled[column] = loss_gradient(mine, batch.labels(f), mine) > 0;
        }

        MatrixView<float> by_weight = gradient_.view();
        by_weight.cols = dimension_;
        linalg::multiply(by_logit_.view(), batch.features(), by_weight);
        for (std::int64_t f = 0; f < batch.findings(); ++f) {
            if (!labelled[static_cast<std::size_t>(f)]) continue;
            double by_bias = 0;
            for (const float g : by_logit_.row(f)) by_bias += g;
            gradient_.row(f)[width()] = static_cast<float>(by_bias);
            state.update(f, gradient_.row(f));
        }
    }

    void logits(MatrixView<const float> features, MatrixView<const float> parameters,
                MatrixView<double> out) override {
        for (std::int64_t f = 0; f < parameters.rows; ++f) {
            const std::span<const float> w = parameters.row(f).first(width());
            const double bias = parameters.row(f)[width()];
            for (std::int64_t i = 0; i < features.rows; ++i)
                out.row(f)[static_cast<std::size_t>(i)] = dot(w, features.row(i)) + bias;
        }
    }

    double lipschitz(std::span<const float> parameters) const override {
        return norm(parameters.first(width()));
    }

  private:
    std::size_t width() const { return static_cast<std::size_t>(dimension_); }

    std::int64_t dimension_, padded_;
    Matrix<float> weights_;   // padded findings x d
    Matrix<float> by_logit_;  // padded findings x batch rows
    Matrix<float> logits_;    // batch rows x padded findings
    Matrix<float> gradient_;  // padded findings x parameters
};

}  // namespace

std::unique_ptr<HeadModel> linear_head(std::int64_t findings, std::int64_t dimension) {
    return std::make_unique<LinearHead>(findings, dimension);
}

}  // namespace candor::instruments
