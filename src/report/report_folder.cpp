#include "candor/report/report_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>

#include "candor/base/error.hpp"

namespace candor::report {

namespace fs = std::filesystem;

namespace {

constexpr const char* marker_line =
    "A report of candor. Its files, which candor report --overwrite replaces; a folder that holds others it "
    "leaves alone:";

/// Files below `folder`, as names relative to it; folders are none.
std::set<std::string> files_below(const std::string& folder) {
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.is_directory() && !entry.is_symlink()) continue;
        names.insert(fs::relative(entry.path(), folder).generic_string());
    }
    return names;
}

/// The files that the marker of `folder` lists; none where it has no marker of ours.
std::set<std::string> listed_files(const std::string& folder) {
    std::ifstream marker(folder + '/' + report_marker);
    std::string line;
    if (!std::getline(marker, line) || line != marker_line) return {};
    std::set<std::string> names{report_marker};
    while (std::getline(marker, line)) names.insert(line);
    return names;
}

void require_free(const std::string& path, bool replace) {
    std::error_code error;
    const auto type = fs::symlink_status(path, error).type();
    if (type == fs::file_type::not_found || type == fs::file_type::none) return;
    if (type != fs::file_type::directory) throw UsageError(path, "is not a folder; name a new one");
    if (fs::is_empty(path, error)) return;
    if (error) throw MachineError(path, error.message());
    const auto listed = listed_files(path);
    if (listed.empty()) throw UsageError(path, "is not empty and is no report of candor; name a new folder");
    for (const std::string& name : files_below(path)) {
        if (!listed.contains(name)) {
            throw UsageError(
                path, "holds \"" + name + "\", which candor did not write; move it, or name a new folder");
        }
    }
    if (!replace) throw UsageError(path, "holds a report; name a new folder, or --overwrite replaces it");
}

}  // namespace

ReportFolder::ReportFolder(std::string path, bool replace) : path_(std::move(path)) {
    while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
    if (path_.empty()) throw UsageError("the folder", "has an empty name; name one: -o DIR");
    if (path_ == "." || path_ == ".." || path_.ends_with("/.") || path_.ends_with("/..") || path_ == "/")
        throw UsageError(path_, "cannot be replaced; name a folder in it");
    require_free(path_, replace);
    part_ = path_ + ".part";
    if (::mkdir(part_.c_str(), 0777) != 0) {
        if (errno != EEXIST)
            throw MachineError(part_, std::string("cannot be made: ") + std::strerror(errno));
        // Only what a killed report left is taken over.
        if (listed_files(part_).empty() && !fs::is_empty(part_))
            throw UsageError(part_, "is in the way and is no unfinished report; move it");
    }
    const std::string marker = part_ + '/' + report_marker;
    lock_ = ::open(marker.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock_ < 0) throw MachineError(marker, std::string("cannot be written: ") + std::strerror(errno));
    if (::flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        ::close(lock_);
        lock_ = -1;
        throw UsageError(path_, "is being written by another candor report");
    }
    for (const auto& entry : fs::directory_iterator(part_)) {
        if (entry.path().filename() != report_marker) fs::remove_all(entry.path());
    }
    try {
        write(report_marker, std::string(marker_line) + '\n');
    } catch (...) {
        ::close(lock_);
        throw;
    }
}

ReportFolder::~ReportFolder() {
    std::error_code error;
    if (!published_) fs::remove_all(part_, error);
    if (lock_ >= 0) ::close(lock_);
}

void ReportFolder::write(const std::string& name, std::string_view bytes) {
    const std::string file = part_ + '/' + name;
    std::error_code error;
    fs::create_directories(fs::path(file).parent_path(), error);
    if (error) throw MachineError(file, "its folder cannot be made: " + error.message());
    // Not by another name first: the marker's lock is on this very file.
    const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor < 0) throw MachineError(file, std::string("cannot be written: ") + std::strerror(errno));
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
        if (written >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno != EINTR) {
            const int fault = errno;
            ::close(descriptor);
            throw MachineError(file, std::string("cannot be written: ") + std::strerror(fault));
        }
    }
    if (::close(descriptor) != 0)
        throw MachineError(file, std::string("cannot be closed: ") + std::strerror(errno));
}

std::string ReportFolder::read(const std::string& name) const {
    std::ifstream file(part_ + '/' + name, std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    return std::move(bytes).str();
}

void ReportFolder::publish() {
    std::string marker = std::string(marker_line) + '\n';
    for (const std::string& name : files_below(part_)) {
        if (name != report_marker) marker += name + '\n';
    }
    write(report_marker, marker);
    const int folder = ::open(part_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        const int synced = ::syncfs(folder);
        const int fault = errno;
        ::close(folder);
        if (synced != 0)
            throw MachineError(part_, std::string("cannot be brought to disk: ") + std::strerror(fault));
    }
    const auto rename_to = [&](const std::string& from, const std::string& to) {
        if (std::rename(from.c_str(), to.c_str()) != 0)
            throw MachineError(to, "cannot be renamed from \"" + from + "\": " + std::strerror(errno));
    };
    std::error_code error;
    if (fs::exists(path_, error) && !fs::is_empty(path_, error)) {
        // Looked at again: drawing takes seconds, in which somebody may have put something there.
        require_free(path_, true);
        if (::renameat2(AT_FDCWD, part_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE) == 0) {
            published_ = true;
            fs::remove_all(part_, error);
            return;
        }
        const std::string old = path_ + ".old";
        rename_to(path_, old);
        rename_to(part_, path_);
        published_ = true;
        fs::remove_all(old, error);
        return;
    }
    rename_to(part_, path_);
    published_ = true;
}

}  // namespace candor::report
