#pragma once

/// Names and values as each output format needs them. Input is UTF-8 and stays UTF-8; bytes that are not
/// become U+FFFD where the format is for people or is JSON.

#include <cstdint>
#include <string>
#include <string_view>

namespace candor::report {

/// For a terminal: control characters become blanks, so that no name can move the cursor or break a line.
std::string plain_text(std::string_view text);

/// A field of RFC 4180: quoted where it holds a comma, a quote, a line break or a blank at either end; the
/// content is never changed.
std::string csv_field(std::string_view text);

/// A JSON string with its quotes (RFC 8259).
std::string json_string(std::string_view text);

/// A cell of a Markdown table (GitHub's dialect): `a|b` is `a\|b`; what would be markup or HTML is escaped.
/// An underscore within a word and a lone `&` are no markup and stay.
std::string markdown_text(std::string_view text);

/// A cell of a LaTeX table: every special character is escaped, also `[` and `*`, which after a line end
/// would be read as its options, and `--`, which would become a dash.
std::string tex_text(std::string_view text);

/// Text or an attribute's value of HTML, XHTML or SVG: markup is escaped, so are both kinds of quotes.
std::string html_text(std::string_view text);

/// A string of a gnuplot script with its quotes. Single ones: within double ones and outside of quotes
/// gnuplot runs what stands in backquotes. Terminals must be `noenhanced`, or `_` and `^` are markup.
std::string gnuplot_string(std::string_view text);

/// The same for the label of a tic, which gnuplot reads as a format: `%` is doubled.
std::string gnuplot_tic(std::string_view text);

/// `text` as a part of a file name that needs no quoting anywhere: letters, digits, `.`, `_` and `-` of ASCII
/// stay, all else becomes `_`; never empty, never beginning with `.` or `-`, at most 60 bytes. Different
/// texts may give the same name.
std::string file_part(std::string_view text);

/// `text` with at most `width` code points, the last of them an ellipsis where some were cut.
std::string shortened(std::string_view text, std::size_t width);

/// How many columns of a terminal `text` takes: its code points.
std::int64_t display_width(std::string_view text);

/// `text` with blanks up to `width` columns, behind it or, with `right`, before it. Longer text stays.
std::string padded(std::string_view text, std::int64_t width, bool right);

}  // namespace candor::report
