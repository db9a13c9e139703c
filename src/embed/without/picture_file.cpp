/// In the place of the file of this name in a build without OpenCV.

#include "candor/embed/picture_file.hpp"

#include "candor/base/error.hpp"
#include "candor/store/input_file.hpp"

namespace candor::embed {

Image read_picture(const std::string& path) {
    { const store::InputFile probe(path); }  // a missing file is missing in any build
    throw UsageError(
        path,
        "is no IDX file, and this build of candor reads no other images; install libtorch-dev and "
        "libopencv-imgcodecs-dev (Debian's names), and build with -DCANDOR_WITH_EMBED=ON");
}

}  // namespace candor::embed
