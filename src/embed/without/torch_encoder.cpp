/// In the place of the file of this name in a build without libtorch.

#include "candor/base/error.hpp"
#include "candor/embed/encoder.hpp"

namespace candor::embed {

std::unique_ptr<Encoder> torch_encoder(const EncoderRecipe& recipe) {
    throw UsageError(
        "encoder \"" + recipe.id + "\"",
        "is a TorchScript file, and this build of candor has no libtorch; install libtorch-dev and "
        "libopencv-imgcodecs-dev (Debian's names), and build with -DCANDOR_WITH_EMBED=ON");
}

std::string torch_version() {
    return "none";
}

}  // namespace candor::embed
