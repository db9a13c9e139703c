#include "candor/synth/write_mpi.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "candor/base/bytes.hpp"
#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/base/threads.hpp"
#include "candor/parallel/schedule.hpp"
#include "candor/parallel/session.hpp"
#include "candor/store/feature_writer.hpp"
#include "candor/store/output_file.hpp"
#include "synth/tables.hpp"
#include "synth/text_file.hpp"

namespace candor::synth {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t block_bytes = std::int64_t{16} << 20;
constexpr double evidence_guess =
    0.3;  // (image, region) pairs of a dataset with boxes, of all there could be
constexpr double bytes_a_simulation = 2e6;  // that could be written while a cell is simulated

/// A file, or some rows of planted.csv, by one rank.
struct Item {
    enum class Kind { features, erased, table, boxes, planted } kind;
    std::size_t of;       // dataset, or for planted rows the task
    std::size_t encoder;  // of features, erased features and planted rows
    double cost;          // bytes, or what could be written meanwhile
};

std::string with_thousands(std::int64_t number) {
    std::string text = std::to_string(number);
    for (auto at = std::ssize(text) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), ",");
    return text;
}

std::string gigabytes(double bytes) {
    return format_fixed(bytes / 1e9, bytes < 1e9 ? 3 : 1) + " GB";
}

// ---- what is to be written ----

std::vector<Item> items_of(const Plan& plan) {
    std::vector<Item> items;
    const study::Study& study = plan.study();
    for (std::size_t d = 0; d < study.datasets.size(); ++d) {
        const Subject& subject = plan.subject_of(d);
        const auto rows = static_cast<double>(plan.images_asked(d));
        const auto findings = static_cast<double>(subject.findings.size());
        items.push_back({Item::Kind::table, d, 0, rows * (60 + 2 * findings)});
        const auto regions = static_cast<double>(plan.regions(d).size());
        if (regions > 0) items.push_back({Item::Kind::boxes, d, 0, rows * regions * evidence_guess * 60});
        for (const std::size_t e : subject.encoders) {
            const double row_bytes = static_cast<double>(2 * plan.dimension(e)) + 24;  // with its id
            items.push_back({Item::Kind::features, d, e, rows * row_bytes});
            if (study.datasets[d].erased.empty()) continue;
            items.push_back({Item::Kind::erased, d, e, rows * regions * evidence_guess * row_bytes});
        }
    }
    return items;
}

std::vector<Item> planted_items(const Plan& plan) {
    std::vector<Item> items;
    const study::Study& study = plan.study();
    for (std::size_t t = 0; t < study.tasks.size(); ++t) {
        const study::Task& task = study.tasks[t];
        double cells = static_cast<double>(task.findings.size());
        std::size_t contexts = 0;
        for (const std::size_t d : task.datasets) {
            contexts += std::max<std::size_t>(1, plan.shape().datasets[d].values.size());
        }
        cells *= static_cast<double>(contexts);
        for (const std::size_t e : task.encoders) {
            items.push_back({Item::Kind::planted, t, e, cells * bytes_a_simulation});
        }
    }
    return items;
}

// ---- the folder ----

std::string study_text(const Plan& plan) {
    const SynthOptions& options = plan.options();
    return "# Synthetic images: candor synth --shape " + options.shape + " --scale " +
           format_real(options.scale) + " --seed " + std::to_string(options.seed) +
           "\n# What is in them stands in planted.csv.\n\n" + std::string(plan.shape().text);
}

std::string path_in(const Plan& plan, const std::string& relative) {
    return (fs::path(plan.options().folder) / relative).string();
}

std::string bytes_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// Makes the folder, and puts the study file in it under a name that it does not keep; or finds it there as
/// an earlier call of the same options left it.
void start_folder(const Plan& plan, double bytes) {
    const std::string& folder = plan.options().folder;
    const std::string study = path_in(plan, "study.toml");
    std::error_code error;
    const bool exists = fs::exists(folder, error);
    if (exists && !fs::is_directory(folder, error))
        throw UsageError(folder, "is no folder; name another one");
    const bool empty = !exists || fs::is_empty(folder, error);
    const bool unfinished = !fs::exists(study, error) && bytes_of(store::part_of(study)) == study_text(plan);
    if (!empty && !unfinished) {
        const bool finished = bytes_of(study) == study_text(plan);
        throw UsageError(folder,
                         "is not empty; name a new folder, or remove it yourself" +
                             (finished ? "; it holds this study, finished: candor run " + study : ""));
    }
    if (!exists && (!fs::create_directories(folder, error) || error)) {
        throw MachineError(folder, "cannot be made: " + error.message());
    }
    const fs::space_info space = fs::space(folder, error);
    double present = 0;
    if (unfinished) {
        for (const auto& entry : fs::recursive_directory_iterator(folder, error)) {
            if (entry.is_regular_file(error)) present += static_cast<double>(entry.file_size(error));
        }
    }
    if (!error && static_cast<double>(space.available) + present < bytes) {
        if (!exists) fs::remove(folder, error);
        throw MachineError(folder,
                           "the study takes about " + gigabytes(bytes) + " and the disk has room for " +
                               gigabytes(static_cast<double>(space.available) + present),
                           "choose a smaller --scale or another disk");
    }
    if (unfinished) return;
    std::ofstream out(store::part_of(study), std::ios::binary);
    if (!(out << study_text(plan) << std::flush)) {
        throw MachineError(store::part_of(study), std::string("cannot be written: ") + std::strerror(errno));
    }
}

