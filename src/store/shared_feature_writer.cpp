#include "candor/store/shared_feature_writer.hpp"

#include <algorithm>

#include "candor/base/error.hpp"
#include "candor/store/feature_file.hpp"
#include "candor/store/hdf5.hpp"
#include "store/shared_file.hpp"

namespace candor::store {

namespace {

constexpr const char* origin_group = "/embed";
constexpr const char* origin_name = "origin";

}  // namespace

struct SharedFeatureWriter::File : SharedFile {
    using SharedFile::SharedFile;

    std::int64_t rows = 0, dimension = 0, row_bytes = 0;
    Handle type, dataset;
};

SharedFeatureWriter::SharedFeatureWriter(const std::string& path, const parallel::Communicator& world,
                                         ElementType type, std::int64_t rows, std::int64_t dimension) {
    CANDOR_REQUIRE(rows > 0 && dimension > 0, std::to_string(rows) + " x " + std::to_string(dimension));
    file_ = std::make_unique<File>(path, world);
    File& f = *file_;
    f.rows = rows;
    f.dimension = dimension;
    f.row_bytes = dimension * size_of(type);
    f.together([&] {
        f.type = feature_type(type);
        const Handle properties = dataset_properties();
        checked(H5Pset_fill_time(properties.get(), H5D_FILL_TIME_NEVER), f.part, "create");
        f.dataset = f.create("/features", f.type.get(),
                             {static_cast<hsize_t>(rows), static_cast<hsize_t>(dimension)}, properties.get());
    });
}

SharedFeatureWriter::~SharedFeatureWriter() {
    // Closing is collective, and on the way out of a failure the other ranks may be elsewhere.
    if (!file_->published) file_->dataset.release();
}

void SharedFeatureWriter::write(std::int64_t first, std::span<const std::byte> rows) {
    File& f = *file_;
    const auto count = static_cast<std::int64_t>(rows.size()) / f.row_bytes;
    CANDOR_REQUIRE(count * f.row_bytes == static_cast<std::int64_t>(rows.size()) && first >= 0 &&
                       first + count <= f.rows,
                   std::to_string(rows.size()) + " bytes from row " + std::to_string(first));
    f.together([&] {
        const Handle space(checked(H5Dget_space(f.dataset.get()), f.part, "write"), H5Sclose);
        const std::int64_t most = std::max<std::int64_t>(1, largest_transfer / f.row_bytes);
        for (std::int64_t at = 0; at < count; at += most) {
            const hsize_t start[2] = {static_cast<hsize_t>(first + at), 0};
            const hsize_t extent[2] = {static_cast<hsize_t>(std::min(most, count - at)),
                                       static_cast<hsize_t>(f.dimension)};
            const Handle memory = simple_space({extent[0], extent[1]});
            checked(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start, nullptr, extent, nullptr), f.part,
                    "write");
            checked(H5Dwrite(f.dataset.get(), f.type.get(), memory.get(), space.get(), H5P_DEFAULT,
                             rows.data() + at * f.row_bytes),
                    f.part, "write");
        }
    });
}

void SharedFeatureWriter::finish(const std::vector<std::string>& ids,
                                 const std::vector<std::string>& findings, const std::string& origin) {
    File& f = *file_;
    f.together([&] { checked(f.dataset.close(), f.part, "close"); });
    std::int64_t has_findings[] = {findings.empty() ? 0 : 1};
    f.world.maximum(has_findings);
    f.texts("/image_id", ids);
    if (has_findings[0] != 0) f.texts("/finding", findings);
    f.together([&] { f.attribute(origin_group, origin_name, origin); });
    f.finish();
}

std::string read_origin(const std::string& path) {
    try {
        const Handle file = open_hdf5_file(path);
        if (H5Lexists(file.get(), origin_group, H5P_DEFAULT) <= 0 ||
            H5Aexists_by_name(file.get(), origin_group, origin_name, H5P_DEFAULT) <= 0)
            return {};
        const Handle attribute(
            H5Aopen_by_name(file.get(), origin_group, origin_name, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
        const Handle type(H5Aget_type(attribute.get()), H5Tclose);
        if (H5Tget_class(type.get()) != H5T_STRING || H5Tis_variable_str(type.get()) != 0) return {};
        std::string text(H5Tget_size(type.get()), '\0');
        if (H5Aread(attribute.get(), type.get(), text.data()) < 0) return {};
        text.erase(text.find_last_not_of('\0') + 1);
        return text;
    } catch (const Error&) {
        return {};
    }
}

}  // namespace candor::store
