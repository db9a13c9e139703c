#pragma once

/// What the kinds of heads have in common: a head is a row of parameters, and a batch makes a step of it.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "candor/base/matrix.hpp"
#include "candor/instruments/batches.hpp"

namespace candor::instruments {

/// Everything that training changes; one row, and one step count, a finding.
struct HeadState {
    Matrix<float> parameters, first_moments, second_moments;  ///< findings x HeadModel::size()
    std::vector<std::int64_t> steps;
    std::int64_t epochs = 0;

    /// Zeros. @param size  parameters of a head
    HeadState(std::int64_t findings, std::int64_t size);

    /// One step of Adam by the gradient of the finding's parameters.
    void update(std::int64_t finding, std::span<const float> gradient);
};

/// One kind of head, with the scratch memory of one thread.
class HeadModel {
  public:
    virtual ~HeadModel() = default;

    /// Parameters of a head.
    virtual std::int64_t size() const = 0;
    /// Inputs of the unit that parameter i belongs to.
    virtual std::int64_t fan_in(std::int64_t i) const = 0;
    /// One step of every finding that has a labelled row in the batch; the others stay as they are.
    virtual void step(const Batch& batch, HeadState& state) = 0;
    /// z of every row (columns of `out`) under every head (rows of `parameters` and of `out`).
    virtual void logits(MatrixView<const float> features, MatrixView<const float> parameters,
                        MatrixView<double> out) = 0;
    /// A bound L on |z(a) - z(b)| / |a - b|.
    virtual double lipschitz(std::span<const float> parameters) const = 0;
};

std::unique_ptr<HeadModel> linear_head(std::int64_t findings, std::int64_t dimension);
std::unique_ptr<HeadModel> hidden_head(std::int64_t dimension);

}  // namespace candor::instruments
