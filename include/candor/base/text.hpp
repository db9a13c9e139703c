#pragma once

/// Text that never depends on the locale: numbers in and out, trimming, and the nearest known name.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace candor {

/// `text` without blanks, tabs and carriage returns at either end.
std::string_view trim(std::string_view text);

/// The whole of `text` as a decimal number with a point, "nan" and "inf" as `format_real` writes them;
/// nothing where anything else is there ("0,5", "1x", "").
std::optional<double> parse_real(std::string_view text);
/// The whole of `text` as a decimal integer.
std::optional<std::int64_t> parse_integer(std::string_view text);

/// Shortest decimal text that reads back as the same double; "nan", "inf", "-inf".
std::string format_real(double value);
/// `value` with `decimals` digits after the point; never "-0.0".
std::string format_fixed(double value, int decimals);

/// The name in `known` with the smallest edit distance to `name`, or "" where none is near (more than a third
/// of the letters differ).
std::string nearest_name(std::string_view name, std::span<const std::string> known);

/// `parts` with `separator` between them.
std::string join_text(std::span<const std::string> parts, std::string_view separator);

/// The first few of `names`, quoted, and how many more: `"a", "b" and 7 more`.
std::string first_names(std::span<const std::string> names, std::size_t most = 5);

/// `text` cut at each `separator`, pieces trimmed.
std::vector<std::string> split_text(std::string_view text, char separator);

/// Length of the UTF-8 sequence that starts at `text`, or 0 where none does (overlong forms, surrogates and
/// anything above U+10FFFF included).
std::size_t utf8_length(std::string_view text);

/// Whether all of `text` is UTF-8.
bool is_utf8(std::string_view text);

}  // namespace candor
