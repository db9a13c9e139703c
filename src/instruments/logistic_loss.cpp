#include "candor/instruments/logistic_loss.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "candor/base/error.hpp"
#include "candor/instruments/batches.hpp"

namespace candor::instruments {

namespace {

void require_equal(std::size_t logits, std::size_t labels) {
    CANDOR_REQUIRE(logits == labels,
                   std::to_string(logits) + " logits, " + std::to_string(labels) + " labels");
}

}  // namespace

std::int64_t loss_gradient(std::span<const float> logits, std::span<const std::int8_t> labels,
                           std::span<float> gradient) {
    require_equal(logits.size(), labels.size());
    require_equal(gradient.size(), labels.size());
    std::int64_t labelled = 0;
    for (const std::int8_t label : labels) labelled += label != missing_label;
    const auto count = static_cast<float>(labelled);
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (labels[i] == missing_label) {
            gradient[i] = 0;
        } else {
            // 1 - sigmoid(z) loses its digits where z is large; sigmoid(-z) does not.
            const bool positive = labels[i] == 1;
            const float wrong = 1 / (1 + std::exp(positive ? logits[i] : -logits[i]));
            gradient[i] = (positive ? -wrong : wrong) / count;
        }
    }
    return labelled;
}

double mean_loss(std::span<const double> logits, std::span<const std::int8_t> labels) {
    require_equal(logits.size(), labels.size());
    double sum = 0;
    std::int64_t labelled = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (labels[i] == missing_label) continue;
        CANDOR_REQUIRE(std::isfinite(logits[i]), "logit " + std::to_string(i) + " is not finite");
        const double against = labels[i] == 1 ? -logits[i] : logits[i];
        sum += std::fmax(against, 0.0) + std::log1p(std::exp(-std::abs(against)));
        ++labelled;
    }
    if (labelled == 0) return std::numeric_limits<double>::quiet_NaN();
    return sum / static_cast<double>(labelled);
}

}  // namespace candor::instruments
