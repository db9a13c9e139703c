#include "candor/bench/made_rows.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>

#include "candor/base/error.hpp"
#include "candor/base/random.hpp"
#include "candor/linalg/gemm.hpp"

namespace candor::bench {

namespace {

/// Standard normal numbers by Box and Muller's way.
Matrix<float> normal_rows(std::string_view purpose, std::int64_t n, std::int64_t d) {
    Matrix<float> rows(n, d);
    for (std::int64_t i = 0; i < n; ++i) {
        const Stream stream(0, purpose, static_cast<std::uint64_t>(i));
        const std::span<float> row = rows.row(i);
        for (std::size_t j = 0; j < row.size(); j += 2) {
            const double radius = std::sqrt(-2 * std::log(stream.uniform(j)));
            const double angle = 2 * std::numbers::pi * stream.uniform(j + 1);
            row[j] = static_cast<float>(radius * std::cos(angle));
            if (j + 1 < row.size()) row[j + 1] = static_cast<float>(radius * std::sin(angle));
        }
    }
    return rows;
}

}  // namespace

Matrix<float> isotropic_rows(std::int64_t n, std::int64_t d) {
    return normal_rows("bench/isotropic", n, d);
}

Matrix<float> directed_rows(std::int64_t n, std::int64_t d) {
    constexpr std::int64_t sources = 64;
    Matrix<float> mixed = normal_rows("bench/sources", n, sources);
    for (std::int64_t i = 0; i < n; ++i) {
        float order = 1;
        for (float& value : mixed.row(i)) value /= order++;
    }
    const Matrix<float> weights = normal_rows("bench/weights", d, sources);
    Matrix<float> rows(n, d);
    linalg::product(mixed.view(), weights.view(), rows.view());
    for (std::int64_t i = 0; i < n; ++i) {
        for (float& value : rows.row(i)) value = std::max(0.0F, value);
    }
    return rows;
}

MadeFindings::MadeFindings(const std::vector<std::vector<bool>>& positive) {
    for (const std::vector<bool>& has : positive) {
        Finding finding;
        std::vector<std::int64_t> position;
        for (std::size_t row = 0; row < has.size(); ++row) {
            std::vector<ContextRow>& list = finding.sides[has[row] ? 1 : 0].list;
            position.push_back(std::ssize(list));
            list.emplace_back(static_cast<std::int64_t>(row));
        }
        const auto rarer =
            static_cast<std::int64_t>(std::min(finding.sides[0].list.size(), finding.sides[1].list.size()));
        CANDOR_REQUIRE(rarer >= 2, "a finding needs two rows with it and two without");
        // All rows of a label are a bank, of the other label as many; each query finds as many of either.
        const std::int64_t depth = rarer - 1;
        for (const Side& side : {finding.sides[1], finding.sides[0]}) {
            const auto count = std::min(std::ssize(side.list), rarer);
            finding.queries.insert(finding.queries.end(), side.list.begin(), side.list.begin() + count);
        }
        for (int label = 0; label < 2; ++label) {
            for (const ContextRow query : finding.queries) {
                const auto row = static_cast<std::size_t>(query.value);
                const std::int64_t own = has[row] == (label == 1) ? position[row] : -1;
                Reach reach;
                reach.end = depth + (own >= 0 && own < depth ? 1 : 0);
                reach.skip = own;
                finding.sides[label].reach.push_back(reach);
            }
        }
        findings_.push_back(std::move(finding));
    }
}

std::vector<neighbors::Question> MadeFindings::questions() const {
    std::vector<neighbors::Question> questions;
    for (const Finding& finding : findings_) {
        for (const Side& side : finding.sides) questions.push_back({side.list, finding.queries, side.reach});
    }
    return questions;
}

std::vector<std::vector<bool>> half_positive(std::int64_t n) {
    std::vector<std::vector<bool>> positive(1, std::vector<bool>(static_cast<std::size_t>(n)));
    for (std::size_t i = 1; i < positive[0].size(); i += 2) positive[0][i] = true;
    return positive;
}

std::vector<std::vector<bool>> many_findings(std::int64_t n, int count) {
    constexpr double least = 0.01, most = 0.4;
    std::vector<std::vector<bool>> positive;
    for (int f = 0; f < count; ++f) {
        const double prevalence = least * std::pow(most / least, count > 1 ? double(f) / (count - 1) : 0.0);
        std::vector<bool>& has = positive.emplace_back();
        for (std::int64_t i = 0; i < n; ++i) {
            const auto before = static_cast<double>(i);
            has.push_back(std::floor((before + 1) * prevalence) > std::floor(before * prevalence));
        }
    }
    return positive;
}

}  // namespace candor::bench
