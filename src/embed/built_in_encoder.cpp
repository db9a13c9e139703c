/// Encoders that need no file: the baselines of any study from images.

#include <algorithm>
#include <cmath>
#include <numbers>

#include "candor/base/error.hpp"
#include "candor/base/random.hpp"
#include "candor/embed/encoder.hpp"
#include "candor/linalg/gemm.hpp"

namespace candor::embed {

namespace {

/// An encoder that sees one image at a time.
class OneByOne : public Encoder {
  public:
    explicit OneByOne(const EncoderRecipe& recipe) : recipe_(recipe) {}

    Matrix<float> encode(const Batch& batch) const override {
        Matrix<float> rows(batch.images, dimension(batch));
        for (std::int64_t i = 0; i < batch.images; ++i) encode_one(batch, batch.image(i), rows.row(i));
        return rows;
    }

  protected:
    virtual std::int64_t dimension(const Batch& batch) const = 0;
    virtual void encode_one(const Batch& shape, std::span<const float> image, std::span<float> row) const = 0;

    const EncoderRecipe recipe_;
};

class Pixels final : public OneByOne {
  public:
    using OneByOne::OneByOne;

  private:
    std::int64_t dimension(const Batch& batch) const override { return batch.image_size(); }
    void encode_one(const Batch&, std::span<const float> image, std::span<float> row) const override {
        std::ranges::copy(image, row.begin());
    }
};

/// Sums over the cells of a grid: pixel (y, x) lies in cell (y grid / height, x grid / width), rounded down.
class Cells {
  public:
    Cells(std::int64_t grid, std::int64_t height, std::int64_t width, std::int64_t values)
        : grid_(grid),
          height_(height),
          width_(width),
          values_(values),
          sums_(static_cast<std::size_t>(grid * grid * values)),
          pixels_(static_cast<std::size_t>(grid * grid)) {
        for (std::int64_t y = 0; y < height; ++y) {
            for (std::int64_t x = 0; x < width; ++x) ++pixels_[cell(y, x)];
        }
    }

    void add(std::int64_t y, std::int64_t x, std::int64_t value, double amount) {
        sums_[cell(y, x) * static_cast<std::size_t>(values_) + static_cast<std::size_t>(value)] += amount;
    }
    /// Means over the pixels of each cell, cell by cell.
    void means(std::span<float> out) const {
        for (std::size_t i = 0; i < sums_.size(); ++i)
            out[i] = static_cast<float>(sums_[i] /
                                        static_cast<double>(pixels_[i / static_cast<std::size_t>(values_)]));
    }

  private:
    std::size_t cell(std::int64_t y, std::int64_t x) const {
        return static_cast<std::size_t>(y * grid_ / height_ * grid_ + x * grid_ / width_);
    }

    std::int64_t grid_, height_, width_, values_;
    std::vector<double> sums_;
    std::vector<std::int64_t> pixels_;
};

class PatchMeans final : public OneByOne {
  public:
    using OneByOne::OneByOne;

  private:
    std::int64_t dimension(const Batch& batch) const override {
        return recipe_.grid * recipe_.grid * batch.channels;
    }
    void encode_one(const Batch& shape, std::span<const float> image, std::span<float> row) const override {
        Cells cells(recipe_.grid, shape.height, shape.width, shape.channels);
        auto at = image.begin();
        for (std::int64_t c = 0; c < shape.channels; ++c) {
            for (std::int64_t y = 0; y < shape.height; ++y) {
                for (std::int64_t x = 0; x < shape.width; ++x) cells.add(y, x, c, static_cast<double>(*at++));
            }
        }
        cells.means(row);
    }
};

/// Histograms of gradients: central differences of the mean over channels (one-sided at the edges), each with
/// its length shared by the two nearest of `bins` directions without sign, over the pixels of a cell.
class Gradients final : public OneByOne {
  public:
    using OneByOne::OneByOne;

