#include "candor/synth/geometry.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "candor/base/error.hpp"
#include "candor/base/hash.hpp"
#include "candor/base/random.hpp"
#include "candor/store/halves.hpp"

namespace candor::synth {

namespace {

constexpr double learned_cone = 0.3, anchor_cone = 0.9;  // kappa: mean cosine within a context
constexpr double shared_place = 0.8;                     // of kappa, what all contexts have in common
constexpr double lowest_rate = 0.02, highest_rate = 0.5;
constexpr std::int64_t nominal_candidates = 100;
constexpr int nominal_draws = 4000;
constexpr double least_retention = 0.45, most_retention = 0.98;
constexpr double shortest = 8, longest = 16;  // of a stored row; well inside float16's normal numbers

double mean_of_largest(const SphereCoordinate& coordinate, int k, Draws& draws) {
    LargestFirst largest(coordinate, nominal_candidates);
    double sum = 0;
    for (int i = 0; i < k; ++i) sum += largest.next(draws);
    return sum / k;
}

/// Sorted magnitudes of the difference between two sides' means of the k largest coordinates, at the nominal
/// number of candidates: the difference itself is symmetric, so half of them exceed the quantile of twice the
/// rate.
std::vector<double> nominal_differences(const SphereCoordinate& coordinate, int k, std::uint64_t seed) {
    std::vector<double> differences;
    for (int i = 0; i < nominal_draws; ++i) {
        Draws draws(Stream(seed, "nominal", static_cast<std::uint64_t>(i)));
        const double one = mean_of_largest(coordinate, k, draws);
        differences.push_back(std::abs(one - mean_of_largest(coordinate, k, draws)));
    }
    std::ranges::sort(differences);
    return differences;
}

/// Two normal numbers from 64 bits (Box and Muller).
void normal_pair(std::uint64_t bits, double& a, double& b) {
    const double u = (static_cast<double>(bits >> 32) + 0.5) * 0x1p-32;
    const double angle = static_cast<double>(bits & 0xffffffffu) * (2 * std::numbers::pi * 0x1p-32);
    const double radius = std::sqrt(-2 * std::log(u));
    a = radius * std::cos(angle);
    b = radius * std::sin(angle);
}

double dot(std::span<const double> a, std::span<const double> b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

void scale(std::span<double> a, double by) {
    for (double& value : a) value *= by;
}

/// An even point of the unit sphere.
void fill_sphere(const Stream& stream, std::span<double> out) {
    // Four normal numbers a block of the generator.
    std::array<double, 4> four;
    for (std::size_t i = 0; i < out.size(); i += 4) {
        const std::array<std::uint64_t, 2> bits = stream.two_bits(i / 4);
        normal_pair(bits[0], four[0], four[1]);
        normal_pair(bits[1], four[2], four[3]);
        for (std::size_t j = 0; j < 4 && i + j < out.size(); ++j) out[i + j] = four[j];
    }
    scale(out, 1 / std::sqrt(dot(out, out)));
}

/// `out` moved off itself at right angles to the unit vector `from`, and made a unit vector.
void make_perpendicular(std::span<double> out, std::span<const double> from) {
    const double along = dot(out, from);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] -= along * from[i];
    scale(out, 1 / std::sqrt(dot(out, out)));
}

std::int64_t superclasses(const Subject& subject) {
    return (std::ssize(subject.findings) + classes_a_superclass - 1) / classes_a_superclass;
}

}  // namespace

double difficulty(const Subject& subject, std::size_t rank, std::size_t finding) {
    const auto share = [](std::int64_t at, std::int64_t count) {
        return static_cast<double>(at) / static_cast<double>(std::max<std::int64_t>(1, count - 1));
    };
    const double by_encoder = share(static_cast<std::int64_t>(rank), std::ssize(subject.encoders));
    if (subject.findings.size() == 1) return by_encoder;
    const auto f = static_cast<std::int64_t>(finding);
    const double by_finding = subject.exclusive ? share(f / classes_a_superclass, superclasses(subject))
                                                : share(f, std::ssize(subject.findings));
    return (by_encoder + by_finding) / 2;
}

Geometry::Geometry(const Subject& subject, std::size_t rank, const std::string& encoder, bool anchor,
                   std::int64_t dimension, int k, std::uint64_t seed)
    : encoder_(encoder),
      seed_(seed),
      exclusive_(subject.exclusive),
      dimension_(dimension),
      latent_(std::min(most_latent, dimension)),
      axes_(subject.exclusive ? classes_a_superclass : std::ssize(subject.findings)),
      even_(latent_ - place_dimensions - axes_),
      kappa_(anchor ? anchor_cone : learned_cone),
      coordinate_(even_) {
    CANDOR_REQUIRE(dimension % latent_ == 0 && even_ >= 8, std::to_string(dimension));
    CANDOR_REQUIRE(k <= nominal_candidates, std::to_string(k));
    const std::vector<double> differences = nominal_differences(coordinate_, k, seed);
    double sum = 0, hardness = 0;
    for (std::size_t f = 0; f < subject.findings.size(); ++f) {
        const double hard = difficulty(subject, rank, f);
        const double rate = lowest_rate + (highest_rate - lowest_rate) * hard;
        const auto at = static_cast<std::size_t>((1 - 2 * rate) * nominal_draws);
        const double gap = rate >= highest_rate ? 0 : differences[std::min(at, differences.size() - 1)];
        // A positive is discordant where (1 - A)(t- - t+) > 2 a^2 (exclusive: > a^2); solved for a^2.
        squared_.push_back(exclusive_ ? gap / (1 + gap) : gap / 2);
        sum += squared_.back();
        hardness += hard;
    }
    if (!exclusive_) {
        for (double& squared : squared_) squared /= 1 + sum;
        total_ = sum / (1 + sum);
    }
    retention_ = least_retention +
                 (most_retention - least_retention) * hardness / static_cast<double>(squared_.size());

    const Stream signs(seed, "signs/" + encoder, 0);
    for (std::int64_t j = 0; j < dimension; ++j) {
        signs_.push_back(static_cast<std::uint16_t>(signs.bits(static_cast<std::uint64_t>(j)) & 0x8000u));
    }
}

void Geometry::fill_even(const Images& images, std::int64_t row, std::span<double> even) const {
    const auto at = static_cast<std::size_t>(row);
    const std::string purpose = "even/" + encoder_ + "/" + images.source_id;
    fill_sphere(Stream(seed_, purpose, static_cast<std::uint64_t>(images.source_row[at])), even);
}

void Geometry::fill(const Images& images, std::int64_t row, std::span<double> latent) const {
    const auto at = static_cast<std::size_t>(row);
    std::ranges::fill(latent, 0.0);
    // The place: a context's own part is a corner of a cube, chosen by its name.
    latent[0] = std::sqrt(kappa_ * shared_place);
    if (images.context[at] >= 0) {
        const auto context = static_cast<std::size_t>(images.context[at]);
        const std::string value = images.contexts.empty() ? "" : images.contexts[context];
        const std::uint64_t corner = image_key(images.source_id + "/" + value, seed_);
        const double side = std::sqrt(kappa_ * (1 - shared_place) / 8);
        for (std::size_t j = 0; j < 8; ++j) latent[1 + j] = corner >> j & 1 ? side : -side;
    }
    const double body = std::sqrt(1 - kappa_);
    const std::span<double> axes = latent.subspan(place_dimensions, static_cast<std::size_t>(axes_));
    double total = total_;
    if (exclusive_) {
        const auto kind = static_cast<std::size_t>(images.kind[at]);
        axes[kind % classes_a_superclass] = body * std::sqrt(squared_[kind]);
        total = squared_[kind];
    } else {
        for (std::size_t f = 0; f < axes.size(); ++f) {
            axes[f] = (images.present[at] >> f & 1 ? body : -body) * std::sqrt(squared_[f]);
        }
    }
    const std::span<double> even = latent.subspan(static_cast<std::size_t>(place_dimensions + axes_));
    if (images.twin[at] == Twin::none) {
        fill_even(images, row, even);
    } else {
        fill_even(images, row - 1, even);
        if (images.twin[at] == Twin::near) {
            std::array<double, most_latent> other;
            const std::span<double> aside(other.data(), even.size());
            fill_even(images, row, aside);
            make_perpendicular(aside, even);
            for (std::size_t i = 0; i < even.size(); ++i) {
                even[i] = std::sqrt(1 - near_distance * near_distance) * even[i] + near_distance * aside[i];
            }
        }
    }
    scale(even, body * std::sqrt(1 - total));
}

void Geometry::store(std::span<const double> latent, const Stream& row, std::span<std::uint16_t> out) const {
    const double length = shortest + (longest - shortest) * row.uniform(0);
    const double repeats = static_cast<double>(dimension_) / static_cast<double>(latent_);
    std::array<float, most_latent> singles;
    std::array<std::uint16_t, most_latent> halves;
    for (std::size_t i = 0; i < latent.size(); ++i) {
        singles[i] = static_cast<float>(latent[i] * length / std::sqrt(repeats));
    }
    store::floats_to_halves({singles.data(), latent.size()}, halves.data());
    for (std::size_t first = 0; first < out.size(); first += latent.size()) {
        for (std::size_t i = 0; i < latent.size(); ++i) {
            out[first + i] = static_cast<std::uint16_t>(halves[i] ^ signs_[first + i]);
        }
    }
}

void Geometry::write_row(const Images& images, std::int64_t row, std::span<std::uint16_t> out) const {
    std::array<double, most_latent> latent;
    const std::span<double> used(latent.data(), static_cast<std::size_t>(latent_));
    fill(images, row, used);
    const auto at = static_cast<std::size_t>(row);
    // Exact twins are the same bytes, so the length is the first one's.
    const auto owner = images.source_row[at] - (images.twin[at] == Twin::exact);
    store(used,
          Stream(seed_, "length/" + encoder_ + "/" + images.source_id, static_cast<std::uint64_t>(owner)),
          out);
}

void Geometry::write_erased(const Images& images, std::int64_t row, std::uint64_t region,
                            std::span<std::uint16_t> out) const {
    std::array<double, most_latent> latent, elsewhere;
    const auto size = static_cast<std::size_t>(latent_);
    const std::span<double> used(latent.data(), size), away(elsewhere.data(), size);
    fill(images, row, used);
    scale(used, 1 / std::sqrt(dot(used, used)));
    const auto at = static_cast<std::size_t>(row);
    const std::string purpose = "erased/" + encoder_ + "/" + images.source_id + "/" + std::to_string(region);
    const Stream stream(seed_, purpose, static_cast<std::uint64_t>(images.source_row[at]));
    fill_sphere(stream, away);
    make_perpendicular(away, used);
    for (std::size_t i = 0; i < size; ++i) {
        used[i] = retention_ * used[i] + std::sqrt(1 - retention_ * retention_) * away[i];
    }
    store(used, Stream(seed_, "length/" + purpose, static_cast<std::uint64_t>(images.source_row[at])), out);
}

}  // namespace candor::synth
