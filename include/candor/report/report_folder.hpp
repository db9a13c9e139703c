#pragma once

/// The folder that a report is written to: it appears whole or not at all, and never takes the place of
/// anything but an older report.

#include <string>
#include <string_view>
#include <vector>

namespace candor::report {

class ReportFolder {
  public:
    /// Makes `path`.part. `path` must not exist, or be an empty folder, or with `replace` be a report without
    /// any file that candor did not write.
    /// @throws UsageError for anything else, naming what is in the way; MachineError where it cannot be made.
    ReportFolder(std::string path, bool replace);
    /// Removes the unfinished folder unless `publish` was called; never throws.
    ~ReportFolder();
    ReportFolder(const ReportFolder&) = delete;
    ReportFolder& operator=(const ReportFolder&) = delete;

    /// Where files are while they are written; no '/' behind.
    const std::string& work() const { return part_; }
    /// Writes `name` (with its subfolder, which is made). @throws MachineError.
    void write(const std::string& name, std::string_view bytes);
    std::string read(const std::string& name) const;
    /// Brings all to disk, lists every file in the marker, and gives the folder its name.
    void publish();

  private:
    std::string path_, part_;
    int lock_ = -1;
    bool published_ = false;
};

/// The file by which candor knows a folder as its own: a line that says so, then the names of its files.
inline constexpr const char* report_marker = "candor-report.txt";

}  // namespace candor::report
