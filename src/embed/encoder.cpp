#include "candor/embed/encoder.hpp"

namespace candor::embed {

std::unique_ptr<Encoder> open_encoder(const EncoderRecipe& recipe) {
    return recipe.kind == Kind::torchscript ? torch_encoder(recipe) : built_in_encoder(recipe);
}

}  // namespace candor::embed
