#include "candor/embed/recipe.hpp"

#include <boost/test/unit_test.hpp>

#include "candor/base/error.hpp"

using namespace candor;
using namespace candor::embed;

namespace {

const std::string frame = "study = \"s.toml\"\n[[images]]\ndataset = \"a\"\n";

Recipe parse(const std::string& encoder) {
    return parse_recipe("in/r.toml", frame + "[[encoder]]\nid = \"e\"\n" + encoder);
}

void refuses(const std::string& encoder, const std::string& message) {
    BOOST_CHECK_EXCEPTION(parse(encoder), UsageError, [&](const UsageError& error) {
        BOOST_TEST(error.what() == message);
        return error.code() == ExitCode::usage;
    });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(recipe)

BOOST_AUTO_TEST_CASE(defaults_and_paths) {
    const Recipe recipe = parse("file = \"m/e.pt\"\nsize = 224\nmean = [0.5]\n");
    BOOST_TEST(recipe.study == "in/s.toml");
    BOOST_TEST(recipe.images.at(0).pattern == "{path}");
    const EncoderRecipe& encoder = recipe.encoders.at(0);
    BOOST_TEST(encoder.file == "in/m/e.pt");
    BOOST_TEST(encoder.text() ==
               "kind torchscript, colour rgb, size 224 x 224, resize 0, interpolation bilinear, mean "
               "[0.5, 0.5, 0.5], std [1, 1, 1], batch 32, output pooled");
    BOOST_TEST(parse("kind = \"gradients\"\nsize = [20, 10]\nresize = 32\nbins = 9\n").encoders[0].text() ==
               "kind gradients, colour grey, size 20 x 10, resize 32, interpolation bilinear, mean [0], std "
               "[1], batch "
               "32, grid 4, bins 9");
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_named) {
    const std::string at = "in/r.toml: [[encoder]] \"e\": ";
    refuses("size = 224\n", at + "file: must be given");
    refuses("file = \"e.pt\"\n",
            at + "size: is missing: the height and width that the encoder sees, e.g. 224");
    refuses("file = \"e.pt\"\nsize = [2]\n",
            at + "size: must be a whole number, or [height, width], of 1 to 16384");
    refuses("file = \"e.pt\"\nsize = 224\nmean = [0, 1]\n", at + "mean: has 2 numbers for 3 channels");
    refuses("file = \"e.pt\"\nsize = 224\nstd = [0]\n", at + "std: must be above 0");
    refuses("file = \"e.pt\"\nsize = 224\nresize = 200\n",
            at + "resize: is the shorter side before the middle is taken, so at least as long as size");
    refuses("kind = \"pixels\"\nsize = 4\nfile = \"e.pt\"\n", at + "file: is of kind \"torchscript\" only");
    refuses("kind = \"patch-means\"\nsize = 4\ngrid = 5\n",
            at + "grid: is finer than the 4 places that are there");
    refuses("kind = \"random-convolution\"\nsize = 28\ngrid = 5\n",
            at + "grid: is finer than the 4 places that are there");
    refuses("kind = \"pixel\"\nsize = 4\n",
            at + "kind: must be one of \"torchscript\", \"pixels\", \"patch-means\", \"gradients\", "
                 "\"random-convolution\", not \"pixel\"");
    BOOST_CHECK_EXCEPTION(parse("kind = \"pixels\"\nsize = 4\nseed = 1\n"), UsageError,
                          [](const UsageError& error) {
                              return std::string(error.what()).find("unknown key") != std::string::npos;
                          });
    BOOST_CHECK_EXCEPTION(parse_recipe("r.toml", frame), UsageError,
                          [](const UsageError& error) { return error.subject() == "r.toml: encoder"; });
    BOOST_CHECK_EXCEPTION(
        parse("kind = \"pixels\"\nsize = 4\n[[encoder]]\nid = \"e\"\nkind = \"pixels\"\nsize = 4\n"),
        UsageError,
        [](const UsageError& error) { return error.rule() == "is there twice; an encoder has one recipe"; });
}

BOOST_AUTO_TEST_SUITE_END()
