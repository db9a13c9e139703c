#pragma once

/// Spans of time as people write them.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace candor {

/// "90s", "30m", "2h" and "1.5d", or as Slurm writes them: "H:MM:SS" and "D-HH:MM:SS". Nothing where `text`
/// is none of these; a number alone is none, because it is seconds to some and minutes to others.
std::optional<std::chrono::seconds> parse_duration(std::string_view text);

/// "0.72 s", "14.6 s", "3 min 20 s", "2 h 5 min": never more than is of interest. @pre seconds >= 0.
std::string duration_text(double seconds);

}  // namespace candor
