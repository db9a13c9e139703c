#pragma once

/// A study to measure with: made, the same on every machine.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace candor::bench {

/// A folder for temporary files that goes away with this.
class TemporaryFolder {
  public:
    /// @throws MachineError where it cannot be made.
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

/// Writes a study with one dataset and task a size and one encoder a dimension, features float16 and without
/// leading directions, twelve findings at prevalences from 1 % to 40 %, two images a patient.
/// @returns the study file.
std::string write_made_study(const std::filesystem::path& folder, const std::vector<std::int64_t>& sizes,
                             const std::vector<std::int64_t>& dimensions);

}  // namespace candor::bench