// ---- writing ----

bool is_there(const std::string& path) {
    std::error_code error;
    return fs::exists(path, error);
}

void make_folder_of(const std::string& path) {
    std::error_code error;
    fs::create_directories(fs::path(path).parent_path(), error);
    if (error)
        throw MachineError(fs::path(path).parent_path().string(), "cannot be made: " + error.message());
}

/// `rows` rows of float16 by `fill(row, out)`, a block at a time.
void append_rows(store::FeatureWriter& writer, std::int64_t rows, std::int64_t dimension, int threads,
                 const std::function<void(std::int64_t, std::span<std::uint16_t>)>& fill) {
    constexpr std::int64_t rows_a_step = 64;
    const std::int64_t most = std::max<std::int64_t>(rows_a_step, block_bytes / (2 * dimension));
    std::vector<std::uint16_t> block(static_cast<std::size_t>(std::min(most, rows) * dimension));
    for (std::int64_t first = 0; first < rows; first += most) {
        const std::int64_t count = std::min(most, rows - first);
        for_each_on_threads(threads, (count + rows_a_step - 1) / rows_a_step, [&](std::int64_t step) {
            for (std::int64_t i = step * rows_a_step; i < std::min(count, (step + 1) * rows_a_step); ++i) {
                fill(first + i, std::span(block).subspan(static_cast<std::size_t>(i * dimension),
                                                         static_cast<std::size_t>(dimension)));
            }
        });
        writer.append_stored(
            std::as_bytes(std::span(block).first(static_cast<std::size_t>(count * dimension))));
    }
}

void write_features(Plan& plan, std::size_t d, std::size_t e, const std::string& path) {
    const Images& images = plan.images(d);
    const Geometry& geometry = plan.geometry(d, e);
    std::vector<std::string> ids;
    for (std::int64_t row = 0; row < images.rows(); ++row) ids.push_back(images.id(row));
    store::FeatureWriter writer(path, store::ElementType::float16, images.rows(), geometry.dimension(),
                                false);
    append_rows(
        writer, images.rows(), geometry.dimension(), plan.options().threads,
        [&](std::int64_t row, std::span<std::uint16_t> out) { geometry.write_row(images, row, out); });
    writer.finish(ids, {});
}

void write_erased(Plan& plan, std::size_t d, std::size_t e, const std::string& path) {
    const Images& images = plan.images(d);
    const Geometry& geometry = plan.geometry(d, e);
    const std::vector<Evidence>& evidence = plan.evidence(d);
    std::vector<std::string> ids, regions;
    for (const Evidence& one : evidence) {
        ids.push_back(images.id(one.row));
        regions.push_back(plan.regions(d)[one.region]);
    }
    store::FeatureWriter writer(path, store::ElementType::float16, std::ssize(evidence), geometry.dimension(),
                                false);
    append_rows(writer, std::ssize(evidence), geometry.dimension(), plan.options().threads,
                [&](std::int64_t i, std::span<std::uint16_t> out) {
                    const Evidence& one = evidence[static_cast<std::size_t>(i)];
                    geometry.write_erased(images, one.row, one.region, out);
                });
    writer.finish(ids, regions);
}

