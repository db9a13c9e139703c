// How long candor takes to read a feature file: reading_bench whole|visit FILE BYTES. Prints the seconds and
// a sum over the bits that were read, for tests/bench/reading.py to compare. No test, and not run as one.

#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "candor/base/matrix.hpp"
#include "candor/store/feature_file.hpp"

using namespace candor;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Takes memory and gives it back, so that no measured run is the first to ask the system for it.
void touch_memory(std::int64_t bytes) {
    Matrix<float> scratch(1, bytes / static_cast<std::int64_t>(sizeof(float)));
    std::memset(scratch.row(0).data(), 1, scratch.row(0).size_bytes());
}

std::uint64_t sum_of_bits(std::span<const float> row) {
    std::uint64_t sum = 0;
    for (const float v : row) sum += std::bit_cast<std::uint32_t>(v);
    return sum;
}

void report(double seconds, std::uint64_t sum) {
    std::printf("%.6f %llu\n", seconds, static_cast<unsigned long long>(sum));
}

/// All rows into a new matrix.
void read_whole(const std::string& path) {
    const auto start = Clock::now();
    const store::FeatureFile file(path);
    std::vector<FeatureRow> rows;
    for (std::int64_t i = 0; i < file.rows(); ++i) rows.emplace_back(i);
    Matrix<float> out(file.rows(), file.dimension());
    file.read(rows, out.view());
    const double seconds = seconds_since(start);
    std::uint64_t sum = 0;
    for (std::int64_t i = 0; i < out.rows(); ++i) sum += sum_of_bits(std::as_const(out).row(i));
    report(seconds, sum);
}

/// All rows shown one after another, in the memory of one slab.
void visit_all(const std::string& path) {
    const auto start = Clock::now();
    const store::FeatureFile file(path);
    std::vector<FeatureRow> rows;
    for (std::int64_t i = 0; i < file.rows(); ++i) rows.emplace_back(i);
    std::uint64_t sum = 0;
    file.visit(rows, [&](std::int64_t, std::span<const float> row) { sum += sum_of_bits(row); });
    report(seconds_since(start), sum);
}

}  // namespace

int main(int count, char** words) try {
    if (count != 4) {
        std::fprintf(stderr, "usage: reading_bench whole|visit FILE BYTES-TO-TOUCH\n");
        return 2;
    }
    touch_memory(std::stoll(words[3]));
    if (std::string(words[1]) == "visit") {
        visit_all(words[2]);
    } else {
        read_whole(words[2]);
    }
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "reading_bench: %s\n", error.what());
    return 1;
}
