#include "candor/campaign/inputs.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "candor/base/error.hpp"
#include "candor/base/hash.hpp"
#include "candor/parallel/session.hpp"
#include "candor/study/pool.hpp"

namespace candor::campaign {

std::string read_file(const std::string& path) {
    // A pipe would be waited for, a folder read as empty.
    std::error_code fault;  // of links that lead nowhere, which opening tells
    if (std::filesystem::exists(path, fault) && !std::filesystem::is_regular_file(path, fault)) {
        throw DataError({path}, "is not a regular file");
    }
    errno = 0;
    std::ifstream in(path, std::ios::binary);
    std::ostringstream bytes;
    if (in) bytes << in.rdbuf();
    if (!in || bytes.fail()) {
        // An empty file makes the insertion of its buffer fail; it is read all the same.
        if (in.is_open() && in.rdbuf()->in_avail() <= 0 && bytes.str().empty() && errno == 0) return {};
        throw DataError({path}, std::string("cannot be read: ") + std::strerror(errno != 0 ? errno : EIO));
    }
    return std::move(bytes).str();
}

std::string read_named_file(const std::string& path) {
    try {
        return read_file(path);
    } catch (const DataError& error) {
        throw UsageError(path, error.fault());
    }
}

std::int64_t modified_at(const std::string& path) {
    std::error_code fault;
    const auto time = std::filesystem::last_write_time(path, fault);
    return fault ? 0 : static_cast<std::int64_t>(time.time_since_epoch().count());
}

std::string first_changed(const std::vector<InputFile>& files) {
    for (const InputFile& file : files) {
        if (file.modified == 0 || modified_at(file.path) == file.modified) continue;
        std::error_code fault;
        const auto bytes = std::filesystem::file_size(file.path, fault);
        if (fault || static_cast<std::int64_t>(bytes) != file.bytes) return file.path;
        if (digest_file(file.path).hex() != file.digest) return file.path;
    }
    return {};
}

namespace {

/// Bytes of `path`, read by `read`, on every rank; `files` notes them.
std::string share_file(const parallel::Communicator& world, const std::string& path,
                       std::vector<InputFile>& files, std::string (*read)(const std::string&) = read_file) {
    std::string bytes = parallel::on_root(world, [&] { return read(path); });
    files.push_back({path, static_cast<std::int64_t>(bytes.size()),
                     digest(std::as_bytes(std::span<const char>(bytes))).hex()});
    return bytes;
}

/// Appends what is new in `more`.
void merge(std::vector<std::string>& names, const std::vector<std::string>& more) {
    for (const std::string& name : more) {
        if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
}

}  // namespace

Inputs load_inputs_mpi(const parallel::Communicator& world, const std::string& study_file,
                       const std::vector<std::string>& overrides) {
    std::vector<InputFile> files;
    const std::string text = share_file(world, study_file, files, read_named_file);
    Inputs inputs = load_tables_mpi(world, study::parse_study(study_file, text, overrides));
    inputs.files.insert(inputs.files.begin(), files.front());
    return inputs;
}

Inputs load_tables_mpi(const parallel::Communicator& world, study::Study study) {
    Inputs inputs;
    inputs.study = std::move(study);
    inputs.tables.resize(inputs.study.datasets.size());
    for (std::size_t d = 0; d < inputs.study.datasets.size(); ++d) {
        const study::Dataset& dataset = inputs.study.datasets[d];
        std::vector<std::string> findings, contexts;
        bool used = false;
        for (const study::Task& task : inputs.study.tasks) {
            const std::vector<std::size_t> datasets = study::pool_datasets(inputs.study, task);
            if (std::ranges::find(datasets, d) == datasets.end()) continue;
            used = true;
            merge(findings, task.findings);
            merge(contexts, task.context);
        }
        if (!used) continue;
        std::erase(contexts, std::string("dataset"));
        const std::string bytes = share_file(world, dataset.table, inputs.files);
        inputs.tables[d] = study::parse_table(dataset, bytes, findings, contexts);
    }
    return inputs;
}

}  // namespace candor::campaign
