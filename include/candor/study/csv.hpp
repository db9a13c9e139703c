#pragma once

/// CSV by RFC 4180, as text: nothing is guessed about types.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace candor::study {

/// A parsed file: trimmed header names, and per record the trimmed cells. `line[i]` is the line of the file
/// on which record i starts, counted from 1, for messages.
struct Csv {
    std::vector<std::string> header;
    std::vector<std::vector<std::string>> records;
    std::vector<std::int64_t> line;
};

/// Parses the bytes of `file` (UTF-8; a byte-order mark, CRLF, quoted line breaks and blanks around quotes
/// allowed; blank lines at the end are ignored).
/// @throws DataError naming file, row and column: a ragged record, an unclosed or misplaced quote, a
///         duplicate or empty header, a lone carriage return, invalid UTF-8, a NUL byte, no header.
Csv parse_csv(const std::string& file, std::string_view bytes);

}  // namespace candor::study
