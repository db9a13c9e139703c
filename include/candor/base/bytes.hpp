#pragma once

/// Values to bytes and back, for messages between ranks of one program on machines of one kind.

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "candor/base/error.hpp"

namespace candor {

/// Appends values to a string of bytes.
class ByteWriter {
  public:
    template <class T>
    requires std::is_trivially_copyable_v<T>
    void put(const T& value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
    template <class T>
    requires std::is_trivially_copyable_v<T>
    void put(std::span<const T> values) {
        put(static_cast<std::int64_t>(values.size()));
        bytes_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
    }
    void put(const std::string& text) { put(std::span<const char>(text)); }

    std::string take() { return std::move(bytes_); }

  private:
    std::string bytes_;
};

/// Reads them back in the same order. @throws InternalError past the end.
class ByteReader {
  public:
    explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

    bool done() const { return rest_.empty(); }
    template <class T>
    T get() {
        T value;
        std::memcpy(&value, next(sizeof value), sizeof value);
        return value;
    }
    template <class T>
    std::vector<T> get_many() {
        std::vector<T> values(count_of(sizeof(T)));
        if (!values.empty())
            std::memcpy(values.data(), next(values.size() * sizeof(T)), values.size() * sizeof(T));
        return values;
    }
    std::string get_text() {
        const std::size_t length = count_of(1);
        return {next(length), length};
    }

  private:
    /// How many values of `size` bytes follow: looked at before room is made for them.
    std::size_t count_of(std::size_t size) {
        const auto count = static_cast<std::size_t>(get<std::int64_t>());
        CANDOR_REQUIRE(count <= rest_.size() / size,
                       std::to_string(count) + " values in " + std::to_string(rest_.size()) + " bytes");
        return count;
    }
    const char* next(std::size_t count) {
        CANDOR_REQUIRE(count <= rest_.size(),
                       std::to_string(count) + " of " + std::to_string(rest_.size()) + " bytes");
        const char* at = rest_.data();
        rest_.remove_prefix(count);
        return at;
    }
    std::string_view rest_;
};

}  // namespace candor
