#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <vector>

#include "candor/base/hash.hpp"
#include "candor/store/feature_file.hpp"
#include "candor/store/shared_feature_writer.hpp"

namespace candor::store {

namespace {

/// A name that all ranks agree on.
std::string scratch(const parallel::Communicator& world, const std::string& name) {
    const char* const folder = std::getenv("TMPDIR");
    const std::string base = folder ? folder : "/tmp";
    return world.broadcast(base + "/candor-" + name + "-" + std::to_string(::getpid()) + ".h5");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(shared_feature_writer)

// Rows in blocks of 3, dealt to the ranks in turn: with 7 rows the last block is short, and of five ranks two
// have none. The file reads back as a feature file, and is the same bytes whoever wrote which row.
BOOST_AUTO_TEST_CASE(rows_of_all_ranks) {
    const parallel::Communicator world = parallel::Communicator::world();
    const std::string path = scratch(world, "shared");
    constexpr std::int64_t rows = 7, dimension = 5, block = 3;
    std::vector<std::string> ids, findings;
    if (world.rank() == 0) {
        for (std::int64_t i = 0; i < rows; ++i) {
            ids.push_back("image " + std::to_string(i));
            findings.push_back(i % 2 ? "edema" : "mass");
        }
    }
    {
        SharedFeatureWriter writer(path, world, ElementType::float32, rows, dimension);
        for (std::int64_t b = 0; b * block < rows; ++b) {
            if (b % world.size() != world.rank()) continue;
            const std::int64_t count = std::min(block, rows - b * block);
            std::vector<float> values;
            for (std::int64_t i = 0; i < count * dimension; ++i)
                values.push_back(static_cast<float>(b * block * dimension + i) + 0.5F);
            writer.write(b * block, std::as_bytes(std::span(values)));
        }
        writer.finish(ids, findings, "an encoder\nand its images");
    }
    if (world.rank() == 0) {
        const FeatureFile file(path);
        BOOST_TEST(file.rows() == rows);
        BOOST_TEST(file.dimension() == dimension);
        BOOST_TEST(file.ids() == ids);
        BOOST_TEST(file.findings() == findings);
        BOOST_TEST(read_origin(path) == "an encoder\nand its images");
        std::vector<FeatureRow> which;
        for (std::int64_t i = 0; i < rows; ++i) which.emplace_back(i);
        Matrix<float> values(rows, dimension);
        file.read(which, values.view());
        for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t j = 0; j < dimension; ++j)
                BOOST_TEST(values.row(i)[static_cast<std::size_t>(j)] ==
                           static_cast<float>(i * dimension + j) + 0.5F);
        }
        BOOST_TEST(!std::filesystem::exists(path + ".part"));
        std::filesystem::remove(path);
    }
    world.barrier();
}

BOOST_AUTO_TEST_CASE(no_origin) {
    BOOST_TEST(read_origin("/nowhere/at/all.h5").empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace candor::store
