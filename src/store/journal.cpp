#include "candor/store/journal.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "candor/base/error.hpp"

namespace candor::store {

namespace {

constexpr std::string_view magic = "candor journal 1";  // 16 bytes, and the identity's 16 follow

/// What precedes a record.
struct Head {
    std::uint64_t length;
    Digest checksum;  // of the length and the record
};

Digest checksum_of(std::uint64_t length, std::string_view record) {
    Digest sum = digest(std::as_bytes(std::span(record)));
    sum.low ^= length * 0x9e3779b97f4a7c15U;  // so that zeros are no record
    sum.high += length + 1;
    return sum;
}

std::string beginning(const Digest& identity) {
    std::string bytes(magic);
    bytes.append(reinterpret_cast<const char*>(&identity), sizeof identity);
    return bytes;
}

[[noreturn]] void refuse(const std::string& path, const char* what) {
    throw MachineError(path, std::string(what) + ": " + std::strerror(errno),
                       "see to its rights and the room on its disk, or name another output");
}

/// A file's bytes as they are on the disk, for as long as this lives.
class Mapped {
  public:
    explicit Mapped(const std::string& path) {
        const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (file < 0) refuse(path, "cannot be opened");
        struct stat about {};
        if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) {
            close(file);
            throw MachineError(path, "is not a regular file", "remove it, or name another output");
        }
        size_ = static_cast<std::size_t>(about.st_size);
        if (size_ > 0) bytes_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
        close(file);
        if (bytes_ == MAP_FAILED) refuse(path, "cannot be read");
    }
    ~Mapped() {
        if (size_ > 0) munmap(bytes_, size_);
    }
    Mapped(const Mapped&) = delete;
    Mapped& operator=(const Mapped&) = delete;

    std::string_view bytes() const { return {static_cast<const char*>(bytes_), size_}; }

  private:
    void* bytes_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace

JournalWriter::JournalWriter(std::string path, const Digest& identity)
    : path_(std::move(path)), identity_(identity), synced_(std::chrono::steady_clock::now()) {}

JournalWriter::~JournalWriter() {
    if (file_ >= 0) close(file_);
}

void JournalWriter::write_all(std::string_view bytes) {
    while (!bytes.empty()) {
        constexpr std::size_t most = std::size_t{1} << 30;
        const ssize_t written = write(file_, bytes.data(), std::min(most, bytes.size()));
        if (written >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno != EINTR) {
            refuse(path_, "cannot be written");
        }
    }
}

void JournalWriter::append(std::string_view record) {
    if (file_ < 0) {
        file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);
        if (file_ < 0) refuse(path_, "cannot be made");
        write_all(beginning(identity_));
    }
    const Head head{record.size(), checksum_of(record.size(), record)};
    write_all({reinterpret_cast<const char*>(&head), sizeof head});
    write_all(record);
    constexpr std::chrono::seconds most_at_risk(30);
    if (std::chrono::steady_clock::now() - synced_ >= most_at_risk) sync();
}

void JournalWriter::sync() {
    if (file_ < 0) return;
    if (fdatasync(file_) != 0) refuse(path_, "cannot be brought to disk");
    synced_ = std::chrono::steady_clock::now();
}

std::int64_t read_journal(const std::string& path, const Digest& identity,
                          const std::function<void(std::string_view)>& take) {
    const Mapped file(path);
    std::string_view rest = file.bytes();
    const std::string start = beginning(identity);
    if (!rest.starts_with(start)) return static_cast<std::int64_t>(rest.size());
    rest.remove_prefix(start.size());
    while (rest.size() >= sizeof(Head)) {
        Head head;
        std::memcpy(&head, rest.data(), sizeof head);
        if (head.length > rest.size() - sizeof head) break;
        const std::string_view record = rest.substr(sizeof head, head.length);
        if (checksum_of(head.length, record) != head.checksum) break;
        take(record);
        rest.remove_prefix(sizeof head + head.length);
    }
    return static_cast<std::int64_t>(rest.size());
}

}  // namespace candor::store
