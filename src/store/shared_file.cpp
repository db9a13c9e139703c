#include "store/shared_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "candor/base/text.hpp"
#include "candor/store/output_file.hpp"

namespace candor::store {

namespace {

/// A file that rank 0 cannot create is found by the system call that says why.
void try_create(const std::string& part) {
    const int descriptor = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor < 0) throw MachineError(part, std::strerror(errno));
    ::close(descriptor);
}

Handle create_together(const std::string& part, const parallel::Communicator& world) {
    const Handle access(checked(H5Pcreate(H5P_FILE_ACCESS), part, "create"), H5Pclose);
    const MPI_Comm communicator = *static_cast<const MPI_Comm*>(world.native());
    checked(H5Pset_fapl_mpio(access.get(), communicator, MPI_INFO_NULL), part, "create");
    // One format for all releases of the library; from 1.8 on attributes may exceed 64 KiB (study texts do).
    checked(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_V110), part, "create");
    checked(H5Pset_coll_metadata_write(access.get(), true), part, "create");
    checked(H5Pset_all_coll_metadata_ops(access.get(), true), part, "create");
    const Handle creation(checked(H5Pcreate(H5P_FILE_CREATE), part, "create"), H5Pclose);
    checked(H5Pset_obj_track_times(creation.get(), false), part, "create");
    checked(H5Pset_link_creation_order(creation.get(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED), part,
            "create");
    return {checked(H5Fcreate(part.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), part, "create"),
            H5Fclose};
}

/// The file as it lies on disk opens and carries the mark that was written last.
void check_complete(const std::string& part) {
    try {
        const Handle file = open_hdf5_file(part);
        if (checked(H5Aexists(file.get(), complete_mark), part, "check") > 0) return;
    } catch (const DataError& error) {
        throw MachineError(part, "does not read back: " + error.fault());
    }
    throw MachineError(part, "does not read back as complete");
}

}  // namespace

std::size_t longest(const std::vector<std::string>& texts) {
    std::size_t width = 1;
    for (const std::string& text : texts) width = std::max(width, text.size());
    return width;
}

Handle value_type(Kind kind, std::size_t width) {
    if (kind == Kind::text) return text_type(width);
    return {checked(H5Tcopy(kind == Kind::integer ? H5T_STD_I64LE : H5T_IEEE_F64LE), "HDF5", "type"),
            H5Tclose};
}

Handle simple_space(const std::vector<hsize_t>& extent) {
    return {
        checked(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr), "HDF5", "shape"),
        H5Sclose};
}

std::string normal_path(const std::string& path) {
    std::string normal;
    for (const std::string& piece : split_text(path, '/')) {
        if (!piece.empty()) normal += '/' + piece;
    }
    return normal.empty() ? "/" : normal;
}

SharedFile::SharedFile(const std::string& name, const parallel::Communicator& ranks)
    : path(name), part(part_of(name)), world(ranks) {
    quiet_hdf5();
    on_root([&] { try_create(part); });
    together([&] { file = create_together(part, world); });
}

SharedFile::~SharedFile() {
    if (published) return;
    file.release();  // closing is collective, and the other ranks may be elsewhere
    discard(path);   // on every rank: the one that failed may be the only one left
}

void SharedFile::fail(const std::string& fault) const {
    const bool full = is_full(path);
    throw MachineError(path, "cannot be written: " + fault + (full ? ": No space left on device" : ""),
                       full ? "make room and run the same command again"
                            : "see that its folder exists and can be written, or name another output");
}

std::string SharedFile::reason_of(const MachineError& error) {
    std::string fault = error.what();
    if (fault.starts_with(error.subject() + ": ")) fault.erase(0, error.subject().size() + 2);
    return fault;
}

Handle SharedFile::group(const std::string& name) {
    std::string sofar;
    for (const std::string& piece : split_text(name, '/')) {
        if (piece.empty()) continue;
        sofar += '/' + piece;
        if (checked(H5Lexists(file.get(), sofar.c_str(), H5P_DEFAULT), part, sofar.c_str()) > 0) continue;
        const Handle properties(checked(H5Pcreate(H5P_GROUP_CREATE), part, "group"), H5Pclose);
        checked(H5Pset_obj_track_times(properties.get(), false), part, "group");
        checked(H5Pset_link_creation_order(properties.get(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED),
                part, "group");
        const Handle made(
            checked(H5Gcreate2(file.get(), sofar.c_str(), H5P_DEFAULT, properties.get(), H5P_DEFAULT), part,
                    sofar.c_str()),
            H5Gclose);
    }
    return {
        checked(H5Oopen(file.get(), sofar.empty() ? "/" : sofar.c_str(), H5P_DEFAULT), part, name.c_str()),
        H5Oclose};
}

Handle SharedFile::create(const std::string& name, hid_t type, const std::vector<hsize_t>& extent,
                          hid_t properties) {
    const std::string normal = normal_path(name);
    group(normal.substr(0, normal.find_last_of('/')));
    const Handle space = simple_space(extent);
    return {checked(H5Dcreate2(file.get(), normal.c_str(), type, space.get(), H5P_DEFAULT, properties,
                               H5P_DEFAULT),
                    part, normal.c_str()),
            H5Dclose};
}

void SharedFile::texts(const std::string& name, const std::vector<std::string>& values) {
    std::int64_t shape[2] = {0, 1};
    if (root()) {
        shape[0] = static_cast<std::int64_t>(values.size());
        shape[1] = static_cast<std::int64_t>(longest(values));
    }
    world.maximum(shape);
    together([&] {
        const Handle type = text_type(static_cast<std::size_t>(shape[1]));
        from_root(name, type.get(), shape[0], shape[1],
                  [&](std::int64_t first, std::int64_t count, char* bytes) {
                      for (std::int64_t i = 0; i < count; ++i) {
                          const std::string& value = values[static_cast<std::size_t>(first + i)];
                          std::memcpy(bytes + i * shape[1], value.data(), value.size());
                      }
                  });
    });
}

void SharedFile::attribute(const std::string& owner, const std::string& name, const AttributeValue& value) {
    const Handle object = group(owner);
    const auto* text = std::get_if<std::string>(&value);
    const Kind kind = text ? Kind::text : std::holds_alternative<double>(value) ? Kind::real : Kind::integer;
    const Handle type = value_type(kind, text ? std::max<std::size_t>(1, text->size()) : 8);
    const Handle space(checked(H5Screate(H5S_SCALAR), part, name.c_str()), H5Sclose);
    if (checked(H5Aexists(object.get(), name.c_str()), part, name.c_str()) > 0) {
        checked(H5Adelete(object.get(), name.c_str()), part, name.c_str());
    }
    Handle made(
        checked(H5Acreate2(object.get(), name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
                part, name.c_str()),
        H5Aclose);
    const char* zero = "";
    const void* bytes = text ? static_cast<const void*>(text->empty() ? zero : text->data())
                             : std::visit([](const auto& v) { return static_cast<const void*>(&v); }, value);
    checked(H5Awrite(made.get(), type.get(), bytes), part, name.c_str());
    checked(made.close(), part, name.c_str());
}

void SharedFile::finish() {
    together([&] { attribute("/", complete_mark, std::int64_t{1}); });
    together([&] { checked(H5Fflush(file.get(), H5F_SCOPE_GLOBAL), part, "flush"); });
    together([&] { checked(file.close(), part, "close"); });
    on_root([&] {
        check_complete(part);
        publish(path);
    });
    published = true;
}

}  // namespace candor::store
