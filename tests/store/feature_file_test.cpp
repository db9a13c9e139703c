#include "candor/store/feature_file.hpp"

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "candor/base/error.hpp"
#include "candor/store/hdf5.hpp"
#include "temporary.hpp"

using namespace candor;
using namespace candor::store;
using candor::testing::TemporaryDirectory;

namespace {

// Whole numbers below 2048 are exact in every type.
double value_at(std::int64_t row, std::int64_t col) {
    return static_cast<double>((row * 31 + col * 7) % 2048);
}

FeatureTable table_of(std::int64_t rows, std::int64_t cols, ElementType type) {
    FeatureTable table{type, {}, {}, Matrix<double>(rows, cols)};
    for (std::int64_t i = 0; i < rows; ++i) {
        table.ids.push_back("00" + std::to_string(i));
        for (std::int64_t j = 0; j < cols; ++j)
            table.values.row(i)[static_cast<std::size_t>(j)] = value_at(i, j);
    }
    return table;
}

template <class T>
void check_rows(const FeatureFile& file, const std::vector<FeatureRow>& which) {
    Matrix<T> out(static_cast<std::int64_t>(which.size()), file.dimension());
    file.read(which, out.view());
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < which.size(); ++i) {
        for (std::int64_t j = 0; j < file.dimension(); ++j) {
            wrong += out.row(static_cast<std::int64_t>(i))[static_cast<std::size_t>(j)] !=
                     static_cast<T>(value_at(which[i].value, j));
        }
    }
    BOOST_TEST(wrong == 0);
}

template <class Work>
void refused(Work work, const std::string& file, const std::string& reason) {
    try {
        work();
        BOOST_ERROR("accepted what is refused as: " + reason);
    } catch (const DataError& error) {
        BOOST_TEST(error.place().file == file);
        BOOST_TEST(std::string(error.what()).find(reason) != std::string::npos, error.what());
    }
}

