#include "candor/store/array_file.hpp"

#include <string_view>
#include <utility>

#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/store/hdf5.hpp"
#include "candor/store/input_file.hpp"
#include "candor/store/npy.hpp"
#include "candor/store/npz.hpp"

namespace candor::store {

namespace {

void refuse_name(const std::string& path, const std::string& name, const char* kind) {
    if (!name.empty())
        throw UsageError(path, std::string("is ") + kind + " and has no array named \"" + name + "\"");
}

std::string matrix_of(const Npz& archive, const std::string& path) {
    if (archive.has("features")) return "features";
    if (archive.names().size() == 1) return archive.names().front();
    throw UsageError(path,
                     "holds several arrays: " + first_names(archive.names(), 10) + "; name one with --key");
}

std::vector<std::string> lines_of(const std::string& path) {
    const std::string bytes = read_whole_file(path);
    std::string_view rest = bytes;
    if (rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);
    std::vector<std::string> lines;
    std::int64_t blank = 0, number = 0;
    while (!rest.empty()) {
        const auto end = rest.find('\n');
        const std::string_view line = trim(rest.substr(0, end));
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
        ++number;
        if (line.empty()) {
            if (blank == 0) blank = number;
            continue;
        }
        if (blank != 0) throw DataError({path, blank}, "is a blank line", "every line is the id of one row");
        lines.emplace_back(line);
    }
    return lines;
}

}  // namespace

std::unique_ptr<Array> open_array(const std::string& path, const std::string& name) {
    InputFile file(path);
    switch (kind_of(file)) {
        case FileKind::npy:
            refuse_name(path, name, "an .npy file");
            return npy_array(NpyBytes(std::move(file)));
        case FileKind::zip: {
            const Npz archive(path);
            return npy_array(archive.member(name.empty() ? matrix_of(archive, path) : name));
        }
        case FileKind::hdf5:
            return hdf5_array(path, std::make_shared<Handle>(open_hdf5_file(path)),
                              name.empty() ? "/features" : name);
        case FileKind::other:
            break;
    }
    throw DataError({path}, "is none of .npy, .npz and HDF5");
}

std::vector<std::string> open_texts(const std::string& path, const std::string& name) {
    InputFile file(path);
    switch (kind_of(file)) {
        case FileKind::npy: {
            refuse_name(path, name, "an .npy file");
            auto texts = npy_texts(NpyBytes(std::move(file)));
            for (std::string& text : texts) text = trim(text);
            return texts;
        }
        case FileKind::zip: {
            auto texts = npy_texts(Npz(path).member(name.empty() ? "image_id" : name));
            for (std::string& text : texts) text = trim(text);
            return texts;
        }
        case FileKind::hdf5:
            return hdf5_texts(path, open_hdf5_file(path).get(), name.empty() ? "/image_id" : name);
        case FileKind::other:
            refuse_name(path, name, "a text file");
            return lines_of(path);
    }
    return {};
}

std::vector<std::string> findings_of(const std::string& path) {
    const Handle file = open_hdf5_file(path);
    if (!has_dataset(file.get(), "/finding")) return {};
    return hdf5_texts(path, file.get(), "/finding");
}

}  // namespace candor::store
