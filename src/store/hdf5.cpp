#include "candor/store/hdf5.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>

#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/store/chunk_index.hpp"
#include "candor/store/input_file.hpp"

namespace candor::store {

namespace {

herr_t keep_first(unsigned depth, const H5E_error2_t* error, void* message) {
    if (depth == 0 && error->desc) *static_cast<std::string*>(message) = error->desc;
    return 0;
}

/// Where locks are refused (some network file systems) or forced by the environment, HDF5 only says "unable
/// to lock file".
std::string lock_remedy(const std::string& message) {
    if (message.find("unable to lock") == std::string::npos) return {};
    return "unset HDF5_USE_FILE_LOCKING or set it to FALSE";
}

Handle open_dataset(const std::string& path, hid_t file, const std::string& name,
                    hid_t access = H5P_DEFAULT) {
    if (!has_dataset(file, name)) throw DataError({path}, "has no dataset \"" + name + "\"");
    Handle dataset(H5Dopen2(file, name.c_str(), access), H5Dclose);
    if (!dataset) throw DataError({path}, "dataset \"" + name + "\" cannot be opened: " + hdf5_message());
    return dataset;
}

std::vector<std::int64_t> shape_of(const std::string& path, hid_t dataset) {
    const Handle space(checked(H5Dget_space(dataset), path, "shape"), H5Sclose);
    const int rank = checked(H5Sget_simple_extent_ndims(space.get()), path, "shape");
    std::vector<hsize_t> extent(static_cast<std::size_t>(rank));
    checked(H5Sget_simple_extent_dims(space.get(), extent.data(), nullptr), path, "shape");
    std::vector<std::int64_t> shape;
    for (const hsize_t n : extent) {
        if (n > hsize_t{1} << 62) throw DataError({path}, "claims more rows than any file holds");
        shape.push_back(static_cast<std::int64_t>(n));
    }
    return shape;
}

/// The IEEE type of `bytes` that `type` is in all but byte order; nothing for bfloat16 and other formats.
std::optional<ElementType> element_type(hid_t type) {
    struct Format {
        ElementType element;
        std::size_t bytes, exponent_at, exponent_bits, mantissa_bits, bias;
    };
    constexpr Format formats[] = {{ElementType::float16, 2, 10, 5, 10, 15},
                                  {ElementType::float32, 4, 23, 8, 23, 127},
                                  {ElementType::float64, 8, 52, 11, 52, 1023}};
    if (H5Tget_class(type) != H5T_FLOAT) return std::nullopt;
    const H5T_order_t order = H5Tget_order(type);
    if (order != H5T_ORDER_LE && order != H5T_ORDER_BE) return std::nullopt;
    std::size_t sign = 0, exponent_at = 0, exponent_bits = 0, mantissa_at = 0, mantissa_bits = 0;
    if (H5Tget_fields(type, &sign, &exponent_at, &exponent_bits, &mantissa_at, &mantissa_bits) < 0)
        return std::nullopt;
    for (const Format& f : formats) {
        if (H5Tget_size(type) == f.bytes && H5Tget_precision(type) == 8 * f.bytes &&
            sign == 8 * f.bytes - 1 && exponent_at == f.exponent_at && exponent_bits == f.exponent_bits &&
            mantissa_at == 0 && mantissa_bits == f.mantissa_bits && H5Tget_ebias(type) == f.bias &&
            H5Tget_norm(type) == H5T_NORM_IMPLIED) {
            return f.element;
        }
    }
    return std::nullopt;
}

std::string describe_type(hid_t type) {
    const std::string bits = std::to_string(8 * H5Tget_size(type)) + "-bit ";
    switch (H5Tget_class(type)) {
        case H5T_INTEGER:
            return bits + "whole numbers";
        case H5T_FLOAT:
            return bits + "numbers that are not IEEE half, single or double";
        case H5T_STRING:
            return "text";
        case H5T_COMPOUND:
            return "records (complex numbers or a table)";
        case H5T_ENUM:
            return "true/false or enumerated values";
        default:
            return "another type";
    }
}

class Hdf5Array final : public Array {
  public:
    Hdf5Array(const std::string& path, std::shared_ptr<Handle> file, const std::string& name)
        : path_(path), name_(name), file_(std::move(file)), dataset_(open_dataset(path, file_->get(), name)) {
        stored_type_ = Handle(checked(H5Dget_type(dataset_.get()), path, "type"), H5Tclose);
        const auto element = element_type(stored_type_.get());
        if (!element) {
            throw DataError({path}, "dataset \"" + name + "\" holds " + describe_type(stored_type_.get()) +
                                        "; features are float16, float32 or float64");
        }
        type = *element;
        swap_ = H5Tget_order(stored_type_.get()) == H5T_ORDER_BE;
        const auto shape = shape_of(path, dataset_.get());
        if (shape.size() != 2) {
            throw DataError({path}, "dataset \"" + name + "\" has " + std::to_string(shape.size()) +
                                        " dimensions; features are rows x columns");
        }
        rows = shape[0];
        cols = shape[1];
        if (rows == 0 || cols == 0) {
            throw DataError({path}, "dataset \"" + name + "\" is " + std::to_string(rows) + " x " +
                                        std::to_string(cols) + ": it has no " +
                                        (rows == 0 ? "rows" : "columns"));
        }
        array_bytes(path, rows, cols, size_of(type));
        const Handle layout(checked(H5Dget_create_plist(dataset_.get()), path, "layout"), H5Pclose);
        const H5D_layout_t kind = checked(H5Pget_layout(layout.get()), path, "layout");
        if (kind == H5D_CONTIGUOUS) find_bytes(layout.get());
        if (kind == H5D_CHUNKED) find_chunks(layout.get());
    }

