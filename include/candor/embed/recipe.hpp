#pragma once

/// The file that says which encoders see which images, and how (`candor embed RECIPE.toml`).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace candor::embed {

/// What makes features of a prepared picture.
enum class Kind {
    torchscript,        ///< a file
    pixels,             ///< its numbers
    patch_means,        ///< their means over grid x grid cells
    gradients,          ///< how much gradient there is in each direction, in grid x grid cells
    random_convolution  ///< a convolutional network that was never trained
};
enum class Interpolation { bilinear, bicubic };
enum class Colour { rgb, grey };
/// What of a TorchScript module's result is the feature row.
enum class Output {
    pooled,       ///< N x d as it is (N x d x 1 x 1 too)
    class_token,  ///< the first of N x tokens x d
    patches       ///< the mean over N x d x height x width, or over the tokens behind the first `prefix`
};

/// From a picture of any size to the numbers that an encoder sees, in this order: colour, resize, crop,
/// normalise.
struct Preprocessing {
    Colour colour = Colour::rgb;
    std::int64_t height = 0, width = 0;  ///< what the encoder sees
    /// The shorter side is resized to this and the middle of height x width is taken; 0: the picture is
    /// resized to height x width, whatever its shape.
    std::int64_t shorter_side = 0;
    Interpolation interpolation = Interpolation::bilinear;
    std::vector<double> mean, deviation;  ///< one a channel

    std::int64_t channels() const { return colour == Colour::rgb ? 3 : 1; }
};

struct EncoderRecipe {
    std::string id;  ///< of an encoder of the study
    Kind kind = Kind::torchscript;
    std::string file;  ///< of TorchScript, resolved against the recipe's folder
    Preprocessing preprocessing;
    Output output = Output::pooled;
    std::int64_t prefix = 1;  ///< tokens that are no patches
    std::int64_t batch = 32;  ///< images that are encoded together
    std::string device = "cpu";
    std::int64_t grid = 4, bins = 8;         ///< of patch means, gradients and the random convolution
    std::int64_t layers = 3, channels = 64;  ///< of the random convolution
    std::int64_t seed = 42;                  ///< likewise

    /// All of it but id, file and device, as one line: equal text means equal features.
    std::string text() const;
};

/// Where the images of a dataset of the study are.
struct ImagePlaces {
    std::string dataset;  ///< id
    /// With `{column}` of the dataset's table; resolved against the recipe's folder. `#N` behind the name of
    /// an IDX file is its image N.
    std::string pattern;
};

struct Recipe {
    std::string file;   ///< as given
    std::string study;  ///< path, resolved against the recipe's folder
    std::vector<EncoderRecipe> encoders;
    std::vector<ImagePlaces> images;
};

/// Reads a recipe from the bytes of `file`.
/// @throws UsageError naming file and key, for anything unknown, missing, of a wrong type or out of range.
Recipe parse_recipe(const std::string& file, std::string_view bytes);

}  // namespace candor::embed
