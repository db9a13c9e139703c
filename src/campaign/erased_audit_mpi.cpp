#include "candor/campaign/erased_audit_mpi.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "candor/base/bytes.hpp"
#include "candor/base/hash.hpp"
#include "candor/base/text.hpp"
#include "candor/campaign/encoder_features.hpp"
#include "candor/parallel/session.hpp"
#include "candor/store/input_file.hpp"

namespace candor::campaign {

namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

bool holds(const std::vector<std::size_t>& positions, std::size_t wanted) {
    return std::ranges::find(positions, wanted) != positions.end();
}

bool tasks_use(const study::Study& study, std::size_t encoder, std::size_t dataset) {
    return std::ranges::any_of(study.tasks, [&](const study::Task& task) {
        return holds(task.encoders, encoder) && holds(task.datasets, dataset);
    });
}

bool is_bad(std::span<const double> row) {
    return std::ranges::any_of(row, [](double v) { return !std::isfinite(v); }) ||
           std::ranges::all_of(row, [](double v) { return v == 0; });
}
using Region = std::pair<std::int64_t, std::string>;  // table row, region

/// An erased file with the regions of those table rows that a task may use.
struct FileAudit {
    ErasedReport report;
    std::map<Region, bool> bad;  // every region there is, and whether its row is spoilt
};

/// Table rows of `dataset` that ask in some task with `encoder`.
std::set<std::int64_t> rows_in_use(const study::Study& study, const std::vector<study::Pool>& drafts,
                                   std::size_t encoder, std::size_t dataset) {
    std::set<std::int64_t> rows;
    for (std::size_t t = 0; t < drafts.size(); ++t) {
        if (!holds(study.tasks[t].encoders, encoder)) continue;
        for (std::size_t i = 0; i < drafts[t].table_row.size(); ++i) {
            if (static_cast<std::size_t>(drafts[t].dataset[i]) == dataset && drafts[t].asks[i])
                rows.insert(drafts[t].table_row[i].value);
        }
    }
    return rows;
}

FileAudit audit_file(const Inputs& inputs, EncoderFeatures& features, std::size_t dataset,
                     const std::set<std::int64_t>& in_use) {
    const study::Study& study = inputs.study;
    const study::Table& table = inputs.tables[dataset];
    const store::FeatureFile file = open_erased(study, features.encoder(), dataset);
    const store::FeatureFile& whole = features.file(dataset);
    if (file.dimension() != whole.dimension()) {
        throw DataError({file.path()},
                        "has " + std::to_string(file.dimension()) + " columns where " + whole.path() +
                            " has " + std::to_string(whole.dimension()),
                        "the erased images must be embedded by the same encoder");
    }
    FileAudit audit;
    audit.report.encoder = study.encoders[features.encoder()].id;
    audit.report.dataset = study.datasets[dataset].id;
    audit.report.rows = file.rows();
    audit.report.dimension = file.dimension();
    const std::int64_t modified = modified_at(file.path());
    audit.report.file = {file.path(), static_cast<std::int64_t>(std::filesystem::file_size(file.path())),
                         digest_file(file.path()).hex(), modified};

    const std::unordered_set<std::string_view> known(table.image.begin(), table.image.end());
    for (const std::string& id : file.ids()) audit.report.unknown += !known.contains(id);
    std::unordered_map<std::string_view, std::int64_t> place;
    for (const std::int64_t row : in_use) place.emplace(table.image[static_cast<std::size_t>(row)], row);
    std::vector<FeatureRow> wanted;
    std::vector<Region> regions;
    for (std::size_t i = 0; i < file.ids().size(); ++i) {
        const auto at = place.find(file.ids()[i]);
        if (at == place.end()) continue;
        wanted.emplace_back(static_cast<std::int64_t>(i));
        regions.emplace_back(at->second, file.findings()[i]);
    }
    file.visit(wanted, [&](std::int64_t i, std::span<const double> row) {
        audit.bad.emplace(regions[static_cast<std::size_t>(i)], is_bad(row));
    });
    return audit;
}

void put_audit(ByteWriter& out, std::size_t encoder, std::size_t dataset, const FileAudit& audit) {
    const ErasedReport& r = audit.report;
    out.put(encoder);
    out.put(dataset);
    for (const std::string& text : {r.encoder, r.dataset, r.file.path, r.file.digest}) out.put(text);
    for (const std::int64_t n : {r.file.bytes, r.file.modified, r.rows, r.dimension, r.unknown}) out.put(n);
    out.put(static_cast<std::int64_t>(audit.bad.size()));
    for (const auto& [region, bad] : audit.bad) {
        out.put(region.first);
        out.put(region.second);
        out.put(bad);
    }
}

FileAudit get_audit(ByteReader& in) {
    FileAudit audit;
    ErasedReport& r = audit.report;
    for (std::string* text : {&r.encoder, &r.dataset, &r.file.path, &r.file.digest}) *text = in.get_text();
    for (std::int64_t* n : {&r.file.bytes, &r.file.modified, &r.rows, &r.dimension, &r.unknown})
        *n = in.get<std::int64_t>();
    for (auto left = in.get<std::int64_t>(); left > 0; --left) {
        const auto row = in.get<std::int64_t>();
        std::string region = in.get_text();
        audit.bad.emplace(Region(row, std::move(region)), in.get<bool>());
    }
    return audit;
}

using FileAudits = std::map<std::pair<std::size_t, std::size_t>, FileAudit>;  // by encoder, dataset
/// Regions that a file lacks or has spoilt, each once however many tasks use it.
using FileFaults = std::map<std::pair<std::size_t, std::size_t>, std::set<Region>>;

struct Faults {
    FileFaults missing, bad;
};

/// One task's regions of one dataset, sorted into those that are used and those that are counted.
class TaskAudit {
  public:
    TaskAudit(const study::Study& study, const study::Task& task, const study::Pool& draft)
        : study_(study), task_(task), draft_(draft) {}