    void read(std::int64_t first, std::int64_t count, std::byte* out) const override {
        if (offset_) {
            fetch(first, *offset_ + first * row_bytes(), out, count * row_bytes());
        } else if (chunks_) {
            read_chunks(first, count, out);
        } else {
            read_selection(first, count, out);
        }
        if (swap_) swap_bytes(type, {out, static_cast<std::size_t>(count * row_bytes())});
    }

  private:
    std::int64_t row_bytes() const { return cols * size_of(type); }

    /// Plain rows in one piece of the file are read without HDF5. It keeps those in files beside this one.
    void find_bytes(hid_t layout) {
        if (checked(H5Pget_external_count(layout), path_, "layout") > 0) return;
        const auto stored = static_cast<std::int64_t>(H5Dget_storage_size(dataset_.get()));
        if (stored == 0) refuse_hole(0);
        const haddr_t offset = H5Dget_offset(dataset_.get());
        if (offset == HADDR_UNDEF || stored != rows * row_bytes()) return;
        offset_ = static_cast<std::int64_t>(offset);
        plain_.emplace(path_);
    }

    void find_chunks(hid_t layout) {
        hsize_t chunk[2] = {1, 1};
        checked(H5Pget_chunk(layout, 2, chunk), path_, "layout");
        if (chunk[0] == 0 || chunk[1] == 0)
            throw DataError({path_}, "is damaged: dataset \"" + name_ + "\" has chunks of no size");
        unit = static_cast<std::int64_t>(std::min<hsize_t>(chunk[0], static_cast<hsize_t>(rows)));
        grid_.rows = static_cast<std::int64_t>(chunk[0]);
        grid_.cols = static_cast<std::int64_t>(chunk[1]);
        grid_.bytes = grid_.rows * grid_.cols * size_of(type);
        grid_.down = (rows + unit - 1) / unit;
        grid_.across = (cols + grid_.cols - 1) / grid_.cols;
        const std::int64_t bytes_across = array_bytes(path_, grid_.across, grid_.bytes, 1);
        const bool filtered = checked(H5Pget_nfilters(layout), path_, "layout") > 0;
        constexpr std::int64_t worth_a_place = 256;  // its place takes 8
        if (bytes_across > slab_bytes) {
            if (filtered || grid_.across > 1) keep_chunks(bytes_across);
        } else if (!filtered && grid_.bytes >= worth_a_place) {
            InputFile file(path_);
            chunks_ = chunk_offsets(file, dataset_.get(), grid_);
            if (chunks_) plain_.emplace(std::move(file));
        }
        if (!chunks_) require_all_chunks();
    }

    /// HDF5 gives a fill value for numbers of a chunk that was never written; here they are missing.
    void require_all_chunks() const {
        const Handle space(checked(H5Dget_space(dataset_.get()), path_, "layout"), H5Sclose);
        hsize_t written = 0;
        checked(H5Dget_num_chunks(dataset_.get(), space.get(), &written), path_, "layout");
        if (written == static_cast<hsize_t>(grid_.down) * static_cast<hsize_t>(grid_.across)) return;
        for (std::int64_t i = 0; i < grid_.down; ++i) {
            for (std::int64_t j = 0; j < grid_.across; ++j) {
                const hsize_t at[2] = {static_cast<hsize_t>(i * grid_.rows),
                                       static_cast<hsize_t>(j * grid_.cols)};
                unsigned filters_skipped = 0;
                haddr_t place = HADDR_UNDEF;
                hsize_t bytes = 0;
                checked(H5Dget_chunk_info_by_coord(dataset_.get(), at, &filters_skipped, &place, &bytes),
                        path_, "layout");
                if (place == HADDR_UNDEF) refuse_hole(i * grid_.rows);
            }
        }
    }

