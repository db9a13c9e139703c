#include "candor/store/results_file.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "candor/base/bytes.hpp"
#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/store/hdf5.hpp"
#include "store/shared_file.hpp"

namespace candor::store {

namespace {

/// Values one after another as bytes, for broadcasts.
class Packing {
  public:
    Packing() = default;
    explicit Packing(std::string bytes) : bytes_(std::move(bytes)) {}

    const std::string& bytes() const { return bytes_; }
    void put(std::int64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
    void put(const std::string& text) {
        put(static_cast<std::int64_t>(text.size()));
        bytes_ += text;
    }
    std::int64_t integer() {
        std::int64_t value = 0;
        std::memcpy(&value, bytes_.data() + at_, sizeof value);
        at_ += sizeof value;
        return value;
    }
    std::string text() {
        const auto length = static_cast<std::size_t>(integer());
        at_ += length;
        return bytes_.substr(at_ - length, length);
    }

  private:
    std::string bytes_;
    std::size_t at_ = 0;
};

/// One column of a compound dataset: where it lies in a packed row.
struct Field {
    std::string name;
    Kind kind = Kind::integer;
    std::size_t width = 8, offset = 0;
};

std::size_t row_width(const std::vector<Field>& fields) {
    return fields.empty() ? 0 : fields.back().offset + fields.back().width;
}

Handle compound_type(const std::vector<Field>& fields) {
    Handle type(checked(H5Tcreate(H5T_COMPOUND, row_width(fields)), "HDF5", "type"), H5Tclose);
    for (const Field& field : fields) {
        const Handle member = value_type(field.kind, field.width);
        checked(H5Tinsert(type.get(), field.name.c_str(), field.offset, member.get()), "HDF5",
                field.name.c_str());
    }
    return type;
}

}  // namespace

// ---- writing
// -----------------------------------------------------------------------------------------------

namespace {

/// What lies side by side in one row of a matrix.
struct Run {
    std::int64_t row = 0, first_col = 0;
    std::vector<double> values;
};

/// Brings each row of a matrix together on one rank, so that it is written at once: thousands of short writes
/// by ranks that take turns in a row cost more than the message. Collective.
std::vector<Run> gather_rows(const parallel::Communicator& world,
                             std::span<const ResultsWriter::Piece> pieces) {
    std::vector<ByteWriter> writers(static_cast<std::size_t>(world.size()));
    for (const ResultsWriter::Piece& piece : pieces) {
        CANDOR_REQUIRE(piece.row >= 0, "row " + std::to_string(piece.row));
        ByteWriter& out = writers[static_cast<std::size_t>(piece.row % world.size())];
        out.put(piece.row);
        out.put(piece.first_col);
        out.put(piece.values);
    }
    std::vector<std::string> outgoing;
    for (ByteWriter& writer : writers) outgoing.push_back(writer.take());
    std::vector<Run> parts;
    for (const std::string& bytes : world.exchange(outgoing)) {
        ByteReader in(bytes);
        while (!in.done()) {
            Run& part = parts.emplace_back();
            part.row = in.get<std::int64_t>();
            part.first_col = in.get<std::int64_t>();
            part.values = in.get_many<double>();
        }
    }
    std::ranges::sort(parts, {}, [](const Run& part) { return std::pair(part.row, part.first_col); });
    std::vector<Run> runs;
    for (Run& part : parts) {
        const bool goes_on = !runs.empty() && runs.back().row == part.row &&
                             runs.back().first_col + std::ssize(runs.back().values) == part.first_col;
        if (goes_on) {
            runs.back().values.insert(runs.back().values.end(), part.values.begin(), part.values.end());
        } else {
            runs.push_back(std::move(part));
        }
    }
    return runs;
}

}  // namespace

struct ResultsWriter::File : SharedFile {
    using SharedFile::SharedFile;
};

ResultsWriter::ResultsWriter(const std::string& path, const parallel::Communicator& world)
    : file_(new File(path, world)) {
    File& f = *file_;
    f.together([&] {
        f.attribute("/run", "format", std::string(results_format));
        f.attribute("/run", "format_version", results_format_version);
    });
}

ResultsWriter::~ResultsWriter() = default;

void ResultsWriter::attribute(const std::string& group, const std::string& name,
                              const AttributeValue& value) {
    Packing packing;
    packing.put(static_cast<std::int64_t>(value.index()));
    if (const auto* text = std::get_if<std::string>(&value)) {
        packing.put(*text);
    } else if (const auto* real = std::get_if<double>(&value)) {
        packing.put(std::string(reinterpret_cast<const char*>(real), sizeof *real));
    } else {
        packing.put(std::get<std::int64_t>(value));
    }
    Packing agreed(file_->world.broadcast(packing.bytes()));
    AttributeValue shared = std::int64_t{0};
    switch (agreed.integer()) {
        case 0:
            shared = agreed.integer();
            break;
        case 1: {
            double real = 0;
            std::memcpy(&real, agreed.text().data(), sizeof real);
            shared = real;
            break;
        }
        default:
            shared = agreed.text();
    }
    file_->together([&] { file_->attribute(group, name, shared); });
}

void ResultsWriter::table(const ResultTable& table, const std::string& group) {
    Packing packing;
    if (file_->root()) {
        CANDOR_REQUIRE(!table.columns.empty(), table.name);
        packing.put(table.rows());
        packing.put(static_cast<std::int64_t>(table.columns.size()));
        for (const Column& column : table.columns) {
            const auto length = std::visit([](const auto& v) { return v.size(); }, column.values);
            CANDOR_REQUIRE(static_cast<std::int64_t>(length) == table.rows(), table.name + "." + column.name);
            const auto* texts = std::get_if<std::vector<std::string>>(&column.values);
            packing.put(column.name);
            packing.put(static_cast<std::int64_t>(column.values.index()));
            packing.put(static_cast<std::int64_t>(texts ? longest(*texts) : 8));
        }
    }
    Packing agreed(file_->world.broadcast(packing.bytes()));
    const std::int64_t rows = agreed.integer();
    std::vector<Field> fields(static_cast<std::size_t>(agreed.integer()));
    std::size_t offset = 0;
    for (Field& field : fields) {
        field.name = agreed.text();
        field.kind = static_cast<Kind>(agreed.integer());
        field.width = static_cast<std::size_t>(agreed.integer());
        field.offset = std::exchange(offset, offset + field.width);
    }

    const auto fill = [&](std::int64_t first, std::int64_t count, char* bytes) {
        for (std::size_t j = 0; j < fields.size(); ++j) {
            char* cell = bytes + fields[j].offset;
            std::visit(
                [&](const auto& values) {
                    for (std::int64_t i = first; i < first + count; ++i, cell += row_width(fields)) {
                        const auto& value = values[static_cast<std::size_t>(i)];
                        if constexpr (std::is_same_v<decltype(value), const std::string&>) {
                            std::memcpy(cell, value.data(), value.size());
                        } else {
                            std::memcpy(cell, &value, sizeof value);
                        }
                    }
                },
                table.columns[j].values);
        }
    };
    std::string name = file_->world.broadcast(table.name);
    file_->together([&] {
        const Handle type = compound_type(fields);
        file_->from_root(group + "/" + name, type.get(), rows, static_cast<std::int64_t>(row_width(fields)),
                         fill);
    });
}

void ResultsWriter::texts(const std::string& path, const std::vector<std::string>& values) {
    file_->texts(path, values);
}

void ResultsWriter::integers(const std::string& path, const std::vector<std::int64_t>& values) {
    std::int64_t rows = file_->root() ? static_cast<std::int64_t>(values.size()) : 0;
    file_->world.maximum({&rows, 1});
    file_->together([&] {
        file_->from_root(path, H5T_STD_I64LE, rows, 8,
                         [&](std::int64_t first, std::int64_t count, char* bytes) {
                             std::memcpy(bytes, values.data() + first, static_cast<std::size_t>(count * 8));
                         });
    });
}

void ResultsWriter::matrix(const std::string& path, std::int64_t rows, std::int64_t cols) {
    file_->together([&] {
        const Handle properties = dataset_properties();
        const double nan = std::numeric_limits<double>::quiet_NaN();
        checked(H5Pset_fill_value(properties.get(), H5T_NATIVE_DOUBLE, &nan), file_->part, "fill value");
        checked(H5Pset_fill_time(properties.get(), H5D_FILL_TIME_ALLOC), file_->part, "fill value");
        Handle dataset = file_->create(
            path, H5T_IEEE_F64LE, {static_cast<hsize_t>(rows), static_cast<hsize_t>(cols)}, properties.get());
        checked(dataset.close(), file_->part, "close");
    });
}

void ResultsWriter::write(const std::string& path, std::span<const Piece> pieces) {
    const std::vector<Run> runs = gather_rows(file_->world, pieces);
    file_->together([&] {
        Handle dataset(
            checked(H5Dopen2(file_->file.get(), path.c_str(), H5P_DEFAULT), file_->part, path.c_str()),
            H5Dclose);
        const Handle space(checked(H5Dget_space(dataset.get()), file_->part, path.c_str()), H5Sclose);
        hsize_t shape[2] = {0, 0};
        CANDOR_REQUIRE(H5Sget_simple_extent_ndims(space.get()) == 2, path);
        checked(H5Sget_simple_extent_dims(space.get(), shape, nullptr), file_->part, path.c_str());
        for (const Run& run : runs) {
            const auto length = std::ssize(run.values);
            CANDOR_REQUIRE(
                run.row >= 0 && run.row < static_cast<std::int64_t>(shape[0]) && run.first_col >= 0 &&
                    run.first_col + length <= static_cast<std::int64_t>(shape[1]),
                path + " row " + std::to_string(run.row) + " column " + std::to_string(run.first_col));
            constexpr std::int64_t most = largest_transfer / sizeof(double);
            for (std::int64_t at = 0; at < length; at += most) {
                const hsize_t start[2] = {static_cast<hsize_t>(run.row),
                                          static_cast<hsize_t>(run.first_col + at)};
                const hsize_t extent[2] = {1, static_cast<hsize_t>(std::min(most, length - at))};
                const Handle memory = simple_space({extent[1]});
                checked(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start, nullptr, extent, nullptr),
                        file_->part, path.c_str());
                checked(H5Dwrite(dataset.get(), H5T_NATIVE_DOUBLE, memory.get(), space.get(), H5P_DEFAULT,
                                 run.values.data() + at),
                        file_->part, "write");
            }
        }
        checked(dataset.close(), file_->part, "close");
    });
}

void ResultsWriter::finish() {
    file_->finish();
}

// ---- reading
// -----------------------------------------------------------------------------------------------

struct ResultsReader::File {
    std::string path;
    Handle file;

