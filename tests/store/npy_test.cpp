#include "candor/store/npy.hpp"

#include <boost/test/unit_test.hpp>
#include <random>
#include <span>

#include "candor/base/error.hpp"
#include "candor/store/feature_file.hpp"
#include "temporary.hpp"

using namespace candor;
using namespace candor::store;
using candor::testing::TemporaryDirectory;

namespace {

// An .npy file: magic, version, length of the header, header padded with blanks to a multiple of 64, data.
std::string npy(const std::string& dictionary, const std::string& data, int version = 1) {
    std::string text = dictionary;
    const std::size_t start = version == 1 ? 10 : 12;
    while ((start + text.size() + 1) % 64 != 0) text += ' ';
    text += '\n';
    std::string file = "\x93NUMPY";
    file += static_cast<char>(version);
    file += '\0';
    const auto length = static_cast<std::uint32_t>(text.size());
    file.append(reinterpret_cast<const char*>(&length), version == 1 ? 2 : 4);
    return file + text + data;
}

std::string dictionary(const std::string& descr, const std::string& shape, bool fortran = false) {
    return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
           ", 'shape': " + shape + ", }";
}

template <class T>
std::string raw(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

NpyBytes in_memory(const std::string& bytes) {
    const auto raw_bytes = std::as_bytes(std::span(bytes));
    return {"memory", std::vector<std::byte>(raw_bytes.begin(), raw_bytes.end())};
}

std::vector<double> all_values(const Array& array) {
    std::vector<FeatureRow> which;
    for (std::int64_t i = 0; i < array.rows; ++i) which.emplace_back(i);
    Matrix<double> out(array.rows, array.cols);
    read_rows(array, which, out.view());
    std::vector<double> values;
    for (std::int64_t i = 0; i < array.rows; ++i)
        values.insert(values.end(), out.row(i).begin(), out.row(i).end());
    return values;
}

std::vector<double> all_values(const std::string& bytes) {
    return all_values(*npy_array(in_memory(bytes)));
}

const std::vector<float> twelve{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
const std::vector<double> twelve_in_double(twelve.begin(), twelve.end());

void refused(const std::string& bytes, const std::string& reason) {
    try {
        npy_array(in_memory(bytes));
        BOOST_ERROR("accepted what is refused as: " + reason);
    } catch (const DataError& error) {
        BOOST_TEST(error.place().file == "memory");
        BOOST_TEST(error.fault().find(reason) != std::string::npos, error.what());
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(store_npy)

BOOST_AUTO_TEST_CASE(fortran_order_is_column_major) {
    const auto values = all_values(npy(dictionary("<f4", "(2, 3)", true), raw<float>({1, 4, 2, 5, 3, 6})));
    BOOST_TEST(values == (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

BOOST_AUTO_TEST_CASE(both_orders_give_the_same_numbers) {
    std::vector<float> by_row(32), by_column(32);
    for (int i = 0; i < 8; ++i) {
        for (int j = 0; j < 4; ++j) {
            by_row[static_cast<std::size_t>(i * 4 + j)] = by_column[static_cast<std::size_t>(j * 8 + i)] =
                static_cast<float>(100 * i + j);
        }
    }
    BOOST_TEST(all_values(npy(dictionary("<f4", "(8, 4)"), raw(by_row))) ==
               all_values(npy(dictionary("<f4", "(8, 4)", true), raw(by_column))));
}

BOOST_AUTO_TEST_CASE(versions_one_two_and_three_are_the_same_array) {
    for (const int version : {1, 2, 3}) {
        BOOST_TEST(all_values(npy(dictionary("<f4", "(3, 4)"), raw(twelve), version)) == twelve_in_double);
    }
    refused(npy(dictionary("<f4", "(3, 4)"), raw(twelve), 4), "version 4.0");
}

BOOST_AUTO_TEST_CASE(halves_and_doubles_are_read) {
    BOOST_TEST(all_values(npy(dictionary("<f8", "(3, 4)"), raw(twelve_in_double))) == twelve_in_double);
    std::vector<std::uint16_t> halves;
    for (const double value : twelve_in_double) halves.push_back(float_to_half(value));
    BOOST_TEST(all_values(npy(dictionary("<f2", "(3, 4)"), raw(halves))) == twelve_in_double);
}

BOOST_AUTO_TEST_CASE(other_writers_headers_are_read) {
    const std::string data = raw(twelve);
    BOOST_TEST(all_values(npy("{\"shape\":(3L,4L),\"descr\":\"<f4\",\"fortran_order\":False}", data)) ==
               twelve_in_double);
    BOOST_TEST(all_values(npy("{ 'fortran_order' : False , 'descr':'<f4','shape':( 3 , 4 , ) }", data)) ==
               twelve_in_double);
}

BOOST_AUTO_TEST_CASE(each_wrong_array_has_its_own_reason) {
    const std::string data = raw(twelve);
    refused(npy(dictionary(">f4", "(3, 4)"), data), "big-endian");
    refused(npy(dictionary("|O", "(3, 4)"), data), "Python objects");
    refused(npy(dictionary("<i4", "(3, 4)"), data), "whole numbers (type <i4)");
    refused(npy(dictionary("|b1", "(6, 8)"), data), "true/false");
    refused(npy(dictionary("<c8", "(3, 2)"), data), "complex");
    refused(npy(dictionary("<U1", "(3, 4)"), data), "text");
    refused(npy(dictionary("<f16", "(3, 1)"), data), "type <f16");
    refused(npy("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (3, 4)}", data), "named fields");
    refused(npy(dictionary("<f4", "(12,)"), data), "shape (12,)");
    refused(npy(dictionary("<f4", "()"), raw<float>({1})), "shape ()");
    refused(npy(dictionary("<f4", "(3, 2, 2)"), data), "shape (3, 2, 2)");
    refused(npy(dictionary("<f4", "(0, 4)"), ""), "no rows");
    refused(npy(dictionary("<f4", "(4, 0)"), ""), "no columns");
    refused(npy(dictionary("<f4", "(3, 5)"), data), "cut short");
    refused(npy(dictionary("<f4", "(3, 3)"), data), "longer than its array");
    refused(npy(dictionary("<f4", "(4611686018427387904, 4)"), data), "more than any file holds");
    std::string broken = npy(dictionary("<f4", "(3, 4)"), data);
    broken.replace(0, 6, 6, '\0');
    refused(broken, "magic");
}

BOOST_AUTO_TEST_CASE(damaged_headers_are_named) {
    const std::string data = raw(twelve);
    refused(npy("{'descr': '<f4', 'fortran_order': False}", data), "not all of");
    refused(npy("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3, 4)}", data),
            "repeated key");
    refused(npy("{'descr': '<f4', 'order': False, 'shape': (3, 4)}", data), "unknown or repeated key");
    refused(npy("{'descr': '<f4', 'fortran_order': 1, 'shape': (3, 4)}", data), "neither True nor False");
    refused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-3, 4)}", data), "no whole number");
    refused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 4)}", data),
            "no whole number");
    refused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (12)}", data), "not a tuple");
    refused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4)} + x", data),
            "after the dictionary");
    refused(npy("{'descr': '<f4", data), "quote");
    refused(npy("{'descr': [('x', '<f4'", data), "unclosed list");
    refused(npy("", data), "no '{'");
    const std::string good = npy(dictionary("<f4", "(3, 4)"), data);
    for (std::size_t length = 1; length < good.size(); ++length) {
        BOOST_CHECK_THROW(npy_array(in_memory(good.substr(0, length))), DataError);
    }
}

