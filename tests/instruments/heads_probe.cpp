/// Trains heads on raw arrays, for tests/reference/heads_test.py and tests/bench/heads.py.
///   usage: heads_probe DIRECTORY linear|hidden DIMENSION EPOCHS SEED MEMBERS THREADS
///
/// Reads `features` (float32, N x d) and `labels` (int8, findings x N). Writes for each member m = 0, 1, ...
/// `initial.m` and `parameters.m` (float32, findings x parameters), `order.m` (int64, epochs x N), `logits.m`
/// (float64, findings x N) and `lipschitz.m` (float64, findings). Findings are called 0, 1, ..., the dataset
/// "probe". Prints the processor seconds of training, the operations a processor second of a large bare
/// product, taken before and after, and the seconds that passed in training.

#include <algorithm>
#include <chrono>
#include <ctime>
#include <exception>
#include <fstream>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "candor/instruments/heads.hpp"
#include "candor/linalg/gemm.hpp"

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

/// Takes rows of numbers, one after the other.
class Output {
  public:
    explicit Output(const std::string& path) : file_(path, std::ios::binary) {
        file_.exceptions(std::ios::failbit | std::ios::badbit);
    }
    template <class T>
    void put(std::span<const T> row) {
        file_.write(reinterpret_cast<const char*>(row.data()),
                    static_cast<std::streamsize>(row.size_bytes()));
    }

  private:
    std::ofstream file_;
};

double seconds_since(std::clock_t start) {
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

/// Operations a processor second.
double product_rate() {
    constexpr std::int64_t m = 2048, d = 1024;
    Matrix<float> a(m, d), b(m, d), c(m, m);
    for (Matrix<float>* const values : {&a, &b}) {
        for (std::int64_t i = 0; i < m; ++i) std::ranges::fill(values->row(i), 0.5F);
    }
    linalg::product(a.view(), b.view(), c.view());
    const std::clock_t start = std::clock();
    constexpr int times = 4;
    for (int i = 0; i < times; ++i) linalg::product(a.view(), b.view(), c.view());
    return times * 2.0 * m * m * d / seconds_since(start);
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 8)
        throw std::runtime_error(
            "usage: heads_probe DIRECTORY linear|hidden DIMENSION EPOCHS SEED MEMBERS THREADS");
    const std::string directory = std::string(argv[1]) + "/", kind = argv[2];
    if (kind != "linear" && kind != "hidden") throw std::runtime_error("no such kind: " + kind);
    const std::int64_t dimension = std::stoll(argv[3]), epochs = std::stoll(argv[4]);
    const std::uint64_t seed = std::stoull(argv[5]);
    const int members = std::stoi(argv[6]), threads = std::stoi(argv[7]);
    linalg::open_blas();

    const auto features = read<float>(directory + "features");
    const auto labels = read<std::int8_t>(directory + "labels");
    const std::int64_t rows = std::ssize(features) / dimension, findings = std::ssize(labels) / rows;
    const instruments::LabelledRows given = {{features.data(), rows, dimension, dimension},
                                             {labels.data(), findings, rows, rows}};

    std::vector<instruments::Heads> heads;
    for (int m = 0; m < members; ++m) {
        instruments::HeadTask task;
        task.kind = kind == "linear" ? instruments::HeadKind::linear : instruments::HeadKind::hidden;
        task.dimension = dimension;
        task.dataset = "probe";
        for (std::int64_t f = 0; f < findings; ++f) task.findings.push_back(std::to_string(f));
        task.seed = seed + static_cast<std::uint64_t>(m);
        heads.emplace_back(task);
        Output initial(directory + "initial." + std::to_string(m));
        for (std::int64_t f = 0; f < findings; ++f) initial.put(heads.back().parameters(f));
    }

    const double before = product_rate();
    const std::clock_t start = std::clock();
    const auto begun = std::chrono::steady_clock::now();
    instruments::train(heads, given, epochs, threads);
    const double trained = seconds_since(start);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begun;
    std::cout << trained << ' ' << (before + product_rate()) / 2 << ' ' << passed.count() << '\n';

    for (int m = 0; m < members; ++m) {
        const instruments::Heads& member = heads[static_cast<std::size_t>(m)];
        const std::string number = std::to_string(m);
        Output parameters(directory + "parameters." + number), order(directory + "order." + number),
            logits(directory + "logits." + number), lipschitz(directory + "lipschitz." + number);
        for (std::int64_t e = 0; e < epochs; ++e) {
            const auto visited = instruments::epoch_order(member.task().seed, "probe", e, rows);
            order.put(std::span<const std::int64_t>(visited));
        }
        const Matrix<double> z = member.logits(given.features);
        for (std::int64_t f = 0; f < findings; ++f) {
            parameters.put(member.parameters(f));
            logits.put(z.row(f));
            const double bound = member.lipschitz(f);
            lipschitz.put(std::span<const double>(&bound, 1));
        }
    }
} catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
