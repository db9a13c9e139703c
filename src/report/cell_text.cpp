#include "candor/report/cell_text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <variant>
#include <vector>

#include "candor/base/text.hpp"

namespace candor::report {

namespace {

struct KindRule {
    std::string_view table;   // "*": any
    std::string_view column;  // may begin or end with '*'
    ColumnKind kind;
};

// The first rule that fits a real column decides.
constexpr std::array kind_rules{
    KindRule{"panels", "value", ColumnKind::mixed},
    KindRule{"panels", "low", ColumnKind::mixed},
    KindRule{"panels", "high", ColumnKind::mixed},
    KindRule{"associations", "value", ColumnKind::mixed},
    KindRule{"ablations", "matched*", ColumnKind::share},
    KindRule{"ablations", "merged*", ColumnKind::share},
    KindRule{"ablations", "difference*", ColumnKind::share},
    KindRule{"ablations", "equal", ColumnKind::share},
    KindRule{"ablations", "distinct", ColumnKind::share},
    KindRule{"ablations", "literal", ColumnKind::share},
    KindRule{"ablations", "unequal", ColumnKind::share},
    KindRule{"overlap*", "*jaccard", ColumnKind::share},
    KindRule{"consensus", "low", ColumnKind::share},
    KindRule{"consensus", "high", ColumnKind::share},
    KindRule{"consensus", "share", ColumnKind::share},
    KindRule{"retention", "retention", ColumnKind::share},
    KindRule{"retention", "low", ColumnKind::share},
    KindRule{"retention", "high", ColumnKind::share},
    KindRule{"retention", "area", ColumnKind::share},
    KindRule{"heads", "auroc*", ColumnKind::share},
    KindRule{"heads", "member_sd", ColumnKind::share},
    KindRule{"heads", "sensitivity", ColumnKind::share},
    KindRule{"heads", "margin_share_*", ColumnKind::share},
    KindRule{"heads", "margin_*", ColumnKind::cap},
    KindRule{"detection", "au*", ColumnKind::share},
    KindRule{"detection", "gap", ColumnKind::share},
    KindRule{"detection", "gap_*", ColumnKind::share},
    KindRule{"risk_coverage", "*", ColumnKind::share},
    KindRule{"selection", "*", ColumnKind::share},
    KindRule{"distances", "distance", ColumnKind::share},
    KindRule{"distances", "low", ColumnKind::share},
    KindRule{"distances", "high", ColumnKind::share},
    KindRule{"contrasts", "value", ColumnKind::share},
    KindRule{"contrasts", "*low", ColumnKind::share},
    KindRule{"contrasts", "*high", ColumnKind::share},
    KindRule{"*", "*_share", ColumnKind::share},
    KindRule{"*", "prevalence", ColumnKind::share},
    KindRule{"*", "d", ColumnKind::share},
    KindRule{"*", "d_low", ColumnKind::share},
    KindRule{"*", "d_high", ColumnKind::share},
    KindRule{"*", "d_a*", ColumnKind::share},
    KindRule{"*", "d_b*", ColumnKind::share},
    KindRule{"*", "difference", ColumnKind::share},
    KindRule{"*", "rate_mid", ColumnKind::share},
    KindRule{"*", "draw_sd", ColumnKind::share},
    KindRule{"*", "bound_*", ColumnKind::share},
    KindRule{"*", "margin_auroc*", ColumnKind::share},
    KindRule{"*", "margin_balanced_accuracy*", ColumnKind::share},
    KindRule{"*", "p", ColumnKind::probability},
    KindRule{"*", "q", ColumnKind::probability},
    KindRule{"*", "*_p", ColumnKind::probability},
    KindRule{"*", "*_q", ColumnKind::probability},
    KindRule{"*", "cap_*", ColumnKind::cap},
    KindRule{"*", "cap1_*", ColumnKind::cap},
};

bool fits(std::string_view pattern, std::string_view name) {
    if (pattern == "*") return true;
    if (pattern.starts_with('*')) return name.ends_with(pattern.substr(1));
    if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
    return pattern == name;
}

/// Whether the row of a mixed column holds a share: of `panels`, all but the counts of encoders and the flag;
/// of `associations`, mean rates and shares, not correlations and slopes.
bool holds_share(const store::ResultTable& table, std::int64_t row) {
    const bool panels = table.name == "panels";
    const store::Column* column = table.find(panels ? "statistic" : "kind");
    const auto* names = column ? std::get_if<std::vector<std::string>>(&column->values) : nullptr;
    if (!names) return panels;
    const std::string& name = (*names)[static_cast<std::size_t>(row)];
    if (panels) return !name.starts_with("above_") && name != "best_below_half";
    return name == "bin" || name == "share";
}

}  // namespace

ColumnKind kind_of(const store::ResultTable& table, const store::Column& column) {
    if (std::holds_alternative<std::vector<std::string>>(column.values)) return ColumnKind::text;
    if (std::holds_alternative<std::vector<std::int64_t>>(column.values)) return ColumnKind::whole;
    for (const KindRule& rule : kind_rules) {
        if (fits(rule.table, table.name) && fits(rule.column, column.name)) return rule.kind;
    }
    return ColumnKind::real;
}

std::string heading(const store::ResultTable& table, const store::Column& column) {
    return kind_of(table, column) == ColumnKind::share ? column.name + " %" : column.name;
}

std::string cell_text(const store::ResultTable& table, const store::Column& column, std::int64_t row) {
    const auto at = static_cast<std::size_t>(row);
    const ColumnKind kind = kind_of(table, column);
    if (kind == ColumnKind::text) return std::get<std::vector<std::string>>(column.values)[at];
    if (kind == ColumnKind::whole)
        return std::to_string(std::get<std::vector<std::int64_t>>(column.values)[at]);
    const double value = std::get<std::vector<double>>(column.values)[at];
    if (std::isnan(value)) return "-";
    switch (kind) {
        case ColumnKind::share:
            return percent(value);
        case ColumnKind::probability:
            return significant(value, 3);
        case ColumnKind::cap:
            return format_fixed(value, 3);
        // Percentages and counts share these columns, so a percentage says what it is.
        case ColumnKind::mixed:
            return holds_share(table, row) ? percent(value) + " %" : significant(value, 3);
        default:
            return significant(value, 4);
    }
}

std::string percent(double fraction) {
    return std::isnan(fraction) ? "-" : format_fixed(100 * fraction, 1);
}

std::string significant(double value, int digits) {
    if (std::isnan(value)) return "-";
    if (value == 0) return "0";  // also -0
    char buffer[64];
    const auto [end, status] =
        std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, digits);
    std::string text(buffer, end);
    const auto exponent = text.find('e');
    if (exponent != std::string::npos && text.find('.') == std::string::npos) text.insert(exponent, ".0");
    return text;
}

}  // namespace candor::report
