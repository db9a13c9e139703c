#include "candor/base/duration.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "candor/base/text.hpp"

namespace candor {

namespace {

constexpr double longest = 1e9;  // seconds: thirty years, far beyond any limit

std::optional<std::chrono::seconds> in_seconds(double seconds) {
    if (!(seconds >= 0) || seconds > longest) return std::nullopt;
    return std::chrono::seconds(static_cast<std::int64_t>(seconds));
}

std::optional<std::chrono::seconds> parse_clock(std::string_view text) {
    double days = 0;
    if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
        const auto number = parse_integer(text.substr(0, dash));
        if (!number || *number < 0) return std::nullopt;
        days = static_cast<double>(*number);
        text.remove_prefix(dash + 1);
    }
    const std::vector<std::string> parts = split_text(text, ':');
    if (parts.size() != 3) return std::nullopt;
    double seconds = 0;
    for (const std::string& part : parts) {
        const auto number = parse_integer(part);
        const bool first = &part == &parts.front();
        if (!number || *number < 0 || (!first && *number >= 60)) return std::nullopt;
        seconds = 60 * seconds + static_cast<double>(*number);
    }
    return in_seconds(86400 * days + seconds);
}

}  // namespace

std::optional<std::chrono::seconds> parse_duration(std::string_view text) {
    if (text.find(':') != std::string_view::npos) return parse_clock(text);
    if (text.empty()) return std::nullopt;
    double unit = 0;
    switch (text.back()) {
        case 's':
            unit = 1;
            break;
        case 'm':
            unit = 60;
            break;
        case 'h':
            unit = 3600;
            break;
        case 'd':
            unit = 86400;
            break;
        default:
            return std::nullopt;
    }
    const auto number = parse_real(text.substr(0, text.size() - 1));
    return number ? in_seconds(*number * unit) : std::nullopt;
}

std::string duration_text(double seconds) {
    if (seconds < 10) return format_fixed(seconds, 2) + " s";
    if (seconds < 60) return format_fixed(seconds, 1) + " s";
    const auto whole = std::llround(seconds);
    if (whole < 3600) return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
    const auto minutes = std::llround(seconds / 60);
    return std::to_string(minutes / 60) + " h " + std::to_string(minutes % 60) + " min";
}

}  // namespace candor
