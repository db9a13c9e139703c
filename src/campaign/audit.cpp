#include "candor/campaign/audit.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "candor/base/bytes.hpp"
#include "candor/base/hash.hpp"
#include "candor/base/sum.hpp"
#include "candor/base/text.hpp"
#include "candor/campaign/encoder_features.hpp"

namespace candor::campaign {

namespace {

constexpr std::size_t ids_named = 5;

/// Table rows of `dataset` that any task with `encoder` may use.
std::vector<TableRow> rows_in_use(const study::Study& study, const std::vector<study::Pool>& drafts,
                                  std::size_t encoder, std::size_t dataset) {
    std::set<TableRow> rows;
    for (std::size_t t = 0; t < drafts.size(); ++t) {
        if (std::ranges::find(study.tasks[t].encoders, encoder) == study.tasks[t].encoders.end()) continue;
        for (std::size_t i = 0; i < drafts[t].table_row.size(); ++i) {
            if (static_cast<std::size_t>(drafts[t].dataset[i]) == dataset)
                rows.insert(drafts[t].table_row[i]);
        }
    }
    return {rows.begin(), rows.end()};
}

/// Table rows of `dataset` that heads of any task with `encoder` may learn from.
std::set<TableRow> head_rows_in_use(const study::Study& study,
                                    const std::vector<std::vector<study::HeadRows>>& heads,
                                    std::size_t encoder, std::size_t dataset) {
    std::set<TableRow> rows;
    for (std::size_t t = 0; t < heads.size(); ++t) {
        if (std::ranges::find(study.tasks[t].encoders, encoder) == study.tasks[t].encoders.end()) continue;
        for (const study::HeadRows& draft : heads[t]) {
            if (draft.dataset != dataset) continue;
            rows.insert(draft.training.rows.begin(), draft.training.rows.end());
            rows.insert(draft.validation.rows.begin(), draft.validation.rows.end());
        }
    }
    return rows;
}

bool tasks_use(const study::Study& study, std::size_t encoder, std::size_t dataset) {
    return std::ranges::any_of(study.tasks, [&](const study::Task& task) {
        const std::vector<std::size_t> datasets = study::pool_datasets(study, task);
        return std::ranges::find(task.encoders, encoder) != task.encoders.end() &&
               std::ranges::find(datasets, dataset) != datasets.end();
    });
}

/// What one row's values amount to. A hash of 0 stands for a row that cannot be used.
struct RowSeen {
    bool bad = true;
    double norm = 0;
    std::uint64_t hash = 0;
};

/// Looks at `row` through `copy`, which is as long.
template <class T>
RowSeen look_at(std::span<const T> row, std::span<T> copy) {
    // 0 times a finite number is 0, times any other NaN; sums and maxima in lanes, so that they take vectors.
    constexpr std::size_t lanes = 16;
    T spoiled[lanes] = {}, largest[lanes] = {};
    const auto look = [&](std::size_t i, std::size_t lane) {
        const T value = row[i] + T{0};  // -0 becomes 0: they are equal and must hash alike
        copy[i] = value;
        const T magnitude = std::abs(value);
        spoiled[lane] += value * T{0};
        largest[lane] = largest[lane] < magnitude ? magnitude : largest[lane];
    };
    std::size_t i = 0;
    for (; i + lanes <= row.size(); i += lanes) {
        for (std::size_t lane = 0; lane < lanes; ++lane) look(i + lane, lane);
    }
    for (std::size_t lane = 0; i < row.size(); ++i, ++lane) look(i, lane);
    const bool finite = std::ranges::all_of(spoiled, [](T v) { return v == 0; });
    const bool zero = std::ranges::all_of(largest, [](T v) { return v == 0; });

    RowSeen seen;
    if (!finite || zero) return seen;
    seen.bad = false;
    seen.norm = norm(std::span<const T>(copy));
    const Digest value = digest(std::as_bytes(std::span<const T>(copy)));
    seen.hash = std::max<std::uint64_t>(value.high ^ value.low, 1);
    return seen;
}

/// Looks at `rows` of the file and takes the digest of all of it, both in one passage over the file.
template <class T>
std::vector<RowSeen> look_at_all(const store::FeatureFile& file, std::int64_t file_bytes,
                                 std::span<const FeatureRow> rows, std::string& file_digest) {
    std::vector<RowSeen> seen(rows.size());
    std::vector<T> copy(static_cast<std::size_t>(file.dimension()));
    FileDigest whole(file.path());
    file.visit(rows, [&](std::int64_t i, std::span<const T> row) {
        const auto at = static_cast<std::size_t>(i);
        seen[at] = look_at(row, std::span<T>(copy));
        const double share = static_cast<double>(rows[at].value) / static_cast<double>(file.rows());
        whole.advance_to(static_cast<std::int64_t>(share * static_cast<double>(file_bytes)));
    });
    file_digest = whole.finish().hex();
    return seen;
}

std::string type_name(store::ElementType type) {
    switch (type) {
        case store::ElementType::float16:
            return "float16";
        case store::ElementType::float32:
            return "float32";
        case store::ElementType::float64:
            return "float64";
    }
    return {};
}

/// A report with the table rows it speaks of, as it travels between ranks.
struct FileAudit {
    FeatureReport report;
    std::vector<std::int64_t> missing_rows, bad_rows;  // table rows in use
};

/// @param pool_rows  what the reports and hashes are of. @param head_rows  looked at for faults alone
FileAudit audit_file(const Inputs& inputs, EncoderFeatures& features, std::size_t dataset,
                     const std::vector<TableRow>& pool_rows, std::set<TableRow> head_rows,
                     std::vector<std::uint64_t>& hashes) {
    const study::Table& table = inputs.tables[dataset];
    const store::FeatureFile& file = features.file(dataset);
    const Join& join = features.join(dataset);

    FileAudit audit;
    FeatureReport& report = audit.report;
    report.encoder = inputs.study.encoders[features.encoder()].id;
    report.dataset = inputs.study.datasets[dataset].id;
    report.type = type_name(file.type());
    report.rows = file.rows();
    report.dimension = file.dimension();
    report.by_position = join.by_position;
    report.extra = join.extra;
    report.missing = std::ranges::count(join.feature_row, -1);
    report.file = {file.path(),
                   static_cast<std::int64_t>(std::filesystem::file_size(file.path())),
                   {},
                   modified_at(file.path())};

    std::vector<FeatureRow> present;
    std::vector<std::int64_t> present_rows;
    std::vector<bool> of_pool;
    head_rows.insert(pool_rows.begin(), pool_rows.end());
    for (const TableRow row : head_rows) {
        const bool in_pool = std::ranges::binary_search(pool_rows, row);
        const std::int64_t at = join.feature_row[static_cast<std::size_t>(row.value)];
        if (at >= 0) {
            present.push_back(FeatureRow(at));
            present_rows.push_back(row.value);
            of_pool.push_back(in_pool);
            continue;
        }
        audit.missing_rows.push_back(row.value);
        if (in_pool && report.missing_ids.size() < ids_named) {
            report.missing_ids.push_back(table.image[static_cast<std::size_t>(row.value)]);
        }
    }

    const std::vector<RowSeen> seen =
        file.type() == store::ElementType::float64
            ? look_at_all<double>(file, report.file.bytes, present, report.file.digest)
            : look_at_all<float>(file, report.file.bytes, present, report.file.digest);
    hashes.assign(static_cast<std::size_t>(table.rows()), 0);
    report.norm_low = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < seen.size(); ++i) {
        const std::int64_t row = present_rows[i];
        if (!of_pool[i]) {
            if (seen[i].bad) audit.bad_rows.push_back(row);
            continue;
        }
        hashes[static_cast<std::size_t>(row)] = seen[i].hash;
        if (!seen[i].bad) {
            report.norm_low = std::min(report.norm_low, seen[i].norm);
            report.norm_high = std::max(report.norm_high, seen[i].norm);
            continue;
        }
        audit.bad_rows.push_back(row);
        if (report.bad++ == 0) report.first_bad_row = present[i].value;
        if (report.bad_ids.size() < ids_named)
            report.bad_ids.push_back(table.image[static_cast<std::size_t>(row)]);
    }
    return audit;
}

void put_texts(ByteWriter& out, const std::vector<std::string>& texts) {
    out.put(static_cast<std::int64_t>(texts.size()));
    for (const std::string& text : texts) out.put(text);
}

std::vector<std::string> get_texts(ByteReader& in) {
    std::vector<std::string> texts(static_cast<std::size_t>(in.get<std::int64_t>()));
    for (std::string& text : texts) text = in.get_text();
    return texts;
}

void put_audit(ByteWriter& out, std::size_t encoder, std::size_t dataset, const FileAudit& audit) {
    const FeatureReport& r = audit.report;
    out.put(encoder);
    out.put(dataset);
    for (const std::string& text : {r.encoder, r.dataset, r.type, r.file.path, r.file.digest}) out.put(text);
    for (const std::int64_t n :
         {r.file.bytes, r.file.modified, r.rows, r.dimension, r.missing, r.extra, r.bad, r.first_bad_row})
        out.put(n);
    out.put(r.by_position);
    out.put(r.norm_low);
    out.put(r.norm_high);
    put_texts(out, r.missing_ids);
    put_texts(out, r.bad_ids);
    out.put(std::span<const std::int64_t>(audit.missing_rows));
    out.put(std::span<const std::int64_t>(audit.bad_rows));
}

FileAudit get_audit(ByteReader& in) {
    FileAudit audit;
    FeatureReport& r = audit.report;
    for (std::string* text : {&r.encoder, &r.dataset, &r.type, &r.file.path, &r.file.digest})
        *text = in.get_text();
    for (std::int64_t* n : {&r.file.bytes, &r.file.modified, &r.rows, &r.dimension, &r.missing, &r.extra,
                            &r.bad, &r.first_bad_row}) {
        *n = in.get<std::int64_t>();
    }
    r.by_position = in.get<bool>();
    r.norm_low = in.get<double>();
    r.norm_high = in.get<double>();
    r.missing_ids = get_texts(in);
    r.bad_ids = get_texts(in);
    audit.missing_rows = in.get_many<std::int64_t>();
    audit.bad_rows = in.get_many<std::int64_t>();
    return audit;
}

/// Flags the draft rows of every task with this encoder whose (dataset, table row) is named.
void flag(const study::Study& study, const std::vector<study::Pool>& drafts, std::size_t encoder,
          std::size_t dataset, const std::vector<std::int64_t>& rows,
          std::vector<bool> study::FeatureFaults::*which, std::vector<study::FeatureFaults>& faults) {
    if (rows.empty()) return;
    const std::set<std::int64_t> named(rows.begin(), rows.end());
    for (std::size_t t = 0; t < drafts.size(); ++t) {
        if (std::ranges::find(study.tasks[t].encoders, encoder) == study.tasks[t].encoders.end()) continue;
        std::vector<bool>& flags = faults[t].*which;
        flags.resize(drafts[t].table_row.size());
        for (std::size_t i = 0; i < flags.size(); ++i) {
            if (static_cast<std::size_t>(drafts[t].dataset[i]) != dataset) continue;
            if (named.contains(drafts[t].table_row[i].value)) flags[i] = true;
        }
    }
}

/// The same of the rows that heads learn from.
void flag_head_rows(const study::Study& study, const std::vector<std::vector<study::HeadRows>>& heads,
                    std::size_t encoder, std::size_t dataset, const std::vector<std::int64_t>& rows,
                    std::vector<bool> study::FeatureFaults::*which,
                    std::vector<std::vector<FeatureAudit::HeadFaults>>& faults) {
    if (rows.empty()) return;
    const std::set<std::int64_t> named(rows.begin(), rows.end());
    const auto flag_side = [&](const study::HeadSide& side, study::FeatureFaults& of_side) {
        std::vector<bool>& flags = of_side.*which;
        flags.resize(side.rows.size());
        for (std::size_t i = 0; i < flags.size(); ++i) {
            if (named.contains(side.rows[i].value)) flags[i] = true;
        }
    };
    for (std::size_t t = 0; t < heads.size(); ++t) {
        if (std::ranges::find(study.tasks[t].encoders, encoder) == study.tasks[t].encoders.end()) continue;
        for (std::size_t d = 0; d < heads[t].size(); ++d) {
            if (heads[t][d].dataset != dataset) continue;
            flag_side(heads[t][d].training, faults[t][d].training);
            flag_side(heads[t][d].validation, faults[t][d].validation);
        }
    }
}

}  // namespace