// Writes datasets by HDF5's own calls, to make files that others might.
struct Maker {
    Handle file;
    explicit Maker(const std::string& path)
        : file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose) {}
    void dataset(const char* name, hid_t type, std::vector<hsize_t> shape, const void* data, hid_t memory,
                 hid_t properties = H5P_DEFAULT) {
        const Handle space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), H5Sclose);
        const Handle made(
            H5Dcreate2(file.get(), name, type, space.get(), H5P_DEFAULT, properties, H5P_DEFAULT), H5Dclose);
        BOOST_REQUIRE(H5Dwrite(made.get(), memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(store_feature_file)

BOOST_AUTO_TEST_CASE(what_is_written_reads_back) {
    const TemporaryDirectory directory;
    for (const ElementType type : {ElementType::float16, ElementType::float32, ElementType::float64}) {
        const std::string path = directory.file(std::string(name_of(type)));
        const FeatureTable table = table_of(17, 5, type);
        write_feature_file(path, table, false);
        BOOST_TEST(!directory.holds(std::string(name_of(type)) + ".part"));
        const FeatureFile file(path);
        BOOST_TEST(file.rows() == 17);
        BOOST_TEST(file.dimension() == 5);
        BOOST_TEST((file.type() == type));
        BOOST_TEST(file.ids() == table.ids);
        BOOST_TEST(file.findings().empty());
        const std::vector<FeatureRow> which{FeatureRow(16), FeatureRow(3), FeatureRow(3), FeatureRow(0)};
        check_rows<double>(file, which);
        if (type != ElementType::float64) check_rows<float>(file, which);
        if (type == ElementType::float64) {
            Matrix<float> out(4, 5);
            BOOST_CHECK_THROW(file.read(which, out.view()), InternalError);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_same_table_is_the_same_bytes) {
    const TemporaryDirectory directory;
    write_feature_file(directory.file("a"), table_of(9, 4, ElementType::float16), false);
    // HDF5 counts object times in whole seconds: a file that carried them would differ now.
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    write_feature_file(directory.file("b"), table_of(9, 4, ElementType::float16), false);
    BOOST_TEST((testing::bytes_of(directory.file("a")) == testing::bytes_of(directory.file("b"))));
}

// 40,000 rows of 2 KiB are 80 MiB, two slabs; rows far apart, near together and in no order.
BOOST_AUTO_TEST_CASE(rows_of_a_large_file_are_found) {
    const TemporaryDirectory directory;
    const std::string path = directory.file("large.h5");
    write_feature_file(path, table_of(40000, 512, ElementType::float32), false);
    const FeatureFile file(path);
    std::vector<FeatureRow> all, few;
    for (std::int64_t i = 0; i < 40000; ++i) all.emplace_back((i * 7919) % 40000);
    for (std::int64_t i = 0; i < 40; ++i) few.emplace_back((i * i * 977) % 40000);
    check_rows<float>(file, all);
    check_rows<float>(file, few);
    check_rows<float>(file, {FeatureRow(39999), FeatureRow(0)});
}

BOOST_AUTO_TEST_CASE(erased_files_carry_a_finding_a_row) {
    const TemporaryDirectory directory;
    FeatureTable table = table_of(3, 2, ElementType::float32);
    table.ids = {"a", "a", "b"};
    table.findings = {"Edema", "Mass", "Edema"};
    write_feature_file(directory.file("erased.h5"), table, false);
    const FeatureFile file(directory.file("erased.h5"));
    BOOST_TEST(file.ids() == table.ids);
    BOOST_TEST(file.findings() == table.findings);
    table.findings = {"Edema", "Edema", "Edema"};
    refused([&] { write_feature_file(directory.file("twice.h5"), table, false); }, directory.file("twice.h5"),
            "row 1, id \"a\": the image id came before in row 0 for the same finding");
    BOOST_TEST(!directory.holds("twice.h5.part"));
}

BOOST_AUTO_TEST_CASE(compressed_chunked_and_big_endian_files_are_read) {
    const TemporaryDirectory directory;
    std::vector<double> values;
    for (std::int64_t i = 0; i < 1000; ++i) {
        for (std::int64_t j = 0; j < 6; ++j) values.push_back(value_at(i, j));
    }
    const Handle chunked(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    const hsize_t chunk[2] = {64, 4};
    H5Pset_chunk(chunked.get(), 2, chunk);
    H5Pset_shuffle(chunked.get());
    H5Pset_deflate(chunked.get(), 4);
    const Handle half(H5Tcopy(H5T_IEEE_F32BE), H5Tclose);
    H5Tset_fields(half.get(), 15, 10, 5, 0, 10);
    H5Tset_size(half.get(), 2);
    H5Tset_ebias(half.get(), 15);
    const std::vector<std::pair<std::string, hid_t>> kinds{{"half", half.get()},
                                                           {"single", H5T_IEEE_F32BE},
                                                           {"double", H5T_IEEE_F64BE},
                                                           {"little", H5T_IEEE_F32LE}};
    for (const auto& [name, type] : kinds) {
        Maker(directory.file(name))
            .dataset("features", type, {1000, 6}, values.data(), H5T_NATIVE_DOUBLE, chunked.get());
        const FeatureFile file(directory.file(name));
        std::vector<FeatureRow> which;
        for (std::int64_t i = 0; i < 1000; i += 3) which.emplace_back(999 - i);
        check_rows<double>(file, which);
        BOOST_TEST(!file.has_ids());
    }
}

BOOST_AUTO_TEST_CASE(ids_of_every_kind_of_text_are_read) {
    const TemporaryDirectory directory;
    const std::vector<float> values{1, 2, 3, 4};
    const std::vector<std::string> wanted{"007", "b\xc3\xa9"};
    const auto check = [&](const std::string& name, hid_t type, const void* data) {
        Maker maker(directory.file(name));
        maker.dataset("features", H5T_IEEE_F32LE, {2, 2}, values.data(), H5T_NATIVE_FLOAT);
        maker.dataset("image_id", type, {2}, data, type);
        maker.file.close();
        BOOST_TEST(FeatureFile(directory.file(name)).ids() == wanted, name);
    };
    const char* pointers[2] = {"007", " b\xc3\xa9 "};
    for (const H5T_cset_t characters : {H5T_CSET_ASCII, H5T_CSET_UTF8}) {
        const Handle variable(H5Tcopy(H5T_C_S1), H5Tclose);
        H5Tset_size(variable.get(), H5T_VARIABLE);
        H5Tset_cset(variable.get(), characters);
        check("variable", variable.get(), pointers);
        const Handle fixed(H5Tcopy(H5T_C_S1), H5Tclose);
        H5Tset_size(fixed.get(), 5);
        H5Tset_cset(fixed.get(), characters);
        H5Tset_strpad(fixed.get(), H5T_STR_SPACEPAD);
        check("spaces", fixed.get(), "007  b\xc3\xa9  ");
        H5Tset_strpad(fixed.get(), H5T_STR_NULLPAD);
        check("zeros", fixed.get(), "007\0\0b\xc3\xa9\0\0");
        H5Tset_strpad(fixed.get(), H5T_STR_NULLTERM);
        check("ended", fixed.get(), "007\0xb\xc3\xa9\0x");
    }
}

BOOST_AUTO_TEST_CASE(wrong_files_are_refused_each_with_its_reason) {
    const TemporaryDirectory directory;
    const std::vector<double> values(24, 1.0);
    const auto refuse = [&](const std::string& path, const std::string& reason) {
        refused([&] { FeatureFile file(path); }, path, reason);
    };
    refuse(directory.file("missing.h5"), "there is no such file");
    refuse(directory.file(""), "is not a regular file");
    refuse(directory.file("empty.h5", ""), "is empty");
    refuse(directory.file("text.h5", "image_id,a,b\n1,2,3\n"), "neither HDF5 nor .npy");
    refuse(directory.file("x.npz", "PK\x03\x04 and so on"), "import it first with candor import");

    const std::string path = directory.file("f.h5");
    const auto with = [&](hid_t type, std::vector<hsize_t> shape, const std::string& reason) {
        Maker(path).dataset("features", type, shape, values.data(), type);
        refuse(path, reason);
    };
    with(H5T_STD_I32LE, {3, 4}, "32-bit whole numbers");
    with(H5T_IEEE_F32LE, {12}, "1 dimensions");
    with(H5T_IEEE_F32LE, {0, 4}, "0 x 4: it has no rows");
    with(H5T_IEEE_F32LE, {4, 0}, "4 x 0: it has no columns");
    const Handle complex(H5Tcreate(H5T_COMPOUND, 8), H5Tclose);
    H5Tinsert(complex.get(), "r", 0, H5T_IEEE_F32LE);
    H5Tinsert(complex.get(), "i", 4, H5T_IEEE_F32LE);
    with(complex.get(), {3, 4}, "complex");
    const Handle bfloat(H5Tcopy(H5T_IEEE_F32LE), H5Tclose);
    H5Tset_fields(bfloat.get(), 15, 7, 8, 0, 7);
    H5Tset_size(bfloat.get(), 2);
    H5Tset_ebias(bfloat.get(), 127);
    with(bfloat.get(), {3, 4}, "not IEEE half");
    Maker(path).dataset("embeddings", H5T_IEEE_F32LE, {3, 4}, values.data(), H5T_IEEE_F32LE);
    refuse(path, "no dataset /features; import a file of other names with candor import --dataset NAME");

    const auto with_ids = [&](std::size_t width, const char* ids, hsize_t count, const std::string& reason) {
        Maker maker(path);
        maker.dataset("features", H5T_IEEE_F32LE, {3, 4}, values.data(), H5T_IEEE_F32LE);
        const Handle type = text_type(width);
        maker.dataset("image_id", type.get(), {count}, ids, type.get());
        maker.file.close();
        refuse(path, reason);
    };
    with_ids(1, "ab", 2, "/image_id has 2 rows, /features has 3");
    with_ids(1, "aba", 3, "row 2, id \"a\": the image id came before in row 0");
    with_ids(1, "a b", 3, "row 1: the image id is blank");
    with_ids(3, "aaab\0cddd", 3, "row 1: the image id holds a NUL byte");
    Maker whole(path);
    whole.dataset("features", H5T_IEEE_F32LE, {3, 4}, values.data(), H5T_IEEE_F32LE);
    whole.dataset("image_id", H5T_STD_I64LE, {3}, values.data(), H5T_STD_I64LE);
    whole.file.close();
    refuse(path, "64-bit whole numbers; ids are text");
}

BOOST_AUTO_TEST_CASE(cut_and_damaged_files_are_refused) {
    const TemporaryDirectory directory;
    const std::string path = directory.file("f.h5");
    write_feature_file(path, table_of(50, 8, ElementType::float32), false);
    const auto whole = testing::bytes_of(path);
    for (const std::size_t length : {whole.size() - 1, whole.size() / 2, std::size_t{600}, std::size_t{20}}) {
        directory.file("f.h5", whole.substr(0, length));
        refused([&] { FeatureFile file(path); }, path, "is cut short or damaged");
    }
    // Fixed places all over the file: never a crash, and numbers only from a file that still opens as one.
    for (std::size_t at = 0; at < whole.size(); at += 13) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x5a);
        directory.file("f.h5", damaged);
        try {
            const FeatureFile file(path);
            BOOST_TEST(file.rows() > 0);
        } catch (const Error&) {
        }
    }
}

BOOST_AUTO_TEST_CASE(a_damaged_block_names_the_file_and_the_row) {
    const TemporaryDirectory directory;
    const std::string path = directory.file("f.h5");
    std::vector<float> values(4096 * 4);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    const Handle chunked(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    const hsize_t chunk[2] = {1024, 4};
    H5Pset_chunk(chunked.get(), 2, chunk);
    H5Pset_fletcher32(chunked.get());
    Maker(path).dataset("features", H5T_IEEE_F32LE, {4096, 4}, values.data(), H5T_NATIVE_FLOAT,
                        chunked.get());
    std::string bytes = testing::bytes_of(path);
    const std::string needle(reinterpret_cast<const char*>(values.data() + 3000 * 4), 64);
    bytes[bytes.find(needle)] ^= 1;
    directory.file("f.h5", bytes);
    const FeatureFile file(path);
    Matrix<float> out(1, 4);
    file.read(std::vector<FeatureRow>{FeatureRow(0)}, out.view());
    BOOST_CHECK_EXCEPTION(file.read(std::vector<FeatureRow>{FeatureRow(3000)}, out.view()), DataError,
                          [&](const DataError& error) {
                              return error.place().file == path && error.place().row == 3000 &&
                                     error.fault().find("checksum") != std::string::npos;
                          });
    // Read with others, the block begins where it begins.
    std::vector<FeatureRow> all;
    for (std::int64_t i = 0; i < 4096; ++i) all.emplace_back(i);
    Matrix<float> whole(4096, 4);
    BOOST_CHECK_EXCEPTION(file.read(all, whole.view()), DataError, [&](const DataError& error) {
        return error.place().row == 2048 && error.fault().starts_with("1024 rows ") &&
               error.fault().find("checksum") != std::string::npos;
    });
}

BOOST_AUTO_TEST_CASE(writing_refuses_to_replace_and_to_overflow) {
    const TemporaryDirectory directory;
    const std::string path = directory.file("f.h5");
    FeatureTable table = table_of(3, 2, ElementType::float16);
    write_feature_file(path, table, false);
    BOOST_CHECK_EXCEPTION(write_feature_file(path, table, false), UsageError, [&](const UsageError& error) {
        return error.subject() == path && error.rule().find("exists already") != std::string::npos;
    });
    const std::string before = testing::bytes_of(path);
    table.values.row(1)[1] = 65520;
    refused([&] { write_feature_file(path, table, true); }, path,
            "row 1: number 65520 in column 1 overflows float16");
    BOOST_TEST((testing::bytes_of(path) == before));
    BOOST_TEST(!directory.holds("f.h5.part"));
    table.values.row(1)[1] = std::numeric_limits<double>::infinity();
    write_feature_file(path, table, true);
    BOOST_CHECK_THROW(write_feature_file(directory.file("no/f.h5"), table, false), MachineError);
}

BOOST_AUTO_TEST_CASE(a_read_only_file_may_be_open_twice) {
    const TemporaryDirectory directory;
    const std::string path = directory.file("f.h5");
    write_feature_file(path, table_of(3, 2, ElementType::float32), false);
    std::filesystem::permissions(path, std::filesystem::perms::owner_read);
    const FeatureFile first(path), second(path);
    check_rows<float>(first, {FeatureRow(2)});
    check_rows<float>(second, {FeatureRow(1)});
}

BOOST_AUTO_TEST_SUITE_END()
