
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "candor/base/error.hpp"
#include "candor/store/feature_file.hpp"
#include "candor/store/results_file.hpp"
#include "temporary.hpp"

using namespace candor;
using namespace candor::store;

namespace {

const parallel::Communicator& world() {
    static const parallel::Communicator all = parallel::Communicator::world();
    return all;
}

// One directory for all ranks, made and removed by rank 0.
class SharedDirectory {
  public:
    SharedDirectory() {
        if (world().rank() == 0) own_ = std::make_unique<testing::TemporaryDirectory>();
        path_ = world().broadcast(own_ ? own_->file("") : std::string());
    }
    ~SharedDirectory() { world().barrier(); }
    std::string file(const std::string& name) const { return path_ + name; }
    bool holds(const std::string& name) const { return std::filesystem::exists(file(name)); }

  private:
    std::unique_ptr<testing::TemporaryDirectory> own_;
    std::string path_;
};

constexpr std::int64_t encoders = 3, cases = 1001;

double value_at(std::int64_t row, std::int64_t col) {
    return static_cast<double>(row) * 1e6 + static_cast<double>(col) / 8;
}

// Everything a results file may hold; the data lie unevenly on the ranks, and the last of several ranks has
// none.
void write_sample(ResultsWriter& writer) {
    const bool root = world().rank() == 0;
    writer.attribute("/run", "ranks", std::int64_t{root ? 7 : world().rank()});
    writer.attribute("/run", "seconds", root ? 1.5 : 0.0);
    writer.attribute("/run", "empty", std::string());
    writer.attribute("/run", "study", std::string(root ? std::size_t{200000} : 0, 'x'));
    writer.attribute("/run", "name",
                     std::string(root ? "Gr\xc3\xbc\xc3\x9f"
                                        "e"
                                      : "other"));
    writer.attribute("/run", "name", std::string(root ? "replaced" : "other"));

    ResultTable table;
    table.name = root ? "cells" : "";
    if (root) {
        table.texts("finding") = {"Lung Opacity", "",
                                  "\xc3\x96"
                                  "dem"};
        table.integers("n") = {std::int64_t{1} << 40, 0, -1};
        table.reals("d") = {0.25, std::nan(""), -std::numeric_limits<double>::infinity()};
    }
    writer.table(table);
    ResultTable empty;
    empty.name = "skipped";
    empty.texts("reason");
    empty.integers("n");
    empty.reals("d");
    writer.table(empty);

    writer.texts("/cases/chest/encoder",
                 root ? std::vector<std::string>{"rad", "dino"} : std::vector<std::string>{});
    writer.texts("/cases/none/encoder", {});
    writer.integers("/cases/chest/label",
                    root ? std::vector<std::int64_t>{1, 0, 1} : std::vector<std::int64_t>{});
    writer.integers("/cases/none/label", {});

    writer.matrix("/cases/chest/dm", encoders, cases);
    writer.matrix("/cases/none/dm", encoders, 0);
    writer.matrix("/cases/chest/unwritten", 2, 5);
    // Blocks of 64 columns, dealt out among all ranks but the last; block 3 is left out, as a case not scored
    // is.
    const int workers = std::max(1, world().size() - 1);
    std::vector<std::vector<double>> values;
    std::vector<ResultsWriter::Piece> pieces;
    for (std::int64_t row = 0; row < encoders; ++row) {
        for (std::int64_t first = 0; first < cases; first += 64) {
            if (first / 64 == 3 || (first / 64 + row) % workers != world().rank()) continue;
            auto& block = values.emplace_back();
            for (std::int64_t col = first; col < std::min(cases, first + 64); ++col)
                block.push_back(value_at(row, col));
            pieces.push_back({row, first, {}});
        }
    }
    for (std::size_t i = 0; i < pieces.size(); ++i) pieces[i].values = values[i];
    writer.write("/cases/chest/dm", pieces);
    writer.write("/cases/none/dm", {});
}

void check_sample(const std::string& path) {
    const ResultsReader reader(path);
    BOOST_TEST(reader.path() == path);
    BOOST_TEST((reader.tables() == std::vector<std::string>{"cells", "skipped"}));
    BOOST_TEST(reader.has_table("cells"));
    BOOST_TEST(!reader.has_table("rules"));
    const ResultTable cells = reader.table("cells");
    BOOST_TEST(
        (std::get<0>(cells.find("n")->values) == std::vector<std::int64_t>{std::int64_t{1} << 40, 0, -1}));
    BOOST_TEST((std::get<2>(cells.find("finding")->values) == std::vector<std::string>{"Lung Opacity", "",
                                                                                       "\xc3\x96"
                                                                                       "dem"}));
    const auto& d = std::get<1>(cells.find("d")->values);
    BOOST_TEST((d[0] == 0.25 && std::isnan(d[1]) && std::isinf(d[2]) && d[2] < 0));
    const ResultTable skipped = reader.table("skipped");
    BOOST_TEST(skipped.columns.size() == 3);
    BOOST_TEST(skipped.rows() == 0);
    BOOST_CHECK_EXCEPTION(reader.table("rules"), DataError, [](const DataError& error) {
        return error.fault() == "has no table \"rules\"; there are \"cells\", \"skipped\"";
    });

    BOOST_TEST((reader.attribute("/run", "format") == AttributeValue(std::string(results_format))));
    BOOST_TEST((reader.attribute("/run", "ranks") == AttributeValue(std::int64_t{7})));
    BOOST_TEST((reader.attribute("/run", "seconds") == AttributeValue(1.5)));
    BOOST_TEST((reader.attribute("/run", "empty") == AttributeValue(std::string())));
    BOOST_TEST((reader.attribute("/run", "study") == AttributeValue(std::string(200000, 'x'))));
    BOOST_TEST((reader.attribute("/run", "name") == AttributeValue(std::string("replaced"))));
    BOOST_CHECK_THROW(reader.attribute("/run", "absent"), DataError);
    BOOST_CHECK_THROW(reader.attribute("/absent", "name"), DataError);

    BOOST_TEST((reader.groups("/cases") == std::vector<std::string>{"chest", "none"}));
    BOOST_TEST((reader.texts("/cases/chest/encoder") == std::vector<std::string>{"rad", "dino"}));
    BOOST_TEST(reader.texts("/cases/none/encoder").empty());
    BOOST_TEST((reader.integers("/cases/chest/label") == std::vector<std::int64_t>{1, 0, 1}));
    BOOST_TEST(reader.integers("/cases/none/label").empty());
    const Matrix<double> dm = reader.matrix("/cases/chest/dm");
    BOOST_TEST(dm.rows() == encoders);
    BOOST_TEST(dm.cols() == cases);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < encoders; ++i) {
        for (std::int64_t j = 0; j < cases; ++j) {
            const double value = dm.row(i)[static_cast<std::size_t>(j)];
            wrong += j / 64 == 3 ? !std::isnan(value) : value != value_at(i, j);
        }
    }
    BOOST_TEST(wrong == 0);
    BOOST_TEST(reader.matrix("/cases/none/dm").cols() == 0);
    BOOST_TEST(std::isnan(reader.matrix("/cases/chest/unwritten").row(1)[4]));
    BOOST_CHECK_THROW(reader.matrix("/cases/chest/label"), DataError);
    BOOST_CHECK_THROW(reader.matrix("/cases/chest/absent"), DataError);
}

