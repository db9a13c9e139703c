#include "candor/instruments/class_axes.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "candor/base/error.hpp"
#include "candor/base/sum.hpp"
#include "candor/instruments/mahalanobis.hpp"
#include "candor/linalg/eigenvectors.hpp"
#include "candor/linalg/gemm.hpp"

namespace candor::instruments {

ClassAxes::ClassAxes(const TrainingScatter& all, std::span<const std::size_t> findings)
    : mean_(all.mean),
      inverse_(std::ssize(findings), std::ssize(mean_)),
      toward_(std::ssize(findings), std::ssize(mean_)) {
    linalg::Eigenvectors found = linalg::eigenvectors(all.scatter.view());
    axes_ = std::move(found.rows);
    const auto n = static_cast<double>(all.rows), d = static_cast<double>(mean_.size());
    Matrix<double> apart(1, axes_.cols()), turned(1, axes_.cols());
    for (std::size_t f = 0; f < findings.size(); ++f) {
        const TrainingScatter::Finding& of = all.findings[findings[f]];
        CANDOR_REQUIRE(of.count[0] > 0 && of.count[1] > 0 && of.count[0] + of.count[1] == all.rows,
                       std::to_string(of.count[0]) + " and " + std::to_string(of.count[1]) + " of " +
                           std::to_string(all.rows) + " rows");
        std::ranges::transform(of.mean(all, 1), of.mean(all, 0), apart.row(0).begin(), std::minus<>());
        linalg::product(apart.view(), axes_.view(), turned.view());
        const double ridge = mahalanobis_ridge * of.within() / n / d;
        const auto row = static_cast<std::int64_t>(f);
        for (std::size_t j = 0; j < mean_.size(); ++j) {
            const double inverse = 1 / (std::max(0.0, found.values[j]) / n + ridge);
            inverse_.row(row)[j] = inverse;
            toward_.row(row)[j] = inverse * turned.row(0)[j];
        }
        Finding finding{static_cast<double>(of.count[1]) / n, static_cast<double>(of.count[0]) / n,
                        dot(std::as_const(turned).row(0), std::as_const(toward_).row(row)), 0};
        const double both = finding.share_positive * finding.share_negative;
        finding.back = both / (1 - both * finding.apart);
        CANDOR_REQUIRE(
            finding.back > 0 && std::isfinite(finding.back),
            "a covariance with trace " + std::to_string(of.within() / n) + " is not positive definite");
        findings_.push_back(finding);
    }
}

Matrix<double> ClassAxes::distances(Matrix<double> unit) const {
    const auto findings = std::ssize(findings_);
    Matrix<double> turned(unit.rows(), unit.cols()), squares(findings, unit.rows()),
        products(findings, unit.rows());
    for (std::int64_t i = 0; i < unit.rows(); ++i)
        std::ranges::transform(unit.row(i), mean_, unit.row(i).begin(), std::minus<>());
    linalg::product(std::as_const(unit).view(), axes_.view(), turned.view());
    linalg::product(toward_.view(), std::as_const(turned).view(), products.view());
    for (std::int64_t i = 0; i < turned.rows(); ++i)
        for (double& v : turned.row(i)) v *= v;
    linalg::product(inverse_.view(), std::as_const(turned).view(), squares.view());

    // The mean of a class lies at z = t D: m+ at p- D, m- at -p+ D.
    Matrix<double> out(findings, unit.rows());
    for (std::int64_t f = 0; f < findings; ++f) {
        const Finding& of = findings_[static_cast<std::size_t>(f)];
        for (std::size_t i = 0; i < out.row(f).size(); ++i) {
            const double zz = squares.row(f)[i], zd = products.row(f)[i];
            const auto squared = [&](double t) {
                const double along = zd - t * of.apart;
                return zz - t * zd - t * along + of.back * along * along;
            };
            // Rounding may bring a row that lies at the mean below 0.
            out.row(f)[i] =
                std::sqrt(std::max(0.0, std::min(squared(of.share_negative), squared(-of.share_positive))));
        }
    }
    return out;
}

}  // namespace candor::instruments