    [[noreturn]] void refuse_hole(std::int64_t row) const {
        throw DataError({path_, row}, "numbers of \"" + name_ + "\" from here on were never written",
                        "write the file again, whole");
    }

    /// Chunks that reach over more than one slab stay with HDF5 until the next ones are asked for, rather
    /// than being unpacked again for every slab. Where even a row of them is too much, they are.
    void keep_chunks(std::int64_t bytes_across) {
        constexpr std::int64_t most_kept = std::int64_t{1} << 30;
        if (bytes_across > most_kept) return;
        const Handle access(checked(H5Pcreate(H5P_DATASET_ACCESS), path_, "layout"), H5Pclose);
        // A slot holds one chunk, chosen by its place modulo their number: neighbours never meet.
        const auto slots = static_cast<std::size_t>(2 * grid_.across + 1);
        checked(H5Pset_chunk_cache(access.get(), slots, static_cast<std::size_t>(bytes_across),
                                   H5D_CHUNK_CACHE_W0_DEFAULT),
                path_, "layout");
        dataset_ = Handle();  // while it is open, its settings stay
        dataset_ = open_dataset(path_, file_->get(), name_, access.get());
    }

    /// `bytes` from the file, which begin in `row`.
    void fetch(std::int64_t row, std::int64_t offset, std::byte* out, std::int64_t bytes) const {
        const std::int64_t got = plain_->read(offset, {out, static_cast<std::size_t>(bytes)});
        if (got == bytes) return;
        throw DataError({path_, row + got / row_bytes()}, "the file ends inside this row",
                        "was it changed while it was read?");
    }

    /// Neighbours in the file at once: straight to `out` where chunks are whole rows, else by way of a
    /// buffer.
    void read_chunks(std::int64_t first, std::int64_t count, std::byte* out) const {
        const std::int64_t end = first + count;
        const auto place = [&](std::int64_t i, std::int64_t j) {
            return (*chunks_)[static_cast<std::size_t>(i * grid_.across + j)];
        };
        std::vector<std::byte> buffer;
        for (std::int64_t i = first / grid_.rows; i * grid_.rows < end;) {
            const std::int64_t top = std::max(first, i * grid_.rows);
            const auto is_inside = [&](std::int64_t chunk) {
                return grid_.cols == cols && chunk * grid_.rows >= first && (chunk + 1) * grid_.rows <= end;
            };
            std::int64_t next = i;
            while (is_inside(next) && place(next, 0) == place(i, 0) + (next - i) * grid_.bytes) ++next;
            if (next > i) {
                fetch(top, place(i, 0), out + (top - first) * row_bytes(), (next - i) * grid_.bytes);
                i = next;
                continue;
            }
            buffer.resize(static_cast<std::size_t>(grid_.across * grid_.bytes));
            const std::int64_t bottom = std::min(end, (i + 1) * grid_.rows);
            for (std::int64_t j = 0; j < grid_.across;) {
                std::int64_t right = j;
                while (right < grid_.across && place(i, right) == place(i, j) + (right - j) * grid_.bytes)
                    ++right;
                fetch(top, place(i, j), buffer.data(), (right - j) * grid_.bytes);
                for (const std::byte* chunk = buffer.data(); j < right; ++j, chunk += grid_.bytes)
                    spread(chunk, i, j, first, top, bottom, out);
            }
            ++i;
        }
    }

    /// Copies rows [top, bottom) of chunk (i, j) to where `out` has them, whose first row is `first`.
    void spread(const std::byte* chunk, std::int64_t i, std::int64_t j, std::int64_t first, std::int64_t top,
                std::int64_t bottom, std::byte* out) const {
        const std::int64_t size = size_of(type), left = j * grid_.cols;
        const auto width = static_cast<std::size_t>(std::min(grid_.cols, cols - left) * size);
        for (std::int64_t row = top; row < bottom; ++row) {
            std::memcpy(out + (row - first) * row_bytes() + left * size,
                        chunk + (row - i * grid_.rows) * grid_.cols * size, width);
        }
    }

