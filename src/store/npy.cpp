#include "candor/store/npy.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "candor/base/error.hpp"
#include "candor/base/text.hpp"

namespace candor::store {

namespace {

/// NumPy itself refuses longer headers by default; ours are one short line.
constexpr std::int64_t longest_header = 1 << 20;

/// Reads a Python literal of the small kind that `.npy` headers are written in.
class Literal {
  public:
    Literal(const std::string& file, std::string_view text) : file_(file), text_(text) {}

    NpyHeader dictionary() {
        NpyHeader header;
        bool have_descr = false, have_order = false, have_shape = false;
        expect('{');
        while (!accept('}')) {
            const std::string key = quoted();
            expect(':');
            if (key == "descr" && !std::exchange(have_descr, true)) {
                header.descr = description();
            } else if (key == "fortran_order" && !std::exchange(have_order, true)) {
                header.fortran_order = truth();
            } else if (key == "shape" && !std::exchange(have_shape, true)) {
                header.shape = tuple();
            } else {
                fail("unknown or repeated key");
            }
            if (!accept(',')) {
                expect('}');
                break;
            }
        }
        skip_blanks();
        if (at_ != text_.size()) fail("something after the dictionary");
        if (!have_descr || !have_order || !have_shape) fail("not all of descr, fortran_order and shape");
        return header;
    }

  private:
    [[noreturn]] void fail(const std::string& what) const {
        throw DataError({file_}, "has a damaged .npy header: " + what + " at byte " + std::to_string(at_) +
                                     " of the header text");
    }
    void skip_blanks() {
        while (at_ < text_.size() && std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos)
            ++at_;
    }
    bool accept(char wanted) {
        skip_blanks();
        if (at_ >= text_.size() || text_[at_] != wanted) return false;
        ++at_;
        return true;
    }
    void expect(char wanted) {
        if (!accept(wanted)) fail(std::string("no '") + wanted + "'");
    }
    bool accept_word(std::string_view word) {
        skip_blanks();
        if (text_.substr(at_, word.size()) != word) return false;
        at_ += word.size();
        return true;
    }
    std::string quoted() {
        skip_blanks();
        const char quote = at_ < text_.size() ? text_[at_] : '\0';
        if (quote != '\'' && quote != '"') fail("no quoted text");
        const auto end = text_.find(quote, at_ + 1);
        if (end == std::string_view::npos) fail("an unclosed quote");
        const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
        for (const char c : inside) {
            if (c < ' ' || c == '\\') fail("an unexpected character");
        }
        at_ = end + 1;
        return std::string(inside);
    }
    /// Text, or the list of fields of a structured array, which is skipped and given as "".
    std::string description() {
        if (!accept('[')) {
            std::string text = quoted();
            if (text.empty()) fail("an empty descr");
            return text;
        }
        for (int depth = 1; depth > 0; ++at_) {
            if (at_ >= text_.size()) fail("an unclosed list");
            if (text_[at_] == '[') ++depth;
            if (text_[at_] == ']') --depth;
        }
        return {};
    }
    bool truth() {
        if (accept_word("True")) return true;
        if (!accept_word("False")) fail("neither True nor False");
        return false;
    }
    std::vector<std::int64_t> tuple() {
        std::vector<std::int64_t> values;
        expect('(');
        while (!accept(')')) {
            skip_blanks();
            const auto end = std::min(text_.find_first_not_of("0123456789", at_), text_.size());
            const auto value = parse_integer(text_.substr(at_, end - at_));
            if (!value) fail("no whole number in the shape");
            values.push_back(*value);
            at_ = end;
            accept('L');  // Python 2 wrote long integers so
            if (!accept(',')) {
                expect(')');
                if (values.size() == 1) fail("a shape that is not a tuple");
                break;
            }
        }
        return values;
    }