  private:
    std::int64_t dimension(const Batch&) const override { return recipe_.grid * recipe_.grid * recipe_.bins; }
    void encode_one(const Batch& shape, std::span<const float> image, std::span<float> row) const override {
        const std::int64_t height = shape.height, width = shape.width, bins = recipe_.bins;
        std::vector<double> grey(static_cast<std::size_t>(height * width));
        for (std::size_t i = 0; i < image.size(); ++i)
            grey[i % grey.size()] += static_cast<double>(image[i]) / static_cast<double>(shape.channels);
        const auto slope = [&](std::int64_t at, std::int64_t size, std::int64_t place, std::int64_t step) {
            const std::int64_t before = std::max<std::int64_t>(0, at - 1), after = std::min(size - 1, at + 1);
            if (before == after) return 0.0;
            const auto value = [&](std::int64_t to) {
                return grey[static_cast<std::size_t>(place + (to - at) * step)];
            };
            return (value(after) - value(before)) / static_cast<double>(after - before);
        };
        Cells cells(recipe_.grid, height, width, bins);
        for (std::int64_t y = 0; y < height; ++y) {
            for (std::int64_t x = 0; x < width; ++x) {
                const double down = slope(y, height, y * width + x, width),
                             right = slope(x, width, y * width + x, 1);
                const double size = std::sqrt(down * down + right * right);
                if (size == 0) continue;
                double direction =
                    std::atan2(down, right) / std::numbers::pi;  // -1 to 1, and its opposite is the same
                if (direction < 0) direction += 1;
                const double place = direction * static_cast<double>(bins);
                const double part = place - std::floor(place);
                const auto bin = static_cast<std::int64_t>(std::floor(place)) % bins;
                cells.add(y, x, bin, size * (1 - part));
                cells.add(y, x, (bin + 1) % bins, size * part);
            }
        }
        cells.means(row);
    }
};

/// `layers` convolutions of 3 x 3 in steps of 2 with a border of zeros, each rectified, then means over
/// cells. Weights are uniform in +-sqrt(6 / inputs) (He et al. 2015) from a stream of their own a layer;
/// there are no biases.
class RandomConvolution final : public OneByOne {
  public:
    explicit RandomConvolution(const EncoderRecipe& recipe) : OneByOne(recipe) {
        std::int64_t inputs = 9 * recipe.preprocessing.channels();
        for (std::int64_t l = 0; l < recipe.layers; ++l, inputs = 9 * recipe.channels) {
            const Stream stream(static_cast<std::uint64_t>(recipe.seed), "embed/random-convolution",
                                static_cast<std::uint64_t>(l));
            const double bound = std::sqrt(6.0 / static_cast<double>(inputs));
            Matrix<float> weights(recipe.channels, inputs);
            for (std::int64_t i = 0; i < recipe.channels; ++i) {
                for (std::int64_t j = 0; j < inputs; ++j)
                    weights.row(i)[static_cast<std::size_t>(j)] = static_cast<float>(
                        bound * (2 * stream.uniform(static_cast<std::uint64_t>(i * inputs + j)) - 1));
            }
            weights_.push_back(std::move(weights));
        }
    }

  private:
    std::int64_t dimension(const Batch&) const override {
        return recipe_.grid * recipe_.grid * recipe_.channels;
    }

    void encode_one(const Batch& shape, std::span<const float> image, std::span<float> row) const override {
        std::int64_t height = shape.height, width = shape.width;
        Matrix<float> map(height * width, shape.channels);  // a row a place
        for (std::int64_t c = 0; c < shape.channels; ++c) {
            for (std::int64_t i = 0; i < height * width; ++i)
                map.row(i)[static_cast<std::size_t>(c)] =
                    image[static_cast<std::size_t>(c * height * width + i)];
        }
        for (const Matrix<float>& weights : weights_) {
            const std::int64_t to_height = (height + 1) / 2, to_width = (width + 1) / 2;
            const Matrix<float> around = neighborhoods(map, height, width, to_height, to_width);
            Matrix<float> next(to_height * to_width, weights.rows());
            linalg::product(around.view(), weights.view(), next.view());
            for (std::int64_t i = 0; i < next.rows(); ++i) {
                for (float& value : next.row(i)) value = std::max(value, 0.0F);
            }
            map = std::move(next);
            height = to_height;
            width = to_width;
        }
        Cells cells(recipe_.grid, height, width, recipe_.channels);
        for (std::int64_t i = 0; i < height * width; ++i) {
            for (std::int64_t c = 0; c < recipe_.channels; ++c)
                cells.add(i / width, i % width, c,
                          static_cast<double>(map.row(i)[static_cast<std::size_t>(c)]));
        }
        cells.means(row);
    }

    /// Row (y, x): the 3 x 3 places around (2 y, 2 x), zero beyond the border.
    static Matrix<float> neighborhoods(const Matrix<float>& map, std::int64_t height, std::int64_t width,
                                       std::int64_t to_height, std::int64_t to_width) {
        const std::int64_t channels = map.cols();
        Matrix<float> around(to_height * to_width, 9 * channels);
        for (std::int64_t i = 0; i < around.rows(); ++i) {
            auto to = around.row(i).begin();
            for (std::int64_t k = 0; k < 9; ++k, to += channels) {
                const std::int64_t y = 2 * (i / to_width) + k / 3 - 1, x = 2 * (i % to_width) + k % 3 - 1;
                if (y < 0 || y >= height || x < 0 || x >= width) {
                    std::fill(to, to + channels, 0.0F);
                } else {
                    std::ranges::copy(map.row(y * width + x), to);
                }
            }
        }
        return around;
    }

    std::vector<Matrix<float>> weights_;
};

}  // namespace

std::unique_ptr<Encoder> built_in_encoder(const EncoderRecipe& recipe) {
    switch (recipe.kind) {
        case Kind::pixels:
            return std::make_unique<Pixels>(recipe);
        case Kind::patch_means:
            return std::make_unique<PatchMeans>(recipe);
        case Kind::gradients:
            return std::make_unique<Gradients>(recipe);
        case Kind::random_convolution:
            return std::make_unique<RandomConvolution>(recipe);
        case Kind::torchscript:
            break;
    }
    CANDOR_REQUIRE(false, recipe.id);
    return {};
}

}  // namespace candor::embed