    void read_selection(std::int64_t first, std::int64_t count, std::byte* out) const {
        std::optional<std::string> fault = fault_of(first, count, out);
        if (!fault) return;
        // The damage may begin further on, in a block of its own.
        std::int64_t row = first, next = first + count;
        for (std::int64_t end = next; row < end; row = next) {
            next = std::min(end, row - row % unit + unit);
            if (std::optional<std::string> here = fault_of(row, next - row, out)) {
                fault = std::move(here);
                break;
            }
        }
        if (row == first + count) row = first;  // the blocks by themselves could be read
        throw DataError(
            {path_, row},
            std::to_string(next - row) + " rows of \"" + name_ + "\" from here on cannot be read: " + *fault,
            "the file is damaged, or its compression filter is not installed");
    }

    /// Reads rows through HDF5. @returns what it says where it cannot.
    std::optional<std::string> fault_of(std::int64_t first, std::int64_t count, std::byte* out) const {
        const hsize_t start[2] = {static_cast<hsize_t>(first), 0};
        const hsize_t extent[2] = {static_cast<hsize_t>(count), static_cast<hsize_t>(cols)};
        const Handle memory(checked(H5Screate_simple(2, extent, nullptr), path_, "select"), H5Sclose);
        const Handle space(checked(H5Dget_space(dataset_.get()), path_, "select"), H5Sclose);
        checked(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start, nullptr, extent, nullptr), path_,
                "select");
        if (H5Dread(dataset_.get(), stored_type_.get(), memory.get(), space.get(), H5P_DEFAULT, out) < 0)
            return hdf5_message();
        return std::nullopt;
    }

    std::string path_, name_;
    std::shared_ptr<Handle> file_;
    Handle dataset_, stored_type_;
    bool swap_ = false;
    std::optional<InputFile> plain_;      ///< the file without HDF5, where it is not needed to read the rows
    std::optional<std::int64_t> offset_;  ///< of all rows, where they are one after another
    ChunkGrid grid_;
    std::optional<std::vector<std::int64_t>> chunks_;  ///< their offsets
};

std::vector<std::string> fixed_texts(const std::string& path, hid_t dataset, hid_t type, std::size_t count) {
    const std::size_t width = H5Tget_size(type);
    const H5T_str_t padding = H5Tget_strpad(type);
    std::vector<char> bytes(width * count);
    if (H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) < 0) {
        throw DataError({path}, "texts cannot be read: " + hdf5_message());
    }
    std::vector<std::string> texts(count);
    for (std::size_t i = 0; i < count; ++i) {
        std::string_view text(bytes.data() + i * width, width);
        if (padding == H5T_STR_NULLTERM) text = text.substr(0, text.find('\0'));
        text = text.substr(0, text.find_last_not_of('\0') + 1);
        texts[i] = trim(text);
    }
    return texts;
}

/// HDF5 up to 1.10 follows a damaged heap of variable-length texts out of bounds instead of failing. While
/// one of these lives, such a crash ends the process as wrong data do: one line, exit code 3.
class CrashGuard {
  public:
    explicit CrashGuard(const std::string& path) {
        const std::string line =
            "candor: error: " + path + ": is damaged: HDF5 cannot follow its variable-length texts\n";
        length_ = line.copy(line_, sizeof line_);
        struct sigaction act = {};
        act.sa_handler = &end;
        for (std::size_t i = 0; i < std::size(signals); ++i) sigaction(signals[i], &act, &before_[i]);
    }
    ~CrashGuard() {
        for (std::size_t i = 0; i < std::size(signals); ++i) sigaction(signals[i], &before_[i], nullptr);
    }
    CrashGuard(const CrashGuard&) = delete;
    CrashGuard& operator=(const CrashGuard&) = delete;

  private:
    static constexpr int signals[] = {SIGSEGV, SIGBUS, SIGABRT};
    // Not on the heap, which HDF5 may have written over by then.
    static inline char line_[8192];
    static inline std::size_t length_ = 0;
    struct sigaction before_[std::size(signals)] = {};

    static void end(int) {
        [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line_, length_);
        ::_exit(static_cast<int>(ExitCode::data));
    }
};

std::vector<std::string> variable_texts(const std::string& path, hid_t dataset, hid_t type,
                                        std::size_t count) {
    const CrashGuard guard(path);
    std::vector<char*> pointers(count, nullptr);
    const Handle space(checked(H5Dget_space(dataset), path, "texts"), H5Sclose);
    if (H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, pointers.data()) < 0) {
        throw DataError({path}, "texts cannot be read: " + hdf5_message());
    }
    std::vector<std::string> texts(count);
    for (std::size_t i = 0; i < count; ++i) {
        if (pointers[i]) texts[i] = trim(pointers[i]);
    }
    checked(H5Dvlen_reclaim(type, space.get(), H5P_DEFAULT, pointers.data()), path, "texts");
    return texts;
}

}  // namespace