    void add_dataset(std::size_t dataset, const FileAudits& files, Faults& faults) {
        std::map<std::int64_t, std::size_t> draft_row;
        for (std::size_t i = 0; i < draft_.table_row.size(); ++i) {
            if (static_cast<std::size_t>(draft_.dataset[i]) == dataset && draft_.asks[i])
                draft_row.emplace(draft_.table_row[i].value, i);
        }
        std::set<Region> stated;
        for (const std::size_t e : task_.encoders) {
            for (const auto& [region, bad] : files.at({e, dataset}).bad) {
                if (draft_row.contains(region.first)) stated.insert(region);
            }
        }
        for (const Region& region : stated) {
            const std::size_t row = draft_row.at(region.first);
            const auto finding = finding_of(task_, region.second);
            if (finding && draft_.labels[*finding][row] != 1) {
                leave_out(dataset, "erased features of an image that is not positive", region);
                continue;
            }
            bool missing = false, bad = false;
            for (const std::size_t e : task_.encoders) {
                const auto& here = files.at({e, dataset}).bad;
                const auto at = here.find(region);
                if (at == here.end()) faults.missing[{e, dataset}].insert(region);
                if (at != here.end() && at->second) faults.bad[{e, dataset}].insert(region);
                missing = missing || at == here.end();
                bad = bad || (at != here.end() && at->second);
            }
            if (missing || bad) {
                leave_out(dataset, missing ? "missing erased features" : "bad erased features", region);
            } else {
                used_.emplace_back(region.second, row);
            }
        }
        stated_[dataset] = std::move(stated);
    }

