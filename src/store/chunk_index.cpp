#include "candor/store/chunk_index.hpp"

#include <cstring>
#include <utility>

#include "candor/store/hdf5.hpp"

namespace candor::store {

namespace {

/// Little-endian numbers from a piece of the file; reading past its end gives zeros and is remembered.
class Fields {
  public:
    Fields(const InputFile& file, std::int64_t offset, std::int64_t bytes)
        : bytes_(static_cast<std::size_t>(bytes)) {
        whole_ = offset >= 0 && file.read(offset, bytes_) == bytes;
    }

    template <class T>
    T get() {
        T value = 0;
        if (at_ + sizeof value <= bytes_.size()) {
            std::memcpy(&value, bytes_.data() + at_, sizeof value);
        } else {
            whole_ = false;
        }
        at_ += sizeof value;
        return value;
    }
    void skip(std::size_t bytes) { at_ += bytes; }
    std::size_t left() const { return at_ < bytes_.size() ? bytes_.size() - at_ : 0; }
    bool whole() const { return whole_; }

  private:
    std::vector<std::byte> bytes_;
    std::size_t at_ = 0;
    bool whole_ = false;
};

/// What the file's addresses count from and how wide they are; and the address of the dataset's header.
struct Places {
    std::int64_t base = 0, header = 0;
};

std::optional<Places> places_of(hid_t dataset) {
    const Handle file(H5Iget_file_id(dataset), H5Fclose);
    const Handle creation(file ? H5Fget_create_plist(file.get()) : -1, H5Pclose);
    hsize_t user_block = 0;
    std::size_t address_bytes = 0, length_bytes = 0;
#if H5_VERSION_GE(1, 12, 0)
    H5O_info1_t info;
#else
    H5O_info_t info;
#endif
    if (!creation || H5Pget_userblock(creation.get(), &user_block) < 0 ||
        H5Pget_sizes(creation.get(), &address_bytes, &length_bytes) < 0 ||
        H5Oget_info2(dataset, &info, H5O_INFO_BASIC) < 0 || address_bytes != 8 || length_bytes != 8) {
        return std::nullopt;
    }
    return Places{static_cast<std::int64_t>(user_block), static_cast<std::int64_t>(info.addr)};
}

/// Address of the B-tree's root, from the layout message of the dataset's header.
std::optional<std::int64_t> root_of(const InputFile& file, const Places& places) {
    constexpr std::uint16_t layout_message = 0x0008, continuation_message = 0x0010;
    constexpr std::int64_t longest_block = std::int64_t{1} << 20;
    Fields prefix(file, places.base + places.header, 16);
    const auto version = prefix.get<std::uint8_t>();
    prefix.skip(1);
    auto messages = prefix.get<std::uint16_t>();
    prefix.skip(4);
    const auto length = std::int64_t{prefix.get<std::uint32_t>()};
    if (!prefix.whole() || version != 1 || length > longest_block) return std::nullopt;

    std::vector<std::pair<std::int64_t, std::int64_t>> blocks{{places.header + 16, length}};
    for (std::size_t b = 0; b < blocks.size() && b < 64; ++b) {
        Fields block(file, places.base + blocks[b].first, blocks[b].second);
        while (messages > 0 && block.left() >= 8 && block.whole()) {
            --messages;
            const auto type = block.get<std::uint16_t>();
            std::size_t size = block.get<std::uint16_t>();
            block.skip(4);
            if (type == layout_message && size >= 11) {
                const auto layout_version = block.get<std::uint8_t>();
                const auto kind = block.get<std::uint8_t>();
                const auto dimensions = block.get<std::uint8_t>();
                const auto root = block.get<std::int64_t>();
                if (!block.whole() || layout_version != 3 || kind != 2 || dimensions != 3)
                    return std::nullopt;
                return root;
            }
            if (type == continuation_message && size >= 16) {
                const auto offset = block.get<std::int64_t>();
                const auto bytes = block.get<std::int64_t>();
                size -= 16;
                if (bytes < 0 || bytes > longest_block) return std::nullopt;
                blocks.emplace_back(offset, bytes);
            }
            block.skip(size);
        }
    }
    return std::nullopt;
}

/// Walks a B-tree and notes where the chunks are; false at the first thing that is not as it should be.
class Walk {
  public:
    Walk(const InputFile& file, std::int64_t base, const ChunkGrid& grid)
        : offsets(static_cast<std::size_t>(grid.down * grid.across), -1),
          file_(file),
          base_(base),
          grid_(grid) {}

    std::vector<std::int64_t> offsets;
    std::int64_t found = 0;

    /// Levels fall and no chunk comes twice, so that no damage makes this endless.
    bool node(std::int64_t address, int parent_level) {
        constexpr std::uint32_t signature = 0x45455254;  // "TREE"
        constexpr std::int64_t head_bytes = 24, key_bytes = 32, entry_bytes = key_bytes + 8;
        Fields head(file_, base_ + address, head_bytes);
        if (head.get<std::uint32_t>() != signature || head.get<std::uint8_t>() != 1) return false;
        const int level = head.get<std::uint8_t>();
        const std::int64_t count = head.get<std::uint16_t>();
        if (!head.whole() || level >= parent_level || count == 0) return false;
        Fields entries(file_, base_ + address + head_bytes, count * entry_bytes);
        if (!entries.whole()) return false;
        for (std::int64_t i = 0; i < count; ++i) {
            const auto bytes = std::int64_t{entries.get<std::uint32_t>()};
            const auto filters_skipped = entries.get<std::uint32_t>();
            const auto row = entries.get<std::int64_t>();
            const auto col = entries.get<std::int64_t>();
            const auto within = entries.get<std::int64_t>();
            const auto child = entries.get<std::int64_t>();
            const bool good = level > 0 ? node(child, level)
                                        : bytes == grid_.bytes && filters_skipped == 0 && within == 0 &&
                                              note(row, col, child);
            if (!good) return false;
        }
        return true;
    }

  private:
    bool note(std::int64_t row, std::int64_t col, std::int64_t address) {
        if (row < 0 || col < 0 || row % grid_.rows != 0 || col % grid_.cols != 0) return false;
        const std::int64_t i = row / grid_.rows, j = col / grid_.cols;
        if (i >= grid_.down || j >= grid_.across) return false;
        if (address < 0 || address > file_.size() - base_ - grid_.bytes) return false;
        std::int64_t& offset = offsets[static_cast<std::size_t>(i * grid_.across + j)];
        if (offset >= 0) return false;
        offset = base_ + address;
        ++found;
        return true;
    }

    const InputFile& file_;
    std::int64_t base_;
    const ChunkGrid& grid_;
};

}  // namespace

std::optional<std::vector<std::int64_t>> chunk_offsets(const InputFile& file, hid_t dataset,
                                                       const ChunkGrid& grid) {
    // A claim that the file cannot hold gets no memory.
    if (grid.down * grid.across > file.size() / grid.bytes) return std::nullopt;
    const auto places = places_of(dataset);
    if (!places) return std::nullopt;
    const auto root = root_of(file, *places);
    if (!root) return std::nullopt;
    constexpr int deeper_than_any = 32;
    Walk walk(file, places->base, grid);
    if (!walk.node(*root, deeper_than_any) || walk.found != grid.down * grid.across) return std::nullopt;
    return std::move(walk.offsets);
}

}  // namespace candor::store