// Fixed seed: 40,000 damaged headers, each of which is refused, or is so little damaged that it still says "3
// x 4 floats in C order", or describes another array of the same length (e.g. `(4, 3)` is one digit away
// twice).
BOOST_AUTO_TEST_CASE(damaged_headers_never_crash) {
    std::mt19937 random(20240501);
    const std::string data = raw(twelve);
    for (int round = 0; round < 40000; ++round) {
        std::string bytes = npy(dictionary(round % 2 ? "<f4" : "<U4", "(3, 4)"), data, 1 + round % 3);
        for (unsigned flips = 1 + random() % 4; flips > 0; --flips) {
            bytes[random() % (bytes.size() - data.size())] = static_cast<char>(random() % 256);
        }
        if (random() % 8 == 0) bytes.resize(random() % bytes.size());
        try {
            const auto array = npy_array(in_memory(bytes));
            BOOST_TEST(array->rows * array->cols * size_of(array->type) <= 48);
            if (array->rows == 3 && array->type == ElementType::float32) {
                const auto values = all_values(*array);
                BOOST_TEST((values == twelve_in_double || bytes.find("True") != std::string::npos));
            }
        } catch (const DataError&) {
        }
        try {
            npy_texts(in_memory(bytes));
        } catch (const DataError&) {
        }
    }
}