    /// Boxes of the dataset whose image asks, and is positive where that matters, but was not erased.
    void note_boxes(std::size_t dataset, const study::Boxes& boxes, std::vector<std::string>& notes) const {
        std::map<std::string, std::int64_t> without;
        for (std::size_t i = 0; i < draft_.table_row.size(); ++i) {
            if (static_cast<std::size_t>(draft_.dataset[i]) != dataset || !draft_.asks[i]) continue;
            for (auto at = boxes.area.lower_bound({draft_.image[i], ""});
                 at != boxes.area.end() && at->first.first == draft_.image[i]; ++at) {
                const std::string& region = at->first.second;
                const auto finding = finding_of(task_, region);
                if (finding && draft_.labels[*finding][i] != 1) continue;
                without[region] += !stated_.at(dataset).contains({draft_.table_row[i].value, region});
            }
        }
        for (const auto& [region, count] : without) {
            if (count == 0) continue;
            notes.push_back("task \"" + task_.id + "\": " + std::to_string(count) +
                            " evidence boxes of dataset \"" + study_.datasets[dataset].id + "\" (" + region +
                            ") have no erased features");
        }
        if (boxes.file.empty()) return;
        std::int64_t used = 0, boxed = 0;
        for (const auto& [region, row] : used_) {
            if (static_cast<std::size_t>(draft_.dataset[row]) != dataset) continue;
            ++used;
            boxed += boxes.area.contains({draft_.image[row], region});
        }
        if (boxed == used) return;
        notes.push_back("task \"" + task_.id + "\": " + std::to_string(used - boxed) + " of " +
                        std::to_string(used) + " erased regions of dataset \"" + study_.datasets[dataset].id +
                        "\" have no evidence box");
    }

    TaskErased take(std::vector<std::string>& notes) {
        TaskErased out;
        std::set<std::string> regions;
        for (const auto& [region, row] : used_) regions.insert(region);
        for (const std::string& finding : task_.findings) {
            if (regions.erase(finding) > 0) out.regions.push_back(finding);
        }
        out.regions.insert(out.regions.end(), regions.begin(), regions.end());
        for (const auto& [region, row] : used_) {
            const auto at = std::ranges::find(out.regions, region) - out.regions.begin();
            out.rows.push_back({static_cast<std::size_t>(draft_.dataset[row]), draft_.table_row[row],
                                static_cast<std::size_t>(at)});
        }
        // `used_` is by dataset; the pool's order runs through all of them.
        std::map<std::pair<std::size_t, std::int64_t>, std::size_t> place;
        for (const auto& [region, row] : used_) {
            place.emplace(
                std::pair(static_cast<std::size_t>(draft_.dataset[row]), draft_.table_row[row].value), row);
        }
        std::ranges::sort(out.rows, {}, [&](const ErasedRow& r) {
            return std::tuple(r.region, place.at({r.dataset, r.row.value}));
        });
        std::ranges::sort(left_out_, {}, [](const LeftOut& one) {
            return std::tie(one.dataset, one.what, one.region, one.row.value);
        });
        out.left_out = std::move(left_out_);
        if (!stated_.empty() && out.rows.empty()) {
            notes.push_back("task \"" + task_.id + "\": none of its erased rows can be used");
        }
        return out;
    }

  private:
    void leave_out(std::size_t dataset, const std::string& what, const Region& region) {
        left_out_.push_back({dataset, what, region.second, TableRow(region.first)});
    }

