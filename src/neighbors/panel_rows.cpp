#include "candor/neighbors/panel_rows.hpp"

#include <algorithm>
#include <utility>

#include "candor/neighbors/row_set.hpp"

namespace candor::neighbors {

std::int64_t PanelRows::bytes(std::int64_t n, std::int64_t dimension, std::int64_t leading, bool doubles) {
    const std::int64_t padded = (dimension + 15) / 16 * 16;
    const std::int64_t bounds = leading == 0 ? 0 : (leading + 15) / 16 * 64 + (dimension + 63) / 64 * 64 + 16;
    return n * (padded * (doubles ? 12 : 8) + bounds + 24);
}

PanelRows load_panel(const RowSource& source, std::span<const ContextRow> which, const Centring& centring,
                     const LeadingPart* part) {
    PanelRows panel;
    panel.stored = source.read(which);
    scale_to_unit_range(panel.stored);
    const auto n = std::ssize(which);
    panel.centred = Matrix<float>(n, source.dimension());
    const MatrixView<float> centred = panel.centred.view();
    std::visit(
        [&](const auto& stored) {
            for (std::int64_t i = 0; i < n; ++i) {
                const Centring::Row row = centring.centre(stored.row(i), centred.row(i));
                std::fill(centred.data + i * centred.stride + centred.cols,
                          centred.data + (i + 1) * centred.stride, 0.0F);
                panel.norm.push_back(row.norm);
                panel.offset.push_back(row.offset);
                panel.radius.push_back(row.radius);
            }
        },
        panel.stored);
    if (part != nullptr) {
        panel.leading = Matrix<float>(n, part->size());
        panel.rest.resize(static_cast<std::size_t>(n));
        part->split(centred, panel.radius, panel.leading.view(), panel.rest);
        panel.coarse = CoarseRows(centred, panel.radius);
    }
    return panel;
}

double cosine(const PanelRows& a, std::int64_t i, const PanelRows& b, std::int64_t j) {
    const double norm_a = a.norm[static_cast<std::size_t>(i)], norm_b = b.norm[static_cast<std::size_t>(j)];
    if (const auto* rows = std::get_if<Matrix<float>>(&a.stored))
        return cosine_of(rows->row(i), norm_a, std::get<Matrix<float>>(b.stored).row(j), norm_b);
    return cosine_of(std::get<Matrix<double>>(a.stored).row(i), norm_a,
                     std::get<Matrix<double>>(b.stored).row(j), norm_b);
}

}  // namespace candor::neighbors
