#include "candor/synth/images.hpp"

#include <algorithm>

#include "candor/base/error.hpp"
#include "candor/base/random.hpp"
#include "candor/base/text.hpp"

namespace candor::synth {

namespace {

constexpr double patient_start = 0.6;  // a row begins a new patient: 1.7 images each
constexpr double single_prevalence = 0.30, rarest = 0.05, commonest = 0.30;
constexpr std::int64_t rows_a_kind = 40;  // fewer images, fewer kinds among them, so that each can be scored

/// What is drawn for one row, by number of its stream.
enum Draw : std::uint64_t {
    starts_patient,
    blank_patient,
    splits,
    twins,
    in_context,
    has_no_context,
    is_kind,
    finding_0
};

std::int16_t draw_context(const Stream& stream, std::size_t values) {
    if (values == 0) return 0;
    if (stream.uniform(has_no_context) < blank_context_share) return -1;
    // 1/2, 1/4, ... of the images, the last value as often as the one before.
    double rest = stream.uniform(in_context);
    std::int16_t at = 0;
    while (at + 1 < static_cast<std::int16_t>(values) && rest < 0.5) {
        rest *= 2;
        ++at;
    }
    return at;
}

Split draw_split(const Stream& patient) {
    const double u = patient.uniform(splits);
    return u < train_share ? Split::train : u < train_share + val_share ? Split::val : Split::test;
}

void copy_row(Images& images, std::int64_t row) {
    const auto from = static_cast<std::size_t>(row - 1);
    images.patient.push_back(images.patient[from]);
    images.split.push_back(images.split[from]);
    images.context.push_back(images.context[from]);
    images.present.push_back(images.present[from]);
    images.kind.push_back(images.kind[from]);
}

void draw_own(Images& images, const Subject& subject, const DatasetShape& shape, std::int64_t rows,
              std::uint64_t seed) {
    const std::string purpose = "image/" + shape.id;
    images.contexts = shape.values;
    if (subject.exclusive) {
        const auto all = static_cast<std::int64_t>(subject.findings.size());
        images.kinds = std::min(all, std::max(classes_a_superclass, rows / rows_a_kind));
        for (std::int64_t at = 0; at < images.kinds; at += classes_a_superclass) {
            images.contexts.push_back("group-" + std::to_string(at / classes_a_superclass + 1));
        }
    } else {
        CANDOR_REQUIRE(subject.findings.size() <= 64, std::to_string(subject.findings.size()));
    }
    std::int64_t patient = -1;
    bool unnamed = false;
    Split split = Split::train;
    for (std::int64_t row = 0; row < rows; ++row) {
        const Stream stream(seed, purpose, static_cast<std::uint64_t>(row));
        images.source_row.push_back(row);
        const double twin = stream.uniform(twins);
        if (row % 2 == 1 && twin < 2 * twin_share) {
            images.twin.push_back(twin < twin_share ? Twin::exact : Twin::near);
            copy_row(images, row);
            continue;
        }
        images.twin.push_back(Twin::none);
        if (row == 0 || !shape.patients || stream.uniform(starts_patient) < patient_start) {
            ++patient;
            unnamed = stream.uniform(blank_patient) < blank_patient_share;
            split = draw_split(stream);
        }
        images.patient.push_back(unnamed || !shape.patients ? -1 : patient);
        images.split.push_back(split);
        std::uint64_t present = 0;
        std::int32_t kind = -1;
        if (subject.exclusive) {
            kind = static_cast<std::int32_t>(stream.below(is_kind, static_cast<std::uint64_t>(images.kinds)));
            images.context.push_back(static_cast<std::int16_t>(kind / classes_a_superclass));
        } else {
            for (std::size_t f = 0; f < subject.findings.size(); ++f) {
                present |= std::uint64_t{stream.uniform(finding_0 + f) < prevalence(subject, f)} << f;
            }
            images.context.push_back(draw_context(stream, shape.values.size()));
        }
        images.present.push_back(present);
        images.kind.push_back(kind);
    }
}

/// The first rows of `reference` that suit, in its order.
void take_described(Images& images, const Subject& subject, const DatasetShape& shape, std::int64_t rows,
                    std::uint64_t seed, const Images& reference, std::span<const std::size_t> asked) {
    images.source = reference.dataset;
    images.source_id = reference.source_id;
    images.contexts = reference.contexts;
    images.kinds = reference.kinds;
    for (std::int64_t row = 0; row < reference.rows() && images.rows() < rows; ++row) {
        const auto at = static_cast<std::size_t>(row);
        const bool paired = reference.twin[at] != Twin::none ||
                            (row + 1 < reference.rows() && reference.twin[at + 1] != Twin::none);
        const bool positive = std::ranges::any_of(asked, [&](std::size_t f) {
            return stated_label(reference, subject, shape, row, f, seed) == study::Label::positive;
        });
        if (paired || !positive || reference.context[at] < 0) continue;
        images.source_row.push_back(row);
        images.patient.push_back(reference.patient[at]);
        images.split.push_back(reference.split[at]);
        images.context.push_back(reference.context[at]);
        images.twin.push_back(Twin::none);
        images.present.push_back(reference.present[at]);
        images.kind.push_back(reference.kind[at]);
    }
}

}  // namespace

std::string_view name_of(Split split) {
    constexpr std::string_view names[] = {"train", "val", "test"};
    return names[static_cast<std::size_t>(split)];
}

std::string Images::id(std::int64_t row) const {
    const std::string number = std::to_string(source_row[static_cast<std::size_t>(row)]);
    return source_id + "-" + std::string(8 - std::min<std::size_t>(8, number.size()), '0') + number;
}

double prevalence(const Subject& subject, std::size_t finding) {
    const std::size_t findings = subject.findings.size();
    if (subject.exclusive || findings == 1) return single_prevalence;
    // Steps of 7 mix rare findings with common ones, so that neither the first nor the last are all rare.
    const auto step = static_cast<double>(7 * finding % findings);
    return rarest + (commonest - rarest) * step / static_cast<double>(findings - 1);
}

study::Label stated_label(const Images& images, const Subject& subject, const DatasetShape& shape,
                          std::int64_t row, std::size_t finding, std::uint64_t seed) {
    const auto at = static_cast<std::size_t>(row);
    if (std::ranges::find(shape.unknown, subject.findings[finding]) != shape.unknown.end()) {
        return study::Label::blank;
    }
    if (images.twin[at] != Twin::none) return stated_label(images, subject, shape, row - 1, finding, seed);
    if (subject.exclusive) {
        return images.kind[at] == static_cast<std::int32_t>(finding) ? study::Label::positive
                                                                     : study::Label::negative;
    }
    const Stream stream(seed, "label/" + images.source_id, static_cast<std::uint64_t>(images.source_row[at]));
    const double u = stream.uniform(finding);
    if (u < uncertain_share) return study::Label::uncertain;
    if (u < uncertain_share + blank_share) return study::Label::blank;
    return images.present[at] >> finding & 1 ? study::Label::positive : study::Label::negative;
}

Images draw_images(const Subject& subject, const DatasetShape& shape, std::size_t dataset, std::int64_t rows,
                   std::uint64_t seed, const Images* reference, std::span<const std::size_t> asked) {
    Images images;
    images.dataset = images.source = dataset;
    images.source_id = shape.id;
    images.has_splits = shape.splits;
    if (shape.describes_reference) {
        CANDOR_REQUIRE(reference != nullptr, shape.id);
        take_described(images, subject, shape, rows, seed, *reference, asked);
    } else {
        draw_own(images, subject, shape, rows, seed);
    }
    return images;
}

}  // namespace candor::synth
