#include "candor/store/feature_writer.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/store/feature_file.hpp"
#include "candor/store/hdf5.hpp"
#include "candor/store/output_file.hpp"

namespace candor::store {

void require_replaceable_features(const std::string& path, bool overwrite) {
    if (!overwrite) throw UsageError(path, "exists already; give --overwrite to replace it");
    bool features = false;
    try {
        features = has_dataset(open_hdf5_file(path).get(), "features");
    } catch (const Error&) {
    }
    if (!features) {
        throw UsageError(
            path,
            "is no HDF5 feature file, and --overwrite replaces nothing else; name another output or "
            "remove it yourself");
    }
}

struct FeatureWriter::File {
    std::string path, part;
    ElementType element;
    std::int64_t rows, dimension, written = 0;
    bool published = false;
    // Closed in the reverse of this order: everything in a file before the file.
    Handle file, type, dataset;

    /// The next `count` rows, in the file's type.
    void write(const std::byte* stored, std::int64_t count) {
        const hsize_t start[2] = {static_cast<hsize_t>(written), 0};
        const hsize_t extent[2] = {static_cast<hsize_t>(count), static_cast<hsize_t>(dimension)};
        const Handle memory(checked(H5Screate_simple(2, extent, nullptr), part, "write"), H5Sclose);
        const Handle space(checked(H5Dget_space(dataset.get()), part, "write"), H5Sclose);
        checked(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start, nullptr, extent, nullptr), part,
                "write");
        checked(H5Dwrite(dataset.get(), type.get(), memory.get(), space.get(), H5P_DEFAULT, stored), part,
                "write");
        written += count;
    }

    void texts(const char* name, std::span<const std::string> values) {
        std::size_t width = 1;
        for (const std::string& value : values) width = std::max(width, value.size());
        const hsize_t extent = values.size();
        const Handle text = text_type(width);
        const Handle space(checked(H5Screate_simple(1, &extent, nullptr), part, "texts"), H5Sclose);
        const Handle properties = dataset_properties();
        Handle texts(checked(H5Dcreate2(file.get(), name, text.get(), space.get(), H5P_DEFAULT,
                                        properties.get(), H5P_DEFAULT),
                             part, "texts"),
                     H5Dclose);
        std::vector<char> bytes(width * values.size(), '\0');
        for (std::size_t i = 0; i < values.size(); ++i) {
            std::memcpy(bytes.data() + i * width, values[i].data(), values[i].size());
        }
        checked(H5Dwrite(texts.get(), text.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()), part,
                "write");
        checked(texts.close(), part, "close");
    }
};

FeatureWriter::FeatureWriter(const std::string& path, ElementType type, std::int64_t rows,
                             std::int64_t dimension, bool overwrite) {
    CANDOR_REQUIRE(rows > 0 && dimension > 0, std::to_string(rows) + " x " + std::to_string(dimension));
    require_output_name(path);
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) require_replaceable_features(path, overwrite);
    quiet_hdf5();
    auto started = std::make_unique<File>();
    started->path = path;
    started->part = part_of(path);
    started->element = type;
    started->rows = rows;
    started->dimension = dimension;
    const std::string part = started->part;

    const Handle access(checked(H5Pcreate(H5P_FILE_ACCESS), part, "create"), H5Pclose);
    checked(H5Pset_file_locking(access.get(), false, true), part, "create");
    file_ = std::move(started);
    try {
        file_->file =
            Handle(checked(H5Fcreate(part.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), part, "create"),
                   H5Fclose);
        file_->type = feature_type(type);
        const hsize_t extent[2] = {static_cast<hsize_t>(rows), static_cast<hsize_t>(dimension)};
        const Handle space(checked(H5Screate_simple(2, extent, nullptr), part, "create"), H5Sclose);
        const Handle properties = dataset_properties();
        checked(H5Pset_fill_time(properties.get(), H5D_FILL_TIME_NEVER), part, "create");
        file_->dataset = Handle(checked(H5Dcreate2(file_->file.get(), "features", file_->type.get(),
                                                   space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
                                        part, "create"),
                                H5Dclose);
    } catch (...) {
        discard(path);
        throw;
    }
}

FeatureWriter::~FeatureWriter() {
    if (!file_->published) discard(file_->path);
}

void FeatureWriter::append(MatrixView<const double> values) {
    File& f = *file_;
    CANDOR_REQUIRE(values.cols == f.dimension && f.written + values.rows <= f.rows,
                   std::to_string(values.rows) + " x " + std::to_string(values.cols));
    const std::int64_t row_bytes = f.dimension * size_of(f.element);
    const std::int64_t most = std::max<std::int64_t>(1, (std::int64_t{64} << 20) / row_bytes);
    std::vector<std::byte> stored(static_cast<std::size_t>(std::min(most, values.rows) * row_bytes));
    for (std::int64_t first = 0; first < values.rows; first += most) {
        const std::int64_t count = std::min(most, values.rows - first);
        for (std::int64_t i = 0; i < count; ++i) {
            const auto row = values.row(first + i);
            const std::int64_t overflow = encode(f.element, row, stored.data() + i * row_bytes);
            if (overflow >= 0) {
                throw DataError({f.path, f.written + i},
                                "number " + format_real(row[static_cast<std::size_t>(overflow)]) +
                                    " in column " + std::to_string(overflow) + " overflows " +
                                    std::string(name_of(f.element)),
                                "choose a wider type or scale the features");
            }
        }
        f.write(stored.data(), count);
    }
}

void FeatureWriter::append_stored(std::span<const std::byte> rows) {
    File& f = *file_;
    const auto row_bytes = static_cast<std::size_t>(f.dimension * size_of(f.element));
    const auto count = static_cast<std::int64_t>(rows.size() / row_bytes);
    CANDOR_REQUIRE(rows.size() % row_bytes == 0 && f.written + count <= f.rows,
                   std::to_string(rows.size()) + " bytes, rows of " + std::to_string(row_bytes));
    if (count > 0) f.write(rows.data(), count);
}

void FeatureWriter::finish(std::span<const std::string> ids, std::span<const std::string> findings) {
    File& f = *file_;
    CANDOR_REQUIRE(f.written == f.rows && static_cast<std::int64_t>(ids.size()) == f.rows &&
                       (findings.empty() || findings.size() == ids.size()),
                   std::to_string(f.written) + " rows, " + std::to_string(ids.size()) + " ids");
    check_ids(f.path, ids, findings);
    f.texts("image_id", ids);
    if (!findings.empty()) f.texts("finding", findings);
    checked(f.dataset.close(), f.part, "close");
    checked(H5Fflush(f.file.get(), H5F_SCOPE_GLOBAL), f.part, "flush");
    checked(f.file.close(), f.part, "close");
    publish(f.path);
    f.published = true;
}

}  // namespace candor::store
