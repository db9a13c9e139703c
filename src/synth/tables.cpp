#include "synth/tables.hpp"

#include <algorithm>
#include <cmath>

#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/synth/planted.hpp"
#include "synth/text_file.hpp"

namespace candor::synth {

namespace {

constexpr std::int64_t image_size = 1024;
constexpr double blank_box_share = 0.02, second_box_share = 0.3;
// Simulated queries of a finding, over its contexts by their share of its positives, and the fewest of a
// cell.
constexpr std::int64_t simulated_queries = 2000, fewest_simulated = 200;

std::string_view text_of(study::Label label) {
    switch (label) {
        case study::Label::positive:
            return "1";
        case study::Label::negative:
            return "0";
        case study::Label::uncertain:
            return "-1";
        case study::Label::blank:
            return "";
    }
    return "";
}

/// Sums of cells, weighted by the positives that ask.
struct Pooled {
    std::int64_t n = 0, queries = 0, simulated = 0;
    double rate = 0, variance = 0;

    void add(std::int64_t candidates, std::int64_t asked, std::int64_t drawn, double d,
             double standard_error) {
        n = n == 0 ? candidates : std::min(n, candidates);
        queries += asked;
        simulated += drawn;
        rate += static_cast<double>(asked) * d;
        variance += std::pow(static_cast<double>(asked) * standard_error, 2);
    }
    double d() const { return rate / static_cast<double>(queries); }
    double standard_error() const { return std::sqrt(variance) / static_cast<double>(queries); }
};

std::string planted_row(const std::string& head, const std::string& level, const std::string& finding,
                        const std::string& context, const Pooled& of) {
    return head + level + "," + csv_cell(finding) + "," + csv_cell(context) + "," + std::to_string(of.n) +
           "," + std::to_string(of.queries) + "," + format_fixed(of.d(), 6) + "," +
           format_fixed(of.standard_error(), 6) + "," + std::to_string(of.simulated) + "\n";
}

}  // namespace

std::string csv_cell(const std::string& text) {
    if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
    return quoted + '"';
}

void write_table(Plan& plan, std::size_t d, const std::string& path) {
    const study::Dataset& dataset = plan.study().datasets[d];
    const DatasetShape& shape = plan.shape().datasets[d];
    const Subject& subject = plan.subject_of(d);
    const Images& images = plan.images(d);
    const std::vector<study::Label>& labels = plan.labels(d);
    const std::string context = plan.context_column(d);
    TextFile file(path);
    std::string line = csv_cell(dataset.columns.image);
    if (shape.patients) line += "," + csv_cell(dataset.columns.patient);
    if (shape.splits) line += "," + csv_cell(dataset.columns.split);
    if (!context.empty()) line += "," + csv_cell(context);
    for (const std::string& finding : subject.findings) line += "," + csv_cell(finding);
    file.append(line + "\n");
    for (std::int64_t row = 0; row < images.rows(); ++row) {
        const auto at = static_cast<std::size_t>(row);
        line = images.id(row);
        if (shape.patients) {
            line += ",";
            if (images.patient[at] >= 0) line += images.source_id + "-p" + std::to_string(images.patient[at]);
        }
        if (shape.splits) line += "," + std::string(name_of(images.split[at]));
        if (!context.empty()) {
            line += ",";
            if (images.context[at] >= 0)
                line += images.contexts.at(static_cast<std::size_t>(images.context[at]));
        }
        for (std::size_t f = 0; f < subject.findings.size(); ++f) {
            line += ",";
            line += text_of(labels[f * static_cast<std::size_t>(images.rows()) + at]);
        }
        file.append(line + "\n");
    }
    file.finish();
}

void write_boxes(Plan& plan, std::size_t d, const std::string& path) {
    const Images& images = plan.images(d);
    TextFile file(path);
    file.append("image_id,finding,x,y,width,height,image_width,image_height\n");
    const std::string size = std::to_string(image_size);
    for (const Evidence& evidence : plan.evidence(d)) {
        const std::string head =
            images.id(evidence.row) + "," + csv_cell(plan.regions(d)[evidence.region]) + ",";
        const Stream stream(plan.options().seed,
                            "box/" + plan.study().datasets[d].id + "/" + std::to_string(evidence.region),
                            static_cast<std::uint64_t>(evidence.row));
        if (stream.uniform(0) < blank_box_share) {
            file.append(head + ",,,," + size + "," + size + "\n");
            continue;
        }
        const std::uint64_t boxes = stream.uniform(1) < second_box_share ? 2 : 1;
        for (std::uint64_t b = 0; b < boxes; ++b) {
            // Sides of 32 to 287 pixels, wholly inside.
            const std::uint64_t width = 32 + stream.below(2 + 4 * b, 256),
                                height = 32 + stream.below(3 + 4 * b, 256);
            const std::uint64_t x = stream.below(4 + 4 * b, image_size - width);
            const std::uint64_t y = stream.below(5 + 4 * b, image_size - height);
            file.append(head + std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(width) +
                        "," + std::to_string(height) + "," + size + "," + size + "\n");
        }
    }
    file.finish();
}

std::string planted_rows(Plan& plan, std::size_t task, std::size_t encoder) {
    const study::Study& study = plan.study();
    const study::Task& of = study.tasks[task];
    const Subject& subject = plan.subject_of(of.datasets[0]);
    const Geometry& geometry = plan.geometry(of.datasets[0], encoder);
    const std::vector<CellCounts>& cells = plan.cells(task);
    const std::string head = csv_cell(of.id) + "," + csv_cell(study.encoders[encoder].id) + ",";
    std::string rows, finding_rows;
    Pooled all;
    for (std::size_t f = 0; f < of.findings.size(); ++f) {
        const std::string& finding = of.findings[f];
        const auto in_subject =
            static_cast<std::size_t>(std::ranges::find(subject.findings, finding) - subject.findings.begin());
        std::int64_t asked = 0;
        for (const CellCounts& cell : cells) asked += cell.finding == f ? cell.queries : 0;
        Pooled pooled;
        for (const CellCounts& cell : cells) {
            if (cell.finding != f) continue;
            const std::int64_t simulated =
                std::max(fewest_simulated, simulated_queries * cell.queries / asked);
            const Stream stream(plan.options().seed, "planted/" + head + finding + "/" + cell.context, 0);
            const Expected expected =
                simulate_cell(geometry, subject, in_subject, cell, study.op.k, simulated, stream);
            Pooled one;
            one.add(cell.n, cell.queries, simulated, expected.rate(), expected.standard_error());
            rows += planted_row(head, "cell", finding, cell.context, one);
            pooled.add(cell.n, cell.queries, simulated, expected.rate(), expected.standard_error());
        }
        if (asked == 0) continue;
        finding_rows += planted_row(head, "finding", finding, "", pooled);
        all.add(pooled.n, pooled.queries, pooled.simulated, pooled.d(), pooled.standard_error());
    }
    if (all.queries == 0) return {};
    return rows + finding_rows + planted_row(head, "task", "", "", all);
}

}  // namespace candor::synth