void write_item(Plan& plan, const Item& item) {
    const study::Study& study = plan.study();
    const study::Dataset& dataset = study.datasets[item.of];
    std::string name;
    switch (item.kind) {
        case Item::Kind::features:
            name = dataset.features_of(study.encoders[item.encoder].id);
            break;
        case Item::Kind::erased:
            name = dataset.erased_of(study.encoders[item.encoder].id);
            break;
        case Item::Kind::table:
            name = dataset.table;
            break;
        case Item::Kind::boxes:
            name = dataset.boxes;
            break;
        case Item::Kind::planted:
            CANDOR_REQUIRE(false, "rows of planted.csv are no file");
    }
    const std::string path = path_in(plan, name);
    if (is_there(path)) return;  // an earlier call finished it
    make_folder_of(path);
    if (item.kind == Item::Kind::table) write_table(plan, item.of, path);
    if (item.kind == Item::Kind::boxes) write_boxes(plan, item.of, path);
    if (item.kind == Item::Kind::features) write_features(plan, item.of, item.encoder, path);
    if (item.kind == Item::Kind::erased) write_erased(plan, item.of, item.encoder, path);
}

/// This rank's items, those of one dataset or task together.
std::vector<std::size_t> own_items(const std::vector<Item>& items, const parallel::Communicator& world) {
    std::vector<double> costs;
    for (const Item& item : items) costs.push_back(item.cost);
    const std::vector<int> ranks = parallel::place_longest_first(costs, world.size());
    std::vector<std::size_t> own;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (ranks[i] == world.rank()) own.push_back(i);
    }
    return own;
}

void write_text(const std::string& path, const std::string& text) {
    if (is_there(path)) return;
    TextFile file(path);
    file.append(text);
    file.finish();
}

void write_planted_mpi(const parallel::Communicator& world, Plan& plan, const Log& log) {
    const std::vector<Item> items = planted_items(plan);
    const std::vector<std::size_t> own = own_items(items, world);
    Progress progress(log, "simulating what is planted", static_cast<double>(own.size()));
    std::string mine;
    for (const std::size_t i : own) {
        const std::string rows = planted_rows(plan, items[i].of, items[i].encoder);
        mine += std::to_string(i) + " " + std::to_string(rows.size()) + "\n" + rows;
        progress.advance(1);
    }
    const std::vector<std::string> gathered = world.gather(mine);
    if (world.rank() != 0) return;
    std::vector<std::string> by_item(items.size());
    for (const std::string& from : gathered) {
        for (std::size_t at = 0; at < from.size();) {
            const std::size_t blank = from.find(' ', at), end = from.find('\n', blank);
            const auto item = static_cast<std::size_t>(std::stoull(from.substr(at, blank - at)));
            const auto size = static_cast<std::size_t>(std::stoull(from.substr(blank + 1, end - blank - 1)));
            by_item.at(item) = from.substr(end + 1, size);
            at = end + 1 + size;
        }
    }
    std::string text(planted_header);
    for (const std::string& rows : by_item) text += rows;
    write_text(path_in(plan, "planted.csv"), text);
}

void write_planted_retention(Plan& plan) {
    std::string text = "dataset,encoder,retention\n";
    for (std::size_t d = 0; d < plan.study().datasets.size(); ++d) {
        if (plan.study().datasets[d].erased.empty()) continue;
        for (const std::size_t e : plan.subject_of(d).encoders) {
            text += plan.study().datasets[d].id + "," + plan.study().encoders[e].id + "," +
                    format_fixed(plan.geometry(d, e).retention(), 6) + "\n";
        }
    }
    write_text(path_in(plan, "planted-retention.csv"), text);
}

}  // namespace

void write_study_mpi(const parallel::Communicator& world, const SynthOptions& options, const Log& log) {
    Plan plan(options);
    const std::vector<Item> items = items_of(plan);
    double bytes = 0;
    std::int64_t images = 0, files = 0;
    for (const Item& item : items) {
        bytes += item.cost;
        files += item.kind == Item::Kind::features || item.kind == Item::Kind::erased;
    }
    for (std::size_t d = 0; d < plan.study().datasets.size(); ++d) images += plan.images_asked(d);
    parallel::on_root(world, [&] {
        start_folder(plan, bytes);
        return std::string();
    });
    log.info(options.folder + ": " + with_thousands(images) + " images of " +
             std::to_string(plan.study().datasets.size()) + " datasets, " + std::to_string(files) +
             " files of features, about " + gigabytes(bytes));

    const std::vector<std::size_t> own = own_items(items, world);
    double total = 0;
    for (const std::size_t i : own) total += items[i].cost;
    {
        Progress progress(log, "writing", total);
        for (const std::size_t i : own) {
            write_item(plan, items[i]);
            progress.advance(items[i].cost);
        }
    }
    write_planted_mpi(world, plan, log);
    world.barrier();  // the study file comes last
    if (world.rank() != 0) return;
    write_planted_retention(plan);
    store::publish(path_in(plan, "study.toml"));
}

}  // namespace candor::synth