    /// @throws DataError where there is no such group.
    Handle group(const std::string& name) const {
        const std::string normal = normal_path(name);
        const bool exists = normal == "/" || H5Oexists_by_name(file.get(), normal.c_str(), H5P_DEFAULT) > 0;
        Handle object(exists ? H5Oopen(file.get(), normal.c_str(), H5P_DEFAULT) : -1, H5Oclose);
        if (!object || H5Iget_type(object.get()) != H5I_GROUP)
            throw DataError({path}, "has no group " + normal);
        return object;
    }

    /// Names of the links of a group to objects of one type, in the order in which they were made.
    std::vector<std::string> names(const std::string& where, H5I_type_t wanted) const {
        const Handle object = group(where);
        const Handle properties(checked(H5Gget_create_plist(object.get()), path, "names"), H5Pclose);
        unsigned order = 0;
        checked(H5Pget_link_creation_order(properties.get(), &order), path, "names");
        const auto index = order & H5P_CRT_ORDER_TRACKED ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
        H5G_info_t info = {};
        checked(H5Gget_info(object.get(), &info), path, "names");
        std::vector<std::string> found;
        for (hsize_t i = 0; i < info.nlinks; ++i) {
            const auto length =
                checked(H5Lget_name_by_idx(object.get(), ".", index, H5_ITER_INC, i, nullptr, 0, H5P_DEFAULT),
                        path, "names");
            std::string name(static_cast<std::size_t>(length), '\0');
            checked(H5Lget_name_by_idx(object.get(), ".", index, H5_ITER_INC, i, name.data(), name.size() + 1,
                                       H5P_DEFAULT),
                    path, "names");
            const Handle child(H5Oopen(object.get(), name.c_str(), H5P_DEFAULT), H5Oclose);
            if (child && H5Iget_type(child.get()) == wanted) found.push_back(std::move(name));
        }
        return found;
    }

