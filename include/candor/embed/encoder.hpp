#pragma once

/// What turns prepared pictures into features.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "candor/base/matrix.hpp"
#include "candor/embed/recipe.hpp"

namespace candor::embed {

/// Pictures that are encoded together, one behind the other: channels x height x width numbers each.
struct Batch {
    std::int64_t images = 0, channels = 0, height = 0, width = 0;
    std::vector<float> values;

    std::int64_t image_size() const { return channels * height * width; }
    std::span<float> image(std::int64_t i) {
        return std::span(values).subspan(static_cast<std::size_t>(i * image_size()),
                                         static_cast<std::size_t>(image_size()));
    }
    std::span<const float> image(std::int64_t i) const {
        return std::span(values).subspan(static_cast<std::size_t>(i * image_size()),
                                         static_cast<std::size_t>(image_size()));
    }
};

class Encoder {
  public:
    virtual ~Encoder() = default;
    /// A row of features an image, the same bits for the same batch whatever the threads and whatever was
    /// encoded before. May be called by several threads.
    virtual Matrix<float> encode(const Batch& batch) const = 0;
};

/// The encoder of a recipe.
/// @throws DataError where its file is missing or is no TorchScript; UsageError where this build has no
/// libtorch, or
///         the device is not there.
std::unique_ptr<Encoder> open_encoder(const EncoderRecipe& recipe);

/// One of the kinds that need no file. @pre recipe.kind is not torchscript
std::unique_ptr<Encoder> built_in_encoder(const EncoderRecipe& recipe);

/// A TorchScript file. As open_encoder.
std::unique_ptr<Encoder> torch_encoder(const EncoderRecipe& recipe);

/// Version of libtorch, or "none" where the build has none.
std::string torch_version();

}  // namespace candor::embed