BOOST_AUTO_TEST_CASE(texts_are_utf8_without_padding) {
    const std::u32string wide = std::u32string(U"a\0\0\0", 4) + U"\u00e9\u4e00\U0001f600z";
    const std::string data(reinterpret_cast<const char*>(wide.data()), wide.size() * 4);
    BOOST_TEST(npy_texts(in_memory(npy(dictionary("<U4", "(2,)"), data))) ==
               (std::vector<std::string>{"a", "\xc3\xa9\xe4\xb8\x80\xf0\x9f\x98\x80z"}));
    BOOST_TEST(npy_texts(in_memory(npy(dictionary("|S3", "(2,)"), std::string("007ab\0", 6)))) ==
               (std::vector<std::string>{"007", "ab"}));
}

BOOST_AUTO_TEST_CASE(texts_of_other_types_are_refused) {
    const auto refuse = [](const std::string& bytes, const std::string& reason) {
        BOOST_CHECK_EXCEPTION(npy_texts(in_memory(bytes)), DataError, [&](const DataError& error) {
            return std::string(error.what()).find(reason) != std::string::npos;
        });
    };
    refuse(npy(dictionary("<i8", "(2,)"), std::string(16, '\0')), "ids are text");
    refuse(npy(dictionary("|O", "(2,)"), std::string(16, '\0')), "astype(str)");
    refuse(npy(dictionary(">U2", "(2,)"), std::string(16, '\0')), "type >U2");
    refuse(npy(dictionary("|S2", "(2, 1)"), "abcd"), "one text a row");
    refuse(npy(dictionary("|S2", "(3,)"), "abcd"), "cut short");
    refuse(npy(dictionary("<U1", "(2,)"), std::string("a\0\0\0\0\xd8\0\0", 8)), "row 1: holds a code point");
}

BOOST_AUTO_TEST_CASE(a_feature_file_may_be_npy) {
    const TemporaryDirectory directory;
    const std::string path =
        directory.file("x.h5", npy(dictionary("<f4", "(3, 4)"), raw(twelve)));  // the name says nothing
    const FeatureFile file(path);
    BOOST_TEST(file.rows() == 3);
    BOOST_TEST(file.dimension() == 4);
    BOOST_TEST(!file.has_ids());
    Matrix<float> out(4, 4);
    const std::vector<FeatureRow> which{FeatureRow(2), FeatureRow(0), FeatureRow(2), FeatureRow(1)};
    file.read(which, out.view());
    for (std::size_t i = 0; i < which.size(); ++i) {
        for (std::int64_t j = 0; j < 4; ++j) {
            BOOST_TEST(out.row(static_cast<std::int64_t>(i))[static_cast<std::size_t>(j)] ==
                       twelve[static_cast<std::size_t>(which[i].value * 4 + j)]);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_file_that_shrinks_while_it_is_read_names_the_row) {
    const TemporaryDirectory directory;
    const std::string path = directory.file("x.npy", npy(dictionary("<f4", "(3, 4)"), raw(twelve)));
    const FeatureFile file(path);
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 20);
    Matrix<float> out(3, 4);
    const std::vector<FeatureRow> which{FeatureRow(0), FeatureRow(1), FeatureRow(2)};
    BOOST_CHECK_EXCEPTION(file.read(which, out.view()), DataError, [&](const DataError& error) {
        return error.place().file == path && error.place().row == 1;
    });
}

BOOST_AUTO_TEST_SUITE_END()