std::vector<std::int64_t> FeatureAudit::dimensions(const study::Study& study) const {
    std::map<std::string, std::int64_t> by_id;
    for (const FeatureReport& report : reports) by_id.emplace(report.encoder, report.dimension);
    std::vector<std::int64_t> dimensions;
    for (const study::Encoder& encoder : study.encoders) {
        const auto at = by_id.find(encoder.id);
        dimensions.push_back(at == by_id.end() ? 0 : at->second);
    }
    return dimensions;
}

std::vector<DataError> FeatureAudit::problems(const study::Study& study) const {
    std::vector<DataError> found;
    for (const FeatureReport& r : reports) {
        if (!r.missing_ids.empty() && !study.pool.intersect_missing) {
            found.emplace_back(
                Place{r.file.path},
                "lacks features of images that a task uses, first " + first_names(r.missing_ids),
                "add them, or set [pool] on_missing = \"intersect\" to leave those images out of every "
                "encoder");
        }
        if (r.bad > 0 && !study.pool.drop_bad_rows) {
            found.emplace_back(
                Place{r.file.path, r.first_bad_row},
                std::to_string(r.bad) + " rows hold NaN or Inf or are all zero, first " +
                    first_names(r.bad_ids),
                "mend them, or set [pool] on_bad_row = \"drop\" to leave those images out of every "
                "encoder");
        }
    }
    return found;
}

