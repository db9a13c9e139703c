#pragma once

/// Text files that get their name once they are complete.

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace candor::synth {

class TextFile {
  public:
    /// Starts `path`.part. @throws MachineError, as do the others.
    explicit TextFile(const std::string& path);
    /// Removes `path`.part unless `finish` was called.
    ~TextFile();
    TextFile(const TextFile&) = delete;
    TextFile& operator=(const TextFile&) = delete;

    void append(std::string_view text);
    /// Closes, brings to disk and renames.
    void finish();

  private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::string path_;
    std::unique_ptr<std::FILE, Close> file_;
    bool finished_ = false;
};

}  // namespace candor::synth
