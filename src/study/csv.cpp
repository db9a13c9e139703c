#include "candor/study/csv.hpp"

#include <algorithm>
#include <set>

#include "candor/base/error.hpp"
#include "candor/base/text.hpp"

namespace candor::study {

namespace {

/// Refuses what no text file holds, naming the line.
void require_text(const std::string& file, std::string_view bytes) {
    std::int64_t line = 1;
    for (std::size_t at = 0; at < bytes.size();) {
        if (bytes[at] == '\0') {
            throw DataError({file, line}, "holds a NUL byte", "save the table as plain text in UTF-8");
        }
        const std::size_t length = utf8_length(bytes.substr(at));
        if (length == 0) throw DataError({file, line}, "is not valid UTF-8", "save the table in UTF-8");
        line += bytes[at] == '\n';
        at += length;
    }
}

class Reader {
  public:
    Reader(std::string file, std::string_view bytes) : file_(std::move(file)), bytes_(bytes) {}

    /// Nothing but blanks and line breaks is left.
    bool at_end() const { return bytes_.find_first_not_of(" \t\r\n", at_) == std::string_view::npos; }

    std::int64_t line() const { return line_; }

    /// The cells of the next record, its line break consumed. `header` names the columns in messages.
    std::vector<std::string> record(const std::vector<std::string>& header) {
        std::vector<std::string> cells;
        while (true) {
            column_ = cells.size() < header.size() ? header[cells.size()] : std::string();
            cells.push_back(cell());
            if (at_ == bytes_.size()) return cells;
            if (bytes_[at_++] == '\n') {
                ++line_;
                return cells;
            }
        }
    }

  private:
    /// One cell, trimmed; stops at the comma or line feed behind it, or at the end.
    std::string cell() {
        skip_blanks();
        const std::string text = peek() == '"' ? quoted() : bare();
        return std::string(trim(text));
    }

    std::string quoted() {
        const std::int64_t opened = line_;
        std::string text;
        for (++at_;; ++at_) {
            if (at_ == bytes_.size()) {
                throw DataError({file_, opened, column_}, "a quote is opened and never closed");
            }
            if (bytes_[at_] == '"') {
                if (bytes_.substr(at_ + 1, 1) != "\"") break;
                ++at_;
            }
            line_ += bytes_[at_] == '\n';
            text += bytes_[at_];
        }
        ++at_;
        skip_blanks();
        skip_carriage_returns();
        if (!at_cell_end()) {
            throw DataError({file_, line_, column_}, "text follows a closing quote",
                            "double every quote inside a quoted cell");
        }
        return text;
    }

    std::string bare() {
        std::string text;
        while (!at_cell_end()) {
            if (peek() == '"') {
                throw DataError({file_, line_, column_}, "a quote stands inside a cell that is not quoted",
                                "quote the whole cell and double the quotes inside it");
            }
            if (peek() == '\r') {
                skip_carriage_returns();
            } else {
                text += bytes_[at_++];
            }
        }
        return text;
    }

    char peek() const { return at_ < bytes_.size() ? bytes_[at_] : '\0'; }
    bool at_cell_end() const { return at_ == bytes_.size() || peek() == ',' || peek() == '\n'; }
    void skip_blanks() { at_ = std::min(bytes_.find_first_not_of(" \t", at_), bytes_.size()); }

    /// Carriage returns belong to a line break; alone they are those of a system that nobody has any more.
    void skip_carriage_returns() {
        if (peek() != '\r') return;
        at_ = std::min(bytes_.find_first_not_of('\r', at_), bytes_.size());
        if (at_ < bytes_.size() && peek() != '\n') {
            throw DataError({file_, line_, column_}, "a carriage return stands alone",
                            "save the table with LF or CRLF line ends");
        }
    }

    std::string file_;
    std::string_view bytes_;
    std::size_t at_ = 0;
    std::int64_t line_ = 1;
    std::string column_;
};

void require_names(const std::string& file, std::int64_t line, const std::vector<std::string>& header) {
    std::set<std::string_view> seen;
    for (std::size_t c = 0; c < header.size(); ++c) {
        if (header[c].empty()) {
            throw DataError({file, line}, "column " + std::to_string(c + 1) + " has no name",
                            "name it in the header or remove it");
        }
        if (!seen.insert(header[c]).second) {
            throw DataError({file, line, header[c]}, "the header names this column twice",
                            "rename or remove one");
        }
    }
}

}  // namespace

Csv parse_csv(const std::string& file, std::string_view bytes) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (bytes.starts_with(byte_order_mark)) bytes.remove_prefix(byte_order_mark.size());
    require_text(file, bytes);
    Reader reader(file, bytes);
    if (reader.at_end()) throw DataError({file}, "is empty", "the first line must name the columns");

    Csv csv;
    csv.header = reader.record({});
    require_names(file, 1, csv.header);
    while (!reader.at_end()) {
        csv.line.push_back(reader.line());
        csv.records.push_back(reader.record(csv.header));
        if (csv.records.back().size() != csv.header.size()) {
            throw DataError({file, csv.line.back()},
                            "has " + std::to_string(csv.records.back().size()) +
                                " cells where the header has " + std::to_string(csv.header.size()),
                            "quote cells that hold commas, and give every row all columns");
        }
    }
    return csv;
}

}  // namespace candor::study