FeatureAudit audit_features_mpi(const parallel::Communicator& world, const Inputs& inputs,
                                const std::vector<study::Pool>& drafts,
                                const std::vector<std::vector<study::HeadRows>>& heads,
                                parallel::StopRequest& stop) {
    const study::Study& study = inputs.study;
    FeatureAudit audit;
    ByteWriter mine;
    for (std::size_t encoder = 0; encoder < study.encoders.size(); ++encoder) {
        if (static_cast<int>(encoder % static_cast<std::size_t>(world.size())) != world.rank()) continue;
        EncoderFeatures features(inputs, encoder);
        for (std::size_t dataset = 0; dataset < study.datasets.size(); ++dataset) {
            if (!tasks_use(study, encoder, dataset)) continue;
            if (stop.requested()) break;
            put_audit(
                mine, encoder, dataset,
                audit_file(inputs, features, dataset, rows_in_use(study, drafts, encoder, dataset),
                           head_rows_in_use(study, heads, encoder, dataset), audit.hashes[encoder][dataset]));
        }
    }

    stop.rendezvous();
    audit.faults.resize(drafts.size());
    for (const std::vector<study::HeadRows>& of_task : heads) audit.head_faults.emplace_back(of_task.size());
    std::map<std::pair<std::size_t, std::size_t>, FeatureReport> ordered;
    for (const std::string& bytes : world.all_gather(mine.take())) {
        ByteReader in(bytes);
        while (!in.done()) {
            const auto encoder = in.get<std::size_t>();
            const auto dataset = in.get<std::size_t>();
            FileAudit file = get_audit(in);
            flag(study, drafts, encoder, dataset, file.missing_rows, &study::FeatureFaults::missing,
                 audit.faults);
            flag(study, drafts, encoder, dataset, file.bad_rows, &study::FeatureFaults::bad, audit.faults);
            flag_head_rows(study, heads, encoder, dataset, file.missing_rows, &study::FeatureFaults::missing,
                           audit.head_faults);
            flag_head_rows(study, heads, encoder, dataset, file.bad_rows, &study::FeatureFaults::bad,
                           audit.head_faults);
            ordered.emplace(std::pair(encoder, dataset), std::move(file.report));
        }
    }
    for (auto& [place, report] : ordered) audit.reports.push_back(std::move(report));
    return audit;
}

