#include "candor/report/escape.hpp"

#include <algorithm>

namespace candor::report {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

bool continues(char c) {
    return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

/// Length of the well-formed UTF-8 sequence that `text` begins with, 0 where there is none (RFC 3629: no
/// overlong forms, no surrogates, nothing above U+10FFFF).
std::size_t sequence_length(std::string_view text) {
    const auto first = static_cast<unsigned char>(text[0]);
    if (first < 0x80) return 1;
    const std::size_t length = first >= 0xC2 && first < 0xE0   ? 2
                               : first >= 0xE0 && first < 0xF0 ? 3
                               : first >= 0xF0 && first < 0xF5 ? 4
                                                               : 0;
    if (length == 0 || text.size() < length) return 0;
    if (!std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(length), continues))
        return 0;
    const auto second = static_cast<unsigned char>(text[1]);
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0)) return 0;
    if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second >= 0x90)) return 0;
    return length;
}

std::string well_formed(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t length = sequence_length(text);
        out += length ? text.substr(0, length) : replacement;
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return out;
}

bool is_control(char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

bool is_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

std::string plain_text(std::string_view text) {
    const std::string sound = well_formed(text);
    std::string out;
    for (std::size_t i = 0; i < sound.size(); ++i) {
        // U+0080 to U+009F are control characters too: C2 80 to C2 9F.
        if (sound[i] == '\xC2' && static_cast<unsigned char>(sound[i + 1]) < 0xA0) {
            out += ' ';
            ++i;
        } else {
            out += is_control(sound[i]) ? ' ' : sound[i];
        }
    }
    return out;
}

std::string csv_field(std::string_view text) {
    const bool blank_end = !text.empty() && (text.front() == ' ' || text.back() == ' ');
    if (text.find_first_of(",\"\r\n") == std::string_view::npos && !blank_end) return std::string(text);
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"') out += '"';
        out += c;
    }
    return out + '"';
}

std::string json_string(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out = "\"";
    for (const char c : well_formed(text)) {
        switch (c) {
            case '"':
                out += "\\\"";
                break;
            case '\\':
                out += "\\\\";
                break;
            case '\n':
                out += "\\n";
                break;
            case '\r':
                out += "\\r";
                break;
            case '\t':
                out += "\\t";
                break;
            default:
                if (is_control(c)) {
                    out += "\\u00";
                    out += digits[static_cast<std::size_t>(c) >> 4];
                    out += digits[static_cast<std::size_t>(c) & 15];
                } else {
                    out += c;
                }
        }
    }
    return out + '"';
}

std::string markdown_text(std::string_view text) {
    const std::string plain = plain_text(text);
    std::string out;
    for (std::size_t i = 0; i < plain.size(); ++i) {
        const char c = plain[i];
        const bool within_word =
            i > 0 && i + 1 < plain.size() && is_word(plain[i - 1]) && is_word(plain[i + 1]);
        const bool starts_entity = c == '&' && plain.find(';', i) != std::string::npos;
        if (std::string_view("\\|<>*`[]~$").find(c) != std::string_view::npos || (c == '_' && !within_word) ||
            starts_entity) {
            out += '\\';
        }
        out += c;
    }
    return out;
}

std::string tex_text(std::string_view text) {
    std::string out;
    char last = 0;
    for (const char c : plain_text(text)) {
        switch (c) {
            case '_':
            case '%':
            case '&':
            case '#':
            case '{':
            case '}':
            case '$':
                out += '\\';
                out += c;
                break;
            case '~':
                out += "\\textasciitilde{}";
                break;
            case '^':
                out += "\\textasciicircum{}";
                break;
            case '\\':
                out += "\\textbackslash{}";
                break;
            case '<':
                out += "\\textless{}";
                break;
            case '>':
                out += "\\textgreater{}";
                break;
            case '|':
                out += "\\textbar{}";
                break;
            case '`':
                out += "\\textasciigrave{}";
                break;
            case '[':
            case '*':
                out += '{';
                out += c;
                out += '}';
                break;
            case '-':
                if (last == '-') out += "{}";
                out += c;
                break;
            default:
                out += c;
        }
        last = c;
    }
    return out;
}

std::string html_text(std::string_view text) {
    std::string out;
    const std::string plain = plain_text(text);
    for (std::size_t i = 0; i < plain.size(); ++i) {
        switch (const char c = plain[i]) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            case '\'':
                out += "&#39;";
                break;
            case '\xEF':  // U+FFFE and U+FFFF are no characters of XML
                if (plain[i + 1] == '\xBF' && static_cast<unsigned char>(plain[i + 2]) >= 0xBE) {
                    out += replacement;
                    i += 2;
                    break;
                }
                [[fallthrough]];
            default:
                out += c;
        }
    }
    return out;
}

std::string gnuplot_string(std::string_view text) {
    std::string out = "'";
    for (const char c : plain_text(text)) {
        if (c == '\'') out += '\'';
        out += c;
    }
    return out + '\'';
}

std::string gnuplot_tic(std::string_view text) {
    std::string doubled;
    for (const char c : text) {
        if (c == '%') doubled += '%';
        doubled += c;
    }
    return gnuplot_string(doubled);
}

std::string file_part(std::string_view text) {
    std::string out;
    for (const char c : text.substr(0, 60)) {
        const bool ascii_word = is_word(c) && static_cast<unsigned char>(c) < 0x80;
        out += ascii_word || c == '_' || (!out.empty() && (c == '.' || c == '-')) ? c : '_';
    }
    return out.empty() ? "_" : out;
}

std::string shortened(std::string_view text, std::size_t width) {
    if (static_cast<std::size_t>(display_width(text)) <= width) return std::string(text);
    std::size_t taken = 0, at = 0;
    for (; at < text.size(); ++at) {
        if (!continues(text[at]) && taken++ == width - 1) break;
    }
    return std::string(text.substr(0, at)) + "\xE2\x80\xA6";
}

std::int64_t display_width(std::string_view text) {
    return static_cast<std::int64_t>(text.size()) - std::count_if(text.begin(), text.end(), continues);
}

std::string padded(std::string_view text, std::int64_t width, bool right) {
    const auto missing = std::max<std::int64_t>(width - display_width(text), 0);
    const std::string blanks(static_cast<std::size_t>(missing), ' ');
    return right ? blanks + std::string(text) : std::string(text) + blanks;
}

}  // namespace candor::report
