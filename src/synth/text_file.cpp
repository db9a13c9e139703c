#include "synth/text_file.hpp"

#include <cerrno>
#include <cstring>

#include "candor/base/error.hpp"
#include "candor/store/output_file.hpp"

namespace candor::synth {

namespace {

[[noreturn]] void fail(const std::string& path, const char* what) {
    throw MachineError(store::part_of(path), std::string(what) + ": " + std::strerror(errno));
}

}  // namespace

TextFile::TextFile(const std::string& path)
    : path_(path), file_(std::fopen(store::part_of(path).c_str(), "wb")) {
    if (!file_) fail(path_, "cannot be created");
}

TextFile::~TextFile() {
    file_.reset();
    if (!finished_) store::discard(path_);
}

void TextFile::append(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size())
        fail(path_, "cannot be written");
}

void TextFile::finish() {
    if (std::fclose(file_.release()) != 0) fail(path_, "cannot be written");
    store::publish(path_);
    finished_ = true;
}

}  // namespace candor::synth