    const std::string& file_;
    std::string_view text_;
    std::size_t at_ = 0;
};

std::string shape_text(const NpyHeader& header) {
    std::string text = "(";
    for (std::size_t i = 0; i < header.shape.size(); ++i) {
        text += (i ? ", " : "") + std::to_string(header.shape[i]);
    }
    return text + (header.shape.size() == 1 ? ",)" : ")");
}

/// The file must end where the header says.
void check_length(const NpyBytes& bytes, const NpyHeader& header, std::int64_t data_bytes) {
    const std::int64_t present = bytes.size() - header.data_offset;
    if (present == data_bytes) return;
    const std::string promise = "the header promises " + std::to_string(data_bytes) +
                                " bytes of data for shape " + shape_text(header) + ", there are " +
                                std::to_string(present);
    throw DataError({bytes.name()},
                    (present < data_bytes ? "is cut short: " : "is longer than its array: ") + promise,
                    "copy or save it again");
}

/// Why features cannot be of this type, and what to do.
[[noreturn]] void refuse_type(const std::string& file, const std::string& descr) {
    const std::string convert = "save it with numpy.save(file, array.astype(\"<f4\"))";
    if (descr.empty())
        throw DataError({file}, "holds a structured array (named fields), not a matrix of numbers");
    const char order = descr[0];
    const char kind = descr.size() > 1 ? descr[1] : '\0';
    const std::string shown = " (type " + descr + ")";
    if (kind == 'O') {
        throw DataError({file}, "holds Python objects" + shown + ", which are not read", convert);
    }
    if (order == '>' && kind == 'f') {
        throw DataError({file}, "holds big-endian numbers" + shown + ", which are not read from .npy",
                        convert);
    }
    if (kind == 'i' || kind == 'u') {
        throw DataError({file}, "holds whole numbers" + shown + "; features are float16, float32 or float64",
                        convert);
    }
    if (kind == 'b') throw DataError({file}, "holds true/false values" + shown + ", not features", convert);
    if (kind == 'c') throw DataError({file}, "holds complex numbers" + shown + ", which features cannot be");
    if (kind == 'U' || kind == 'S') throw DataError({file}, "holds text" + shown + ", not features");
    throw DataError({file}, "holds numbers of type " + descr + "; features are float16, float32 or float64",
                    convert);
}

std::optional<ElementType> element_type(const std::string& descr) {
    if (descr == "<f2") return ElementType::float16;
    if (descr == "<f4") return ElementType::float32;
    if (descr == "<f8") return ElementType::float64;
    return std::nullopt;
}

class NpyArray final : public Array {
  public:
    NpyArray(NpyBytes bytes, const NpyHeader& header, ElementType element)
        : bytes_(std::move(bytes)), fortran_(header.fortran_order), offset_(header.data_offset) {
        rows = header.shape[0];
        cols = header.shape[1];
        type = element;
    }

    void read(std::int64_t first, std::int64_t count, std::byte* out) const override {
        const std::int64_t size = size_of(type);
        if (!fortran_)
            return fetch(first, first * cols * size, {out, static_cast<std::size_t>(count * cols * size)});
        std::vector<std::byte> column(static_cast<std::size_t>(count * size));
        for (std::int64_t j = 0; j < cols; ++j) {
            fetch(first, (j * rows + first) * size, column);
            for (std::int64_t i = 0; i < count; ++i) {
                std::memcpy(out + (i * cols + j) * size, column.data() + i * size,
                            static_cast<std::size_t>(size));
            }
        }
    }

  private:
    void fetch(std::int64_t row, std::int64_t at, std::span<std::byte> out) const {
        const std::int64_t got = bytes_.read(offset_ + at, out);
        if (got == static_cast<std::int64_t>(out.size())) return;
        const std::int64_t whole = fortran_ ? row : row + got / (cols * size_of(type));
        throw DataError({bytes_.name(), whole}, "the file ends inside this row",
                        "was it changed while it was read?");
    }