std::vector<Duplicates> find_duplicates_mpi(const parallel::Communicator& world, const Inputs& inputs,
                                            const FeatureAudit& audit, const std::vector<TaskWork>& work) {
    const study::Study& study = inputs.study;
    ByteWriter mine;
    for (std::size_t w = 0; w < work.size(); ++w) {
        const study::Task& task = study.tasks[work[w].task];
        const study::Pool& pool = work[w].pool;
        for (std::size_t e = 0; e < task.encoders.size(); ++e) {
            const auto hashes = audit.hashes.find(task.encoders[e]);
            if (hashes == audit.hashes.end()) continue;
            std::map<std::pair<std::int32_t, std::uint64_t>, std::vector<std::size_t>> groups;
            for (std::size_t i = 0; i < pool.table_row.size(); ++i) {
                // An image of a dataset and of its reference is one image, and no duplicate of itself.
                if (pool.identity[i].value != static_cast<std::int64_t>(i)) continue;
                const auto& of_dataset = hashes->second.at(static_cast<std::size_t>(pool.dataset[i]));
                groups[{pool.context[i], of_dataset[static_cast<std::size_t>(pool.table_row[i].value)]}]
                    .push_back(i);
            }
            Duplicates found{task.id, study.encoders[task.encoders[e]].id, 0, 0, {}, {}, {}};
            found.within_label.resize(task.findings.size());
            found.across_labels.resize(task.findings.size());
            for (const auto& [place, rows] : groups) {
                if (rows.size() < 2) continue;
                ++found.groups;
                found.rows += static_cast<std::int64_t>(rows.size()) - 1;
                for (std::size_t i = 0; found.groups == 1 && i < std::min(rows.size(), ids_named); ++i) {
                    const auto dataset = static_cast<std::size_t>(pool.dataset[rows[i]]);
                    found.first_ids.push_back(
                        inputs.tables[dataset]
                            .image[static_cast<std::size_t>(pool.table_row[rows[i]].value)]);
                }
                for (std::size_t f = 0; f < task.findings.size(); ++f) {
                    std::int64_t count[2] = {0, 0};
                    for (const std::size_t row : rows) {
                        if (pool.labels[f][row] >= 0) ++count[pool.labels[f][row]];
                    }
                    found.across_labels[f] += count[0] > 0 && count[1] > 0;
                    found.within_label[f] +=
                        (count[0] > 1 && count[1] == 0) || (count[1] > 1 && count[0] == 0);
                }
            }
            mine.put(w);
            mine.put(e);
            mine.put(found.rows);
            mine.put(found.groups);
            mine.put(std::span<const std::int64_t>(found.within_label));
            mine.put(std::span<const std::int64_t>(found.across_labels));
            put_texts(mine, found.first_ids);
        }
    }
    std::map<std::pair<std::size_t, std::size_t>, Duplicates> ordered;
    for (const std::string& bytes : world.all_gather(mine.take())) {
        ByteReader in(bytes);
        while (!in.done()) {
            const auto w = in.get<std::size_t>();
            const auto e = in.get<std::size_t>();
            const study::Task& task = study.tasks[work[w].task];
            Duplicates found{task.id, study.encoders[task.encoders[e]].id, 0, 0, {}, {}, {}};
            found.rows = in.get<std::int64_t>();
            found.groups = in.get<std::int64_t>();
            found.within_label = in.get_many<std::int64_t>();
            found.across_labels = in.get_many<std::int64_t>();
            found.first_ids = get_texts(in);
            ordered.emplace(std::pair(w, e), std::move(found));
        }
    }
    std::vector<Duplicates> all;
    for (auto& [place, found] : ordered) all.push_back(std::move(found));
    return all;
}

}  // namespace candor::campaign