    /// The dataset `name` of `rank` dimensions, with its extent.
    std::pair<Handle, std::vector<hsize_t>> dataset(const std::string& name, int rank) const {
        if (!has_dataset(file.get(), name)) throw DataError({path}, "has no dataset " + name);
        Handle opened(checked(H5Dopen2(file.get(), name.c_str(), H5P_DEFAULT), path, name.c_str()), H5Dclose);
        const Handle space(checked(H5Dget_space(opened.get()), path, name.c_str()), H5Sclose);
        if (H5Sget_simple_extent_ndims(space.get()) != rank) {
            throw DataError({path},
                            "dataset " + name + " does not have " + std::to_string(rank) + " dimensions");
        }
        std::vector<hsize_t> extent(static_cast<std::size_t>(rank));
        checked(H5Sget_simple_extent_dims(space.get(), extent.data(), nullptr), path, name.c_str());
        return {std::move(opened), std::move(extent)};
    }

    void read(hid_t dataset, hid_t type, hid_t memory, hid_t space, const std::string& name,
              void* out) const {
        if (H5Dread(dataset, type, memory, space, H5P_DEFAULT, out) < 0) {
            throw DataError({path}, "dataset " + name + " cannot be read: " + hdf5_message());
        }
    }
};

ResultsReader::ResultsReader(const std::string& path) : file_(new File{path, open_hdf5_file(path)}) {
    const std::string remedy = "give a file that candor run wrote";
    AttributeValue format, version;
    try {
        format = attribute("/run", "format");
        version = attribute("/run", "format_version");
    } catch (const DataError&) {
        throw DataError({path}, "is an HDF5 file, but not a candor results file", remedy);
    }
    if (format != AttributeValue(std::string(results_format))) {
        throw DataError({path}, "is an HDF5 file, but not a candor results file", remedy);
    }
    if (version != AttributeValue(results_format_version)) {
        const auto* number = std::get_if<std::int64_t>(&version);
        throw DataError({path},
                        "has results format version " + (number ? std::to_string(*number) : "unknown") +
                            "; this program reads version " + std::to_string(results_format_version),
                        "read it with the version of candor that wrote it");
    }
    if (H5Aexists(file_->file.get(), complete_mark) <= 0) throw DataError({path}, "was never finished");
}

ResultsReader::~ResultsReader() = default;
ResultsReader::ResultsReader(ResultsReader&&) noexcept = default;

const std::string& ResultsReader::path() const {
    return file_->path;
}

std::vector<std::string> ResultsReader::tables() const {
    if (H5Lexists(file_->file.get(), "/tables", H5P_DEFAULT) <= 0) return {};
    return file_->names("/tables", H5I_DATASET);
}

bool ResultsReader::has_table(const std::string& name) const {
    return has_dataset(file_->file.get(), "/tables/" + name);
}

ResultTable ResultsReader::table(const std::string& name) const {
    if (!has_table(name)) {
        const auto known = tables();
        throw DataError({path()},
                        "has no table \"" + name + "\"; there are " + first_names(known, known.size()));
    }
    const auto [dataset, extent] = file_->dataset("/tables/" + name, 1);
    const Handle stored(checked(H5Dget_type(dataset.get()), path(), name.c_str()), H5Tclose);
    if (H5Tget_class(stored.get()) != H5T_COMPOUND)
        throw DataError({path()}, "table \"" + name + "\" has no columns");

    std::vector<Field> fields(
        static_cast<std::size_t>(checked(H5Tget_nmembers(stored.get()), path(), "columns")));
    std::size_t offset = 0;
    for (std::size_t j = 0; j < fields.size(); ++j) {
        Field& field = fields[j];
        char* label = H5Tget_member_name(stored.get(), static_cast<unsigned>(j));
        field.name = label ? label : "";
        H5free_memory(label);
        const Handle member(
            checked(H5Tget_member_type(stored.get(), static_cast<unsigned>(j)), path(), "columns"), H5Tclose);
        const H5T_class_t kind = H5Tget_class(member.get());
        if (kind == H5T_STRING && H5Tis_variable_str(member.get()) == 0) {
            field.kind = Kind::text;
            field.width = H5Tget_size(member.get());
        } else if (kind == H5T_INTEGER || kind == H5T_FLOAT) {
            field.kind = kind == H5T_INTEGER ? Kind::integer : Kind::real;
        } else {
            throw DataError({path(), std::nullopt, field.name},
                            "table \"" + name + "\" has a column of another type");
        }
        field.offset = std::exchange(offset, offset + field.width);
    }

    ResultTable table;
    table.name = name;
    const auto rows = static_cast<std::size_t>(extent[0]);
    const std::size_t width = row_width(fields);
    std::vector<char> bytes(rows * width);
    const Handle type = compound_type(fields);
    if (rows > 0) file_->read(dataset.get(), type.get(), H5S_ALL, H5S_ALL, "/tables/" + name, bytes.data());
    for (const Field& field : fields) {
        const auto cell = [&](std::size_t i) { return bytes.data() + i * width + field.offset; };
        if (field.kind == Kind::integer) {
            auto& values = table.integers(field.name);
            values.resize(rows);
            for (std::size_t i = 0; i < rows; ++i) std::memcpy(&values[i], cell(i), 8);
        } else if (field.kind == Kind::real) {
            auto& values = table.reals(field.name);
            values.resize(rows);
            for (std::size_t i = 0; i < rows; ++i) std::memcpy(&values[i], cell(i), 8);
        } else {
            auto& values = table.texts(field.name);
            values.resize(rows);
            for (std::size_t i = 0; i < rows; ++i) {
                const std::string_view text(cell(i), field.width);
                values[i] = text.substr(0, text.find_last_not_of('\0') + 1);
            }
        }
    }
    return table;
}

AttributeValue ResultsReader::attribute(const std::string& group, const std::string& name) const {
    const Handle object = file_->group(group);
    if (H5Aexists(object.get(), name.c_str()) <= 0) {
        throw DataError({path()}, "group " + group + " has no attribute \"" + name + "\"");
    }
    const Handle attribute(checked(H5Aopen(object.get(), name.c_str(), H5P_DEFAULT), path(), name.c_str()),
                           H5Aclose);
    const Handle stored(checked(H5Aget_type(attribute.get()), path(), name.c_str()), H5Tclose);
    const Handle space(checked(H5Aget_space(attribute.get()), path(), name.c_str()), H5Sclose);
    const H5T_class_t kind = H5Tget_class(stored.get());
    const bool single = H5Sget_simple_extent_npoints(space.get()) == 1;
    if (single && kind == H5T_INTEGER) {
        std::int64_t value = 0;
        checked(H5Aread(attribute.get(), H5T_NATIVE_INT64, &value), path(), name.c_str());
        return value;
    }
    if (single && kind == H5T_FLOAT) {
        double value = 0;
        checked(H5Aread(attribute.get(), H5T_NATIVE_DOUBLE, &value), path(), name.c_str());
        return value;
    }
    if (single && kind == H5T_STRING && H5Tis_variable_str(stored.get()) == 0) {
        std::string value(H5Tget_size(stored.get()), '\0');
        checked(H5Aread(attribute.get(), stored.get(), value.data()), path(), name.c_str());
        value.erase(value.find_last_not_of('\0') + 1);
        return value;
    }
    throw DataError({path()}, "attribute \"" + name + "\" of group " + group + " is not one number or text");
}

std::vector<std::string> ResultsReader::groups(const std::string& group) const {
    return file_->names(group, H5I_GROUP);
}

std::vector<std::string> ResultsReader::texts(const std::string& path) const {
    return hdf5_texts(file_->path, file_->file.get(), path);
}

std::vector<std::int64_t> ResultsReader::integers(const std::string& path) const {
    const auto [dataset, extent] = file_->dataset(path, 1);
    std::vector<std::int64_t> values(static_cast<std::size_t>(extent[0]));
    if (!values.empty()) file_->read(dataset.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, path, values.data());
    return values;
}

Matrix<double> ResultsReader::matrix(const std::string& path) const {
    const auto [dataset, extent] = file_->dataset(path, 2);
    Matrix<double> values(static_cast<std::int64_t>(extent[0]), static_cast<std::int64_t>(extent[1]));
    if (extent[0] == 0 || extent[1] == 0) return values;
    // Rows in memory are padded: select the part that is not.
    const Handle memory = simple_space({extent[0], static_cast<hsize_t>(values.view().stride)});
    const hsize_t start[2] = {0, 0};
    checked(H5Sselect_hyperslab(memory.get(), H5S_SELECT_SET, start, nullptr, extent.data(), nullptr),
            file_->path, path.c_str());
    file_->read(dataset.get(), H5T_NATIVE_DOUBLE, memory.get(), H5S_ALL, path, values.view().data);
    return values;
}

std::string hdf5_version() {
    unsigned major = 0, minor = 0, release = 0;
    checked(H5get_libversion(&major, &minor, &release), "HDF5", "version");
#ifdef H5_HAVE_PARALLEL
    const char* build = " (parallel)";
#else
    const char* build = " (serial)";
#endif
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release) + build;
}

}  // namespace candor::store