    NpyBytes bytes_;
    bool fortran_;
    std::int64_t offset_;
};

/// Appends code point `c` as UTF-8; false where it is not a character.
bool append_utf8(std::uint32_t c, std::string& text) {
    if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) return false;
    const auto put = [&](std::uint32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
    if (c < 0x80) {
        put(c);
    } else if (c < 0x800) {
        put(0xc0 | c >> 6);
        put(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        put(0xe0 | c >> 12);
        put(0x80 | (c >> 6 & 0x3f));
        put(0x80 | (c & 0x3f));
    } else {
        put(0xf0 | c >> 18);
        put(0x80 | (c >> 12 & 0x3f));
        put(0x80 | (c >> 6 & 0x3f));
        put(0x80 | (c & 0x3f));
    }
    return true;
}

}  // namespace

NpyHeader parse_npy_header(const std::string& file, std::span<const std::byte> head) {
    const auto byte = [&](std::size_t i) { return std::to_integer<std::uint32_t>(head[i]); };
    constexpr std::string_view magic = "\x93NUMPY";
    if (head.size() < 12 || std::memcmp(head.data(), magic.data(), magic.size()) != 0) {
        throw DataError(
            {file}, "is not an .npy file: it does not begin with the magic bytes, or ends within the header");
    }
    const std::uint32_t major = byte(6);
    if (major < 1 || major > 3 || byte(7) != 0) {
        throw DataError({file}, "has .npy format version " + std::to_string(major) + "." +
                                    std::to_string(byte(7)) + "; versions 1.0, 2.0 and 3.0 are read");
    }
    const std::int64_t start = major == 1 ? 10 : 12;
    const std::int64_t length = major == 1
                                    ? byte(8) | byte(9) << 8
                                    : std::int64_t{byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24};
    if (length > longest_header || start + length > static_cast<std::int64_t>(head.size())) {
        throw DataError({file}, "has a damaged .npy header: it claims " + std::to_string(length) +
                                    " bytes, more than there are");
    }
    const std::string_view text(reinterpret_cast<const char*>(head.data()) + start,
                                static_cast<std::size_t>(length));
    NpyHeader header = Literal(file, text).dictionary();
    header.data_offset = start + length;
    return header;
}

NpyBytes::NpyBytes(InputFile file)
    : name_(file.path()), file_(std::make_unique<InputFile>(std::move(file))) {}

NpyBytes::NpyBytes(std::string name, std::vector<std::byte> bytes)
    : name_(std::move(name)), memory_(std::move(bytes)) {}

std::int64_t NpyBytes::read(std::int64_t offset, std::span<std::byte> out) const {
    if (file_) return file_->read(offset, out);
    const auto present = std::max<std::int64_t>(0, size() - offset);
    const auto count = std::min(present, static_cast<std::int64_t>(out.size()));
    if (count > 0) std::memcpy(out.data(), memory_.data() + offset, static_cast<std::size_t>(count));
    return count;
}

NpyHeader NpyBytes::header() const {
    std::vector<std::byte> head(static_cast<std::size_t>(std::min(size(), longest_header + 12)));
    head.resize(static_cast<std::size_t>(read(0, head)));
    return parse_npy_header(name_, head);
}

std::unique_ptr<Array> npy_array(NpyBytes bytes) {
    const NpyHeader header = bytes.header();
    const auto type = element_type(header.descr);
    if (!type) refuse_type(bytes.name(), header.descr);
    if (header.shape.size() != 2) {
        throw DataError({bytes.name()}, "has shape " + shape_text(header) + "; features are rows x columns",
                        "reshape it to (rows, dimension)");
    }
    if (header.shape[0] == 0 || header.shape[1] == 0) {
        throw DataError({bytes.name()}, "has shape " + shape_text(header) + ": it has no " +
                                            (header.shape[0] == 0 ? "rows" : "columns"));
    }
    check_length(bytes, header, array_bytes(bytes.name(), header.shape[0], header.shape[1], size_of(*type)));
    return std::make_unique<NpyArray>(std::move(bytes), header, *type);
}

std::vector<std::string> npy_texts(const NpyBytes& bytes) {
    const NpyHeader header = bytes.header();
    const std::string remedy = "save ids as text with numpy.save(file, ids.astype(str))";
    const bool wide = header.descr.starts_with("<U");
    const bool narrow = header.descr.starts_with("|S");
    const auto length =
        parse_integer(std::string_view(header.descr).substr(std::min<std::size_t>(2, header.descr.size())));
    if (!(wide || narrow) || !length || *length < 1 || *length > std::numeric_limits<std::int32_t>::max()) {
        const std::string type = header.descr.empty() ? "named fields" : "type " + header.descr;
        throw DataError({bytes.name()}, "holds " + type + "; ids are text (numpy types S and U)", remedy);
    }
    if (header.shape.size() != 1) {
        throw DataError({bytes.name()}, "has shape " + shape_text(header) + "; ids are one text a row");
    }
    const std::int64_t unit = wide ? 4 : 1;
    const std::int64_t width = *length * unit;
    check_length(bytes, header, array_bytes(bytes.name(), header.shape[0], width, 1));

    std::vector<std::string> texts(static_cast<std::size_t>(header.shape[0]));
    std::vector<std::byte> cell(static_cast<std::size_t>(width));
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const auto row = static_cast<std::int64_t>(i);
        if (bytes.read(header.data_offset + row * width, cell) != width) {
            throw DataError({bytes.name(), row}, "the file ends inside this row");
        }
        for (std::int64_t j = 0; j < *length; ++j) {
            std::uint32_t c = 0;
            std::memcpy(&c, cell.data() + j * unit, static_cast<std::size_t>(unit));
            if (narrow) {
                texts[i] += static_cast<char>(c);
            } else if (!append_utf8(c, texts[i])) {
                throw DataError({bytes.name(), row}, "holds a code point that is no character");
            }
        }
        texts[i].erase(texts[i].find_last_not_of('\0') + 1);
    }
    return texts;
}

}  // namespace candor::store
