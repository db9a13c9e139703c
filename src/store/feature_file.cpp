#include "candor/store/feature_file.hpp"

#include <filesystem>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/store/feature_writer.hpp"
#include "candor/store/hdf5.hpp"
#include "candor/store/input_file.hpp"
#include "candor/store/npy.hpp"

namespace candor::store {

struct FeatureFile::Source {
    std::string path;
    std::unique_ptr<Array> array;
    std::vector<std::string> ids, findings;
    bool has_ids = false;

    explicit Source(const std::string& p, bool with_ids = true) : path(p) {
        InputFile file(path);
        switch (kind_of(file)) {
            case FileKind::npy:
                array = npy_array(NpyBytes(std::move(file)));
                break;
            case FileKind::hdf5:
                open_hdf5(with_ids);
                break;
            case FileKind::zip:
                throw DataError({path}, "is a zip archive (.npz), not a feature file",
                                "import it first with candor import");
            case FileKind::other:
                throw DataError({path},
                                "is neither HDF5 nor .npy: its first bytes are those of another kind of file",
                                "import other formats with candor import");
        }
    }

    void open_hdf5(bool with_ids) {
        const auto file = std::make_shared<Handle>(open_hdf5_file(path));
        if (!has_dataset(file->get(), "/features")) {
            throw DataError({path}, "has no dataset /features",
                            "import a file of other names with candor import --dataset NAME");
        }
        array = hdf5_array(path, file, "/features");
        has_ids = has_dataset(file->get(), "/image_id");
        if (!with_ids) return;
        if (has_ids) ids = texts(file->get(), "/image_id");
        if (has_dataset(file->get(), "/finding")) findings = texts(file->get(), "/finding");
        if (ids.empty() && !findings.empty())
            throw DataError({path}, "has /finding without /image_id", "write both, as candor import does");
        if (!ids.empty()) check_ids(path, ids, findings);
    }

    std::vector<std::string> texts(hid_t file, const std::string& name) const {
        auto values = hdf5_texts(path, file, name);
        if (static_cast<std::int64_t>(values.size()) != array->rows) {
            throw DataError({path}, name + " has " + std::to_string(values.size()) + " rows, /features has " +
                                        std::to_string(array->rows));
        }
        return values;
    }
};

FeatureFile::FeatureFile(const std::string& path) : source_(std::make_unique<Source>(path)) {}
FeatureFile::~FeatureFile() = default;
FeatureFile::FeatureFile(FeatureFile&&) noexcept = default;
FeatureFile& FeatureFile::operator=(FeatureFile&&) noexcept = default;

const std::string& FeatureFile::path() const {
    return source_->path;
}
std::int64_t FeatureFile::rows() const {
    return source_->array->rows;
}
std::int64_t FeatureFile::dimension() const {
    return source_->array->cols;
}
ElementType FeatureFile::type() const {
    return source_->array->type;
}
bool FeatureFile::has_ids() const {
    return !source_->ids.empty();
}
const std::vector<std::string>& FeatureFile::ids() const {
    return source_->ids;
}
const std::vector<std::string>& FeatureFile::findings() const {
    return source_->findings;
}

void FeatureFile::read(std::span<const FeatureRow> which, MatrixView<float> out) const {
    read_rows(*source_->array, which, out);
}

void FeatureFile::read(std::span<const FeatureRow> which, MatrixView<double> out) const {
    read_rows(*source_->array, which, out);
}

void FeatureFile::read(std::span<const FeatureRow> which, std::span<const std::int64_t> target,
                       MatrixView<float> out) const {
    read_rows(*source_->array, which, target, out);
}

void FeatureFile::read(std::span<const FeatureRow> which, std::span<const std::int64_t> target,
                       MatrixView<double> out) const {
    read_rows(*source_->array, which, target, out);
}

void FeatureFile::visit(std::span<const FeatureRow> which, const TakeRow<float>& take) const {
    visit_rows(*source_->array, which, take);
}

void FeatureFile::visit(std::span<const FeatureRow> which, const TakeRow<double>& take) const {
    visit_rows(*source_->array, which, take);
}

FeatureHeader read_feature_header(const std::string& path) {
    const FeatureFile::Source source(path, false);
    return {source.array->rows, source.array->cols, source.array->type, source.has_ids,
            static_cast<std::int64_t>(std::filesystem::file_size(path))};
}

void write_feature_file(const std::string& path, const FeatureTable& table, bool overwrite) {
    FeatureWriter writer(path, table.type, table.values.rows(), table.values.cols(), overwrite);
    writer.append(table.values.view());
    writer.finish(table.ids, table.findings);
}

void check_ids(const std::string& file, std::span<const std::string> ids,
               std::span<const std::string> findings) {
    std::vector<std::string> with_region;
    for (std::size_t i = 0; i < findings.size(); ++i) with_region.push_back(ids[i] + '\0' + findings[i]);

    std::unordered_map<std::string_view, std::int64_t> seen;
    seen.reserve(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto row = static_cast<std::int64_t>(i);
        if (ids[i].empty()) throw DataError({file, row}, "the image id is blank");
        if (ids[i].find('\0') != std::string::npos)
            throw DataError({file, row}, "the image id holds a NUL byte");
        if (!is_utf8(ids[i])) throw DataError({file, row}, "the image id is not valid UTF-8");
        if (!findings.empty() && !is_utf8(findings[i]))
            throw DataError({file, row, {}, ids[i]}, "the finding is not valid UTF-8");
        const auto [first, is_new] = seen.emplace(with_region.empty() ? ids[i] : with_region[i], row);
        if (!is_new) {
            throw DataError({file, row, {}, ids[i]},
                            "the image id came before in row " + std::to_string(first->second) +
                                (with_region.empty() ? "" : " for the same finding"),
                            with_region.empty()
                                ? "an image has one row; where a row is a region of it (erased "
                                  "features), /finding beside /image_id names the region"
                                : "a region of an image has one row");
        }
    }
}

}  // namespace candor::store
