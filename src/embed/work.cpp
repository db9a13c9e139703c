#include "candor/embed/work.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "candor/base/error.hpp"
#include "candor/base/hash.hpp"
#include "candor/base/text.hpp"
#include "candor/study/csv.hpp"
#include "candor/study/section.hpp"
#include "candor/study/table.hpp"

namespace candor::embed {

namespace {

std::string digest_of(const std::string& bytes) {
    return digest(std::as_bytes(std::span(bytes))).hex();
}

/// A pattern with `{column}` cut into what stands between the columns and the columns themselves.
struct Pattern {
    std::vector<std::string> texts;  ///< one more than columns
    std::vector<std::size_t> columns;
};

Pattern parse_pattern(const std::string& subject, const std::string& text,
                      const std::vector<std::string>& header) {
    Pattern pattern{{""}, {}};
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '{') {
            pattern.texts.back() += text[at];
            continue;
        }
        const std::size_t end = text.find('}', at);
        if (end == std::string::npos) throw UsageError(subject, "has a { without its }");
        const std::string name = text.substr(at + 1, end - at - 1);
        const auto found = std::ranges::find(header, name);
        if (found == header.end())
            throw UsageError(subject, "asks for the column " + study::unknown_name(name, header));
        pattern.columns.push_back(static_cast<std::size_t>(found - header.begin()));
        pattern.texts.emplace_back();
        at = end;
    }
    return pattern;
}

/// The place of each image of a table, in its order.
std::vector<std::string> places_of(const Recipe& recipe, const ImagePlaces& images,
                                   const std::string& table_file, const std::string& bytes) {
    const study::Csv csv = study::parse_csv(table_file, bytes);
    const std::string subject = recipe.file + ": [[images]] \"" + images.dataset + "\": path";
    const Pattern pattern = parse_pattern(subject, images.pattern, csv.header);
    const std::filesystem::path folder = std::filesystem::path(recipe.file).parent_path();
    std::vector<std::string> places;
    for (std::size_t r = 0; r < csv.records.size(); ++r) {
        std::string place = pattern.texts[0];
        for (std::size_t c = 0; c < pattern.columns.size(); ++c) {
            const std::string& cell = csv.records[r][pattern.columns[c]];
            if (cell.empty())
                throw DataError({table_file, csv.line[r], csv.header[pattern.columns[c]]},
                                "is blank, and is part of the image's name");
            place += cell + pattern.texts[c + 1];
        }
        places.push_back((folder / place).string());
    }
    return places;
}

/// Items of the boxed regions, in the order of the table.
std::vector<Item> erased_items(const std::vector<Item>& images, const study::Boxes& boxes) {
    std::vector<Item> items;
    std::set<std::string> known;
    for (const Item& image : images) {
        known.insert(image.id);
        for (auto at = boxes.regions.lower_bound({image.id, ""});
             at != boxes.regions.end() && at->first.first == image.id; ++at)
            items.push_back({image.id, image.place, at->first.second, &at->second});
    }
    for (const auto& [key, region] : boxes.regions) {
        if (!known.contains(key.first))
            throw DataError({boxes.file, std::nullopt, "image_id", key.first},
                            "there is no such image in the table", "are ids written the same way in both?");
    }
    return items;
}

template <class Things>
std::size_t position_of(const std::string& subject, const Things& things, const std::string& id) {
    std::vector<std::string> ids;
    for (const auto& thing : things) ids.push_back(thing.id);
    const auto at = std::ranges::find(ids, id);
    if (at == ids.end()) throw UsageError(subject, "the study has no " + study::unknown_name(id, ids));
    return static_cast<std::size_t>(at - ids.begin());
}

}  // namespace

Work make_work(const std::string& recipe_file, const std::vector<std::string>& overrides,
               const std::vector<std::string>& only, const Files& files) {
    Work work;
    work.recipe = parse_recipe(recipe_file, files.read(recipe_file));
    const Recipe& recipe = work.recipe;
    work.study = study::parse_study(recipe.study, files.read(recipe.study), overrides);
    std::vector<std::string> ids;
    for (const EncoderRecipe& encoder : recipe.encoders) {
        position_of(recipe.file + ": [[encoder]] \"" + encoder.id + "\"", work.study.encoders, encoder.id);
        ids.push_back(encoder.id);
    }
    for (const std::string& id : only) {
        if (std::ranges::find(ids, id) == ids.end())
            throw UsageError("--only", "the recipe has no encoder " + study::unknown_name(id, ids));
    }
    std::map<std::string, std::string> digests;  // of TorchScript files
    std::set<std::string> outputs;
    for (const ImagePlaces& images : recipe.images) {
        const std::string subject = recipe.file + ": [[images]] \"" + images.dataset + "\"";
        const study::Dataset& dataset =
            work.study.datasets[position_of(subject, work.study.datasets, images.dataset)];
        const std::string table_bytes = files.read(dataset.table);
        const study::Table table = study::parse_table(dataset, table_bytes, {}, {});
        const std::vector<std::string> places = places_of(recipe, images, dataset.table, table_bytes);
        std::vector<Item> items;
        for (std::size_t r = 0; r < places.size(); ++r)
            items.push_back({table.image[r], places[r], {}, nullptr});
        std::string boxes_bytes;
        work.boxes.emplace_back();
        const bool erases = !dataset.erased.empty() && !dataset.boxes.empty();
        if (erases) {
            boxes_bytes = files.read(dataset.boxes);
            work.boxes.back() = study::parse_boxes(dataset.boxes, boxes_bytes);
        }
        for (std::size_t e = 0; e < recipe.encoders.size(); ++e) {
            const EncoderRecipe& encoder = recipe.encoders[e];
            if (!only.empty() && std::ranges::find(only, encoder.id) == only.end()) continue;
            std::string origin = "encoder: " + encoder.text() + "\n";
            if (encoder.kind == Kind::torchscript) {
                auto& file_digest = digests[encoder.file];
                if (file_digest.empty()) file_digest = files.digest(encoder.file);
                origin += "file: " + file_digest + "\n";
            }
            origin += "table: " + digest_of(table_bytes) + "\nimages: " + images.pattern + "\n";
            work.jobs.push_back({e, dataset.features_of(encoder.id), items, false, origin});
            if (!erases) continue;
            // The boxes move with their list, the regions in them do not.
            Job job{e,
                    dataset.erased_of(encoder.id),
                    {},
                    true,
                    origin + "boxes: " + digest_of(boxes_bytes) + "\n"};
            job.items = erased_items(items, work.boxes.back());
            if (!job.items.empty()) work.jobs.push_back(std::move(job));
        }
    }
    for (const Job& job : work.jobs) {
        if (!outputs.insert(job.output).second)
            throw UsageError(job.output,
                             "is the output of two encoders or datasets of the recipe; the study's patterns "
                             "need {encoder} and, for several datasets, {dataset}");
    }
    return work;
}

}  // namespace candor::embed
