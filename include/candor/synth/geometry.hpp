#pragma once

/// Where an encoder of a synthetic study puts an image. Every row lies on a sphere, as
///
///     sqrt(kappa) place(context) + sqrt(1 - kappa) ( sum_f a_f l_f e_f + sqrt(1 - A) w ),   A = sum_f a_f^2,
///
/// with l_f = 1 or -1 as the image has finding f or not (under an exclusive subject a_f e_f of its own kind
/// alone, and A = a_f^2), w drawn evenly from the unit sphere of m further dimensions, and all named
/// directions at right angles. So within a context the cosine of two images x and y is
///
///     kappa + (1 - kappa) ( sum_f a_f^2 l_f(x) l_f(y) + (1 - A) t ),
///
/// where t is a coordinate of an even point of the sphere, whatever x is: what is discordant depends on the
/// a_f, m and the candidates' number, and on nothing else (planted.hpp). L coordinates are drawn and
/// repeated, with fixed signs, until there are as many as the encoder gives: features along few directions,
/// as those of real encoders are.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "candor/synth/images.hpp"
#include "candor/synth/shape.hpp"
#include "candor/synth/sphere.hpp"

namespace candor::synth {

inline constexpr std::int64_t most_latent = 128;     ///< L, where the dimension allows
inline constexpr std::int64_t place_dimensions = 9;  ///< one that all images share, eight of the context
inline constexpr double near_distance = 0.003;       ///< between the w of near twins

class Geometry {
  public:
    /// @param rank position of the encoder in the subject's panel
    /// @throws InternalError where `dimension` is no multiple of L or leaves no room for w
    Geometry(const Subject& subject, std::size_t rank, const std::string& encoder, bool anchor,
             std::int64_t dimension, int k, std::uint64_t seed);

    std::int64_t dimension() const { return dimension_; }
    std::int64_t even_dimensions() const { return even_; }  ///< m
    /// a_f^2 of finding f, and A of the images of one context (exclusive: of finding f's superclass).
    double squared(std::size_t finding) const { return squared_[finding]; }
    double total(std::size_t finding) const { return exclusive_ ? squared_[finding] : total_; }
    const SphereCoordinate& coordinate() const { return coordinate_; }
    /// Cosine between every image and the same image without its evidence.
    double retention() const { return retention_; }

    /// Writes the features of image `row` as float16 into `out`, dimension() numbers.
    void write_row(const Images& images, std::int64_t row, std::span<std::uint16_t> out) const;
    /// The same without the evidence of region `region`, a number of its own for each region.
    void write_erased(const Images& images, std::int64_t row, std::uint64_t region,
                      std::span<std::uint16_t> out) const;

  private:
    void fill(const Images& images, std::int64_t row, std::span<double> latent) const;
    void fill_even(const Images& images, std::int64_t row, std::span<double> even) const;
    void store(std::span<const double> latent, const Stream& row, std::span<std::uint16_t> out) const;

    std::string encoder_;
    std::uint64_t seed_;
    bool exclusive_;
    std::int64_t dimension_, latent_, axes_, even_;
    double kappa_, retention_, total_ = 0;
    std::vector<double> squared_;
    std::vector<std::uint16_t> signs_;  // of the stored numbers, 0 or the sign bit
    SphereCoordinate coordinate_;
};

/// How hard finding f is for the encoder at `rank`: from 0 for the first finding of the first encoder to 1
/// for the last of the last; rises with both.
double difficulty(const Subject& subject, std::size_t rank, std::size_t finding);

}  // namespace candor::synth