    const study::Study& study_;
    const study::Task& task_;
    const study::Pool& draft_;
    std::vector<std::pair<std::string, std::size_t>> used_;  // region, draft row
    std::map<std::size_t, std::set<Region>> stated_;         // by dataset
    std::vector<LeftOut> left_out_;
};

/// The boxes of every dataset that a task uses; notes of what they do not say.
void read_boxes(const parallel::Communicator& world, const Inputs& inputs, ErasedAudit& audit) {
    audit.boxes.resize(inputs.study.datasets.size());
    for (std::size_t d = 0; d < audit.boxes.size(); ++d) {
        const std::string& path = inputs.study.datasets[d].boxes;
        const bool used = std::ranges::any_of(
            inputs.study.tasks, [&](const study::Task& task) { return holds(task.datasets, d); });
        if (path.empty() || !used) continue;
        const std::string bytes = parallel::on_root(world, [&] { return store::read_whole_file(path); });
        audit.files.push_back({path, static_cast<std::int64_t>(bytes.size()),
                               digest(std::as_bytes(std::span<const char>(bytes))).hex()});
        audit.boxes[d] = study::parse_boxes(path, bytes);
        if (audit.boxes[d].without > 0) {
            audit.notes.push_back(path + ": " + std::to_string(audit.boxes[d].without) +
                                  " rows say that there is no box");
        }
        const std::vector<std::string>& known = inputs.tables[d].image;
        const std::unordered_set<std::string_view> images(known.begin(), known.end());
        std::set<std::string> unknown;
        for (const auto& [region, area] : audit.boxes[d].area) {
            if (!images.contains(region.first)) unknown.insert(region.first);
        }
        if (!unknown.empty()) {
            audit.notes.push_back(path + ": its table does not know the images " +
                                  first_names(std::vector<std::string>(unknown.begin(), unknown.end())));
        }
    }
}

void fill_faults(const Inputs& inputs, FileAudits& files, const Faults& faults) {
    for (auto& [place, file] : files) {
        const auto image = [&](const Region& region) {
            return std::pair(inputs.tables[place.second].image[static_cast<std::size_t>(region.first)],
                             region.second);
        };
        if (const auto at = faults.missing.find(place); at != faults.missing.end()) {
            file.report.missing = std::ssize(at->second);
            file.report.first_missing = image(*at->second.begin());
        }
        if (const auto at = faults.bad.find(place); at != faults.bad.end()) {
            file.report.bad = std::ssize(at->second);
            file.report.first_bad = image(*at->second.begin());
        }
    }
}
}  // namespace

std::optional<std::size_t> finding_of(const study::Task& task, const std::string& region) {
    const auto at = std::ranges::find(task.findings, region);
    if (at == task.findings.end()) return std::nullopt;
    return static_cast<std::size_t>(at - task.findings.begin());
}

store::FeatureFile open_erased(const study::Study& study, std::size_t encoder, std::size_t dataset) {
    const std::string path = study.datasets[dataset].erased_of(study.encoders[encoder].id);
    store::FeatureFile file(path);
    const std::string remedy =
        "an erased file names the image and the region of each row; write both with candor import";
    if (!file.has_ids()) throw DataError({path}, "has no /image_id", remedy);
    if (file.findings().empty()) throw DataError({path}, "has no /finding", remedy);
    for (std::size_t i = 0; i < file.findings().size(); ++i) {
        if (!trim(file.findings()[i]).empty()) continue;
        throw DataError({path, static_cast<std::int64_t>(i), {}, file.ids()[i]}, "the region is blank",
                        "name the region that was erased");
    }
    return file;
}

std::vector<DataError> ErasedAudit::problems(const study::Study& study) const {
    std::vector<DataError> found;
    for (const ErasedReport& r : reports) {
        if (r.missing > 0 && !study.pool.intersect_missing) {
            found.emplace_back(
                Place{r.file.path, {}, {}, r.first_missing.first},
                "lacks region \"" + r.first_missing.second +
                    "\" of this image, which another encoder of the task has; it lacks " +
                    std::to_string(r.missing) + " in all",
                "add them, or set [pool] on_missing = \"intersect\" to leave those regions out of every "
                "encoder");
        }
        if (r.bad > 0 && !study.pool.drop_bad_rows) {
            found.emplace_back(
                Place{r.file.path, {}, {}, r.first_bad.first},
                "the row of region \"" + r.first_bad.second + "\" holds NaN or Inf or is all zero, one of " +
                    std::to_string(r.bad),
                "mend them, or set [pool] on_bad_row = \"drop\" to leave those regions out of every encoder");
        }
    }
    return found;
}

void ErasedAudit::count_exclusions(const study::Study& study, std::size_t task, study::Pool& pool) const {
    std::set<std::pair<std::size_t, std::int64_t>> held;
    for (std::size_t i = 0; i < pool.table_row.size(); ++i)
        held.emplace(static_cast<std::size_t>(pool.dataset[i]), pool.table_row[i].value);
    std::map<std::tuple<std::size_t, std::string, std::string>, std::int64_t> counts;
    for (const LeftOut& one : tasks[task].left_out) {
        if (held.contains({one.dataset, one.row.value})) ++counts[{one.dataset, one.what, one.region}];
    }
    for (const auto& [key, rows] : counts) {
        const auto& [dataset, what, region] = key;
        pool.exclusions.push_back({study.datasets[dataset].id, what, region, rows});
    }
}

