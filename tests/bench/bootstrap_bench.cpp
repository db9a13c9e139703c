/// Processor seconds of one patient bootstrap on one core, for tests/bench/bootstrap.py: reads the data that
/// the script wrote, prints `seconds low high` of the AUROC, then of the first of the rates.
///   usage: bootstrap_bench DIRECTORY PATIENTS RESAMPLES

#include <cstdio>
#include <ctime>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "candor/base/matrix.hpp"
#include "candor/base/text.hpp"
#include "candor/stats/auroc.hpp"
#include "candor/stats/interval.hpp"
#include "candor/stats/resampling.hpp"
#include "candor/stats/weighted_sums.hpp"

namespace {

using namespace candor;

template <class T>
std::vector<T> read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    file.exceptions(std::ios::failbit | std::ios::badbit);
    file.seekg(0, std::ios::end);
    std::vector<T> values(static_cast<std::size_t>(file.tellg()) / sizeof(T));
    file.seekg(0);
    file.read(reinterpret_cast<char*>(values.data()),
              static_cast<std::streamsize>(values.size() * sizeof(T)));
    return values;
}

template <class Work>
void time(Work work) {
    work();  // for the memory and the choice of vectors
    const std::clock_t start = std::clock();
    const stats::Interval interval = work();
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    std::printf("%.6f %.6f %.6f\n", seconds, interval.low, interval.high);
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 4) throw std::runtime_error("usage: bootstrap_bench DIRECTORY PATIENTS RESAMPLES");
    const std::string directory = argv[1];
    const std::int64_t patients = std::stoll(argv[2]), resamples = std::stoll(argv[3]);
    const auto positive_score = read<double>(directory + "/positive_score");
    const auto negative_score = read<double>(directory + "/negative_score");
    const auto positive_patient = read<std::int32_t>(directory + "/positive_patient");
    const auto negative_patient = read<std::int32_t>(directory + "/negative_patient");
    const auto patient = read<std::int32_t>(directory + "/patient");
    const auto query = read<std::int8_t>(directory + "/query");  // findings x rows: 1 where it is asked
    const auto hit = read<std::int8_t>(directory + "/hit");  // findings x encoders x rows: 1 where discordant
    const std::size_t rows = patient.size(), findings = query.size() / rows;
    const std::size_t encoders = hit.size() / query.size();
    // Making the weights is part of either.
    const auto part = [](std::vector<std::int64_t>& sums, std::int64_t first, std::int64_t count) {
        return std::span(sums).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    };
    const auto all = static_cast<std::size_t>(resamples);

    time([&] {
        const stats::PairCounter counter(positive_score, positive_patient, negative_score, negative_patient);
        std::vector<std::int64_t> wins(all), of(all);
        const stats::Resampling resampling(42, "bench", patients, resamples);
        resampling.for_each_block([&](MatrixView<const stats::Weight> weights, std::int64_t first) {
            counter.count(weights, part(wins, first, weights.cols), part(of, first, weights.cols));
        });
        std::vector<double> replicates;
        for (std::size_t b = 0; b < all; ++b) replicates.push_back(stats::auroc(wins[b], of[b]));
        return stats::percentile_interval(replicates, 0.95);
    });
    time([&] {
        // What is asked is the same for all encoders of a finding, what is found is not.
        struct Rate {
            stats::WeightedSums sums;
            std::vector<std::int64_t> resampled;
        };
        std::vector<Rate> found, asked;
        std::vector<std::int64_t> values;
        for (std::size_t f = 0; f < findings; ++f) {
            const stats::RowPatients of_rows(patient);
            const auto add = [&](std::vector<Rate>& rates, const std::int8_t* column) {
                values.assign(column, column + rows);
                rates.push_back({{of_rows, values}, std::vector<std::int64_t>(all)});
            };
            add(asked, query.data() + f * rows);
            for (std::size_t e = 0; e < encoders; ++e) add(found, hit.data() + (f * encoders + e) * rows);
        }
        const stats::Resampling resampling(42, "bench", patients, resamples);
        resampling.for_each_block([&](MatrixView<const stats::Weight> weights, std::int64_t first) {
            for (std::vector<Rate>* rates : {&found, &asked})
                for (Rate& rate : *rates) rate.sums.add(weights, part(rate.resampled, first, weights.cols));
        });
        std::vector<stats::Interval> intervals;
        std::vector<double> replicates(all);
        for (std::size_t c = 0; c < found.size(); ++c) {
            for (std::size_t b = 0; b < all; ++b) {
                replicates[b] = static_cast<double>(found[c].resampled[b]) /
                                static_cast<double>(asked[c / encoders].resampled[b]);
            }
            intervals.push_back(stats::percentile_interval(replicates, 0.95));
        }
        return intervals.front();
    });
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