std::string hdf5_message() {
    std::string message;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &message);
    return message.empty() ? "HDF5 gives no reason" : message;
}

void fail_hdf5(const std::string& subject, const char* what) {
    const std::string message = hdf5_message();
    throw MachineError(subject, std::string("HDF5 failed (") + what + "): " + message, lock_remedy(message));
}

void quiet_hdf5() {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Handle open_hdf5_file(const std::string& path) {
    const InputFile probe(path);  // tells a missing or unreadable file apart from a damaged one
    if (kind_of(probe) != FileKind::hdf5) throw DataError({path}, "is not an HDF5 file");
    quiet_hdf5();
    const Handle access(checked(H5Pcreate(H5P_FILE_ACCESS), path, "open"), H5Pclose);
    checked(H5Pset_file_locking(access.get(), false, true), path, "open");
    Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
    if (file) return file;
    const std::string message = hdf5_message();
    const std::string remedy = lock_remedy(message);
    if (!remedy.empty()) throw MachineError(path, "cannot be opened: " + message, remedy);
    throw DataError({path}, "is cut short or damaged, HDF5 cannot open it: " + message);
}

bool has_dataset(hid_t file, const std::string& name) {
    std::string path;
    for (const std::string& piece : split_text(name, '/')) {
        if (piece.empty()) continue;
        path += '/' + piece;
        if (H5Lexists(file, path.c_str(), H5P_DEFAULT) <= 0) return false;
    }
    if (path.empty()) return false;
    const Handle object(H5Oopen(file, path.c_str(), H5P_DEFAULT), H5Oclose);
    return object && H5Iget_type(object.get()) == H5I_DATASET;
}

std::unique_ptr<Array> hdf5_array(const std::string& path, std::shared_ptr<Handle> file,
                                  const std::string& name) {
    return std::make_unique<Hdf5Array>(path, std::move(file), name);
}

std::vector<std::string> hdf5_texts(const std::string& path, hid_t file, const std::string& name) {
    const Handle dataset = open_dataset(path, file, name);
    const Handle type(checked(H5Dget_type(dataset.get()), path, "type"), H5Tclose);
    if (H5Tget_class(type.get()) != H5T_STRING) {
        throw DataError({path},
                        "dataset \"" + name + "\" holds " + describe_type(type.get()) + "; ids are text",
                        "write ids as strings, so that leading zeros stay");
    }
    const auto shape = shape_of(path, dataset.get());
    if (shape.size() != 1) {
        throw DataError({path}, "dataset \"" + name + "\" has " + std::to_string(shape.size()) +
                                    " dimensions; ids are one text a row");
    }
    const auto count = static_cast<std::size_t>(shape[0]);
    if (count == 0) return {};
    array_bytes(path, shape[0], static_cast<std::int64_t>(H5Tget_size(type.get())), 1);
    const bool variable = checked(H5Tis_variable_str(type.get()), path, "type") > 0;
    return variable ? variable_texts(path, dataset.get(), type.get(), count)
                    : fixed_texts(path, dataset.get(), type.get(), count);
}

Handle text_type(std::size_t length) {
    Handle type(checked(H5Tcopy(H5T_C_S1), "HDF5", "text type"), H5Tclose);
    checked(H5Tset_size(type.get(), length), "HDF5", "text type");
    checked(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), "HDF5", "text type");
    checked(H5Tset_cset(type.get(), H5T_CSET_UTF8), "HDF5", "text type");
    return type;
}

Handle feature_type(ElementType element) {
    if (element == ElementType::float64) return {checked(H5Tcopy(H5T_IEEE_F64LE), "HDF5", "type"), H5Tclose};
    Handle type(checked(H5Tcopy(H5T_IEEE_F32LE), "HDF5", "type"), H5Tclose);
    if (element == ElementType::float16) {
        checked(H5Tset_fields(type.get(), 15, 10, 5, 0, 10), "HDF5", "type");
        checked(H5Tset_size(type.get(), 2), "HDF5", "type");
        checked(H5Tset_ebias(type.get(), 15), "HDF5", "type");
    }
    return type;
}

Handle dataset_properties() {
    Handle properties(checked(H5Pcreate(H5P_DATASET_CREATE), "HDF5", "dataset properties"), H5Pclose);
    checked(H5Pset_layout(properties.get(), H5D_CONTIGUOUS), "HDF5", "dataset properties");
    checked(H5Pset_alloc_time(properties.get(), H5D_ALLOC_TIME_EARLY), "HDF5", "dataset properties");
    checked(H5Pset_obj_track_times(properties.get(), false), "HDF5", "dataset properties");
    return properties;
}

}  // namespace candor::store