ErasedAudit audit_erased_mpi(const parallel::Communicator& world, const Inputs& inputs,
                             const std::vector<study::Pool>& drafts, parallel::StopRequest& stop) {
    const study::Study& study = inputs.study;
    ByteWriter mine;
    for (std::size_t encoder = 0; encoder < study.encoders.size(); ++encoder) {
        if (static_cast<int>(encoder % static_cast<std::size_t>(world.size())) != world.rank()) continue;
        EncoderFeatures features(inputs, encoder);
        for (std::size_t dataset = 0; dataset < study.datasets.size(); ++dataset) {
            if (study.datasets[dataset].erased.empty() || !tasks_use(study, encoder, dataset)) continue;
            if (stop.requested()) break;
            put_audit(mine, encoder, dataset,
                      audit_file(inputs, features, dataset, rows_in_use(study, drafts, encoder, dataset)));
        }
    }
    stop.rendezvous();
    FileAudits files;
    for (const std::string& bytes : world.all_gather(mine.take())) {
        ByteReader in(bytes);
        while (!in.done()) {
            const auto encoder = in.get<std::size_t>();
            const auto dataset = in.get<std::size_t>();
            files.emplace(std::pair(encoder, dataset), get_audit(in));
        }
    }

    ErasedAudit audit;
    for (const auto& [place, file] : files) {
        audit.files.push_back(file.report.file);
        if (file.report.unknown == 0) continue;
        audit.notes.push_back(file.report.file.path + ": its table does not know the images of " +
                              std::to_string(file.report.unknown) + " of its " +
                              std::to_string(file.report.rows) + " rows");
    }
    read_boxes(world, inputs, audit);
    Faults faults;
    for (std::size_t t = 0; t < study.tasks.size(); ++t) {
        TaskAudit task(study, study.tasks[t], drafts[t]);
        for (const std::size_t d : study.tasks[t].datasets) {
            if (study.datasets[d].erased.empty()) continue;
            task.add_dataset(d, files, faults);
            task.note_boxes(d, audit.boxes[d], audit.notes);
        }
        audit.tasks.push_back(task.take(audit.notes));
    }
    fill_faults(inputs, files, faults);
    for (auto& [place, file] : files) audit.reports.push_back(std::move(file.report));
    return audit;
}

std::vector<EvidenceRegion> evidence_regions(const study::Study& study, const TaskWork& work,
                                             const ErasedAudit& erased) {
    const study::Task& task = study.tasks[work.task];
    const TaskErased& used = erased.tasks[work.task];
    std::map<std::pair<std::size_t, std::int64_t>, std::size_t> pool_row;
    for (std::size_t i = 0; i < work.pool.table_row.size(); ++i) {
        pool_row.emplace(
            std::pair(static_cast<std::size_t>(work.pool.dataset[i]), work.pool.table_row[i].value), i);
    }
    std::vector<EvidenceRegion> regions;
    for (const std::string& name : used.regions) regions.push_back({name, finding_of(task, name), {}, {}});
    for (const ErasedRow& row : used.rows) {
        const auto at = pool_row.find({row.dataset, row.row.value});
        if (at == pool_row.end()) continue;  // left the pool for a blank context or for its features
        EvidenceRegion& region = regions[row.region];
        const auto& area = erased.boxes[row.dataset].area;
        const auto box = area.find({work.pool.image[at->second], region.name});
        region.rows.emplace_back(static_cast<std::int64_t>(at->second));
        region.area.push_back(box == area.end() ? undefined : box->second);
    }
    std::erase_if(regions, [](const EvidenceRegion& region) { return region.rows.empty(); });
    return regions;
}

}  // namespace candor::campaign
