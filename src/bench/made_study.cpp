#include "candor/bench/made_study.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "candor/base/error.hpp"
#include "candor/base/matrix.hpp"
#include "candor/bench/made_rows.hpp"
#include "candor/store/feature_file.hpp"

namespace candor::bench {

namespace {

constexpr int findings = 12;

void write_text(const std::filesystem::path& path, const std::string& text) {
    std::ofstream out(path, std::ios::binary);
    out << text;
    out.close();
    if (!out) throw MachineError(path, std::string("cannot be written: ") + std::strerror(errno));
}

std::string finding_name(int finding) {
    return "finding-" + std::to_string(finding);
}

std::string table_text(std::int64_t rows) {
    std::string text = "image_id,patient_id,split";
    for (int f = 0; f < findings; ++f) text += ',' + finding_name(f);
    text += '\n';
    const std::vector<std::vector<bool>> positive = many_findings(rows, findings);
    for (std::int64_t i = 0; i < rows; ++i) {
        text += "image-" + std::to_string(i) + ",patient-" + std::to_string(i / 2) + ",test";
        for (const std::vector<bool>& has : positive) text += has[static_cast<std::size_t>(i)] ? ",1" : ",0";
        text += '\n';
    }
    return text;
}

void write_features(const std::filesystem::path& path, std::int64_t rows, std::int64_t dimension) {
    store::FeatureTable table;
    table.type = store::ElementType::float16;
    table.values = Matrix<double>(rows, dimension);
    const Matrix<float> made = isotropic_rows(rows, dimension);
    for (std::int64_t i = 0; i < rows; ++i) {
        table.ids.push_back("image-" + std::to_string(i));
        std::ranges::copy(std::as_const(made).row(i), table.values.row(i).begin());
    }
    store::write_feature_file(path, table, false);
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
    std::error_code fault;
    std::string name = (std::filesystem::temp_directory_path(fault) / "candor-bench-XXXXXX").string();
    if (fault || mkdtemp(name.data()) == nullptr) {
        throw MachineError(name, std::string("cannot be made: ") +
                                     (fault ? fault.message() : std::strerror(errno)) +
                                     "; name a folder in TMPDIR");
    }
    path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::string write_made_study(const std::filesystem::path& folder, const std::vector<std::int64_t>& sizes,
                             const std::vector<std::int64_t>& dimensions) {
    std::string text = "[study]\nname = \"made\"\n[operator]\nbank_cap = 0\nalso = []\n";
    std::string tasks, names;
    for (int f = 0; f < findings; ++f) names += (f > 0 ? ", \"" : "\"") + finding_name(f) + '"';
    for (const std::int64_t dimension : dimensions)
        text += "[[encoder]]\nid = \"d" + std::to_string(dimension) + "\"\n";
    for (const std::int64_t size : sizes) {
        const std::string id = "n" + std::to_string(size);
        write_text(folder / (id + ".csv"), table_text(size));
        for (const std::int64_t dimension : dimensions)
            write_features(folder / (id + "-d" + std::to_string(dimension) + ".h5"), size, dimension);
        text += "[[dataset]]\nid = \"" + id + "\"\ntable = \"" + id + ".csv\"\nfeatures = \"" + id +
                "-{encoder}.h5\"\n";
        tasks += "[[task]]\nid = \"" + id + "\"\ndatasets = [\"" + id + "\"]\nfindings = [" + names + "]\n";
    }
    const std::filesystem::path file = folder / "study.toml";
    write_text(file, text + tasks);
    return file.string();
}

}  // namespace candor::bench