// The failure that every rank must see alike.
template <class Work>
std::string machine_error(Work work) {
    try {
        work();
    } catch (const MachineError& error) {
        return error.what();
    }
    return "no error";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(store_results_file_mpi)

BOOST_AUTO_TEST_CASE(everything_written_reads_back) {
    const SharedDirectory directory;
    {
        ResultsWriter writer(directory.file("out.h5"), world());
        write_sample(writer);
        BOOST_TEST(!directory.holds("out.h5"));  // no rank may finish before this, and none may go on
        world().barrier();
        writer.finish();
    }
    BOOST_TEST(directory.holds("out.h5"));
    BOOST_TEST(!directory.holds("out.h5.part"));
    if (world().rank() == 0) check_sample(directory.file("out.h5"));
}

// tests/store/results_file_test.py compares these files across rank counts.
BOOST_AUTO_TEST_CASE(sample_for_comparison) {
    const char* path = std::getenv("CANDOR_TEST_RESULTS");
    if (!path) return;
    ResultsWriter writer(path, world());
    write_sample(writer);
    writer.finish();
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_created_is_the_same_error_everywhere) {
    const SharedDirectory directory;
    const std::string path = directory.file("absent/out.h5");
    const std::string message = machine_error([&] { ResultsWriter writer(path, world()); });
    BOOST_TEST(message ==
               path +
                   ": cannot be written: No such file or directory; see that its folder exists and "
                   "can be written, or name another output");
    for (const std::string& other : world().all_gather(message)) BOOST_TEST(other == message);
}

BOOST_AUTO_TEST_CASE(what_is_no_results_file_is_refused) {
    const SharedDirectory directory;
    if (world().rank() != 0) return;
    const auto refuse = [&](const std::string& path, const std::string& reason) {
        BOOST_CHECK_EXCEPTION(ResultsReader reader(path), DataError, [&](const DataError& error) {
            return error.place().file == path && error.fault().find(reason) != std::string::npos;
        });
    };
    refuse(directory.file("absent.h5"), "no such file");
    std::ofstream(directory.file("text.h5")) << "finding,d\n";
    refuse(directory.file("text.h5"), "not an HDF5 file");
    FeatureTable features{ElementType::float32, {"a"}, {}, Matrix<double>(1, 1)};
    features.values.row(0)[0] = 1;
    write_feature_file(directory.file("features.h5"), features, false);
    refuse(directory.file("features.h5"), "not a candor results file");
}

BOOST_AUTO_TEST_CASE(another_format_version_is_refused) {
    const SharedDirectory directory;
    {
        ResultsWriter writer(directory.file("out.h5"), world());
        writer.attribute("/run", "format_version", std::int64_t{99});
        writer.finish();
    }
    if (world().rank() != 0) return;
    BOOST_CHECK_EXCEPTION(
        ResultsReader reader(directory.file("out.h5")), DataError, [](const DataError& error) {
            return error.fault() == "has results format version 99; this program reads version 1";
        });
}

BOOST_AUTO_TEST_CASE(the_library_names_itself) {
    BOOST_TEST(hdf5_version().find("(parallel)") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
