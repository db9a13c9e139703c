#include "candor/embed/recipe.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/study/section.hpp"

namespace candor::embed {

namespace {

using study::Need;
using study::Section;

constexpr std::int64_t largest_side = 1 << 14;

const std::vector<std::string> kinds{"torchscript", "pixels", "patch-means", "gradients",
                                     "random-convolution"};
const std::vector<std::string> interpolations{"bilinear", "bicubic"};
const std::vector<std::string> colours{"rgb", "grey"};
const std::vector<std::string> outputs{"pooled", "class", "patches"};

toml::table parse_toml(const std::string& file, std::string_view bytes) {
    try {
        return toml::parse(bytes);
    } catch (const toml::parse_error& error) {
        const toml::source_position at = error.source().begin;
        throw UsageError(file, "line " + std::to_string(at.line) + ", column " + std::to_string(at.column) +
                                   ": " + std::string(error.description()));
    }
}

std::string beside(const std::string& file, const std::string& path) {
    return (std::filesystem::path(file).parent_path() / path).string();
}

/// The tables of [[name]], each with what its messages begin with.
std::vector<std::pair<const toml::table*, std::string>> listed(const std::string& file,
                                                               const toml::table& root,
                                                               const std::string& name,
                                                               const std::string& key) {
    const toml::node* const node = root.get(name);
    if (node == nullptr) throw UsageError(file + ": " + name, "is missing; write [[" + name + "]] for each");
    if (!node->is_array() || !node->as_array()->is_homogeneous<toml::table>())
        throw UsageError(file + ": " + name, "must be written [[" + name + "]], once for each");
    std::vector<std::pair<const toml::table*, std::string>> tables;
    for (const toml::node& one : *node->as_array()) {
        const toml::table& table = *one.as_table();
        const std::string id = table[key].value_or(std::string());
        tables.emplace_back(
            &table,
            "[[" + name + "]] " + (id.empty() ? std::to_string(tables.size() + 1) : '"' + id + '"') + ": ");
    }
    return tables;
}

template <class Enum>
void word(Section& section, const std::string& key, const std::vector<std::string>& words, Enum& value) {
    if (const auto at = section.word(key, words)) value = static_cast<Enum>(*at);
}

/// `key = 224`, or `key = [height, width]`.
void read_size(Section& section, const toml::table& table, const std::string& key, std::int64_t& height,
               std::int64_t& width) {
    const auto* const pair = table[key].as_array();
    if (pair == nullptr) {
        height = 0;
        section.integer(key, height, 1, largest_side);
        section.require(height > 0, key, "is missing: the height and width that the encoder sees, e.g. 224");
        width = height;
        return;
    }
    std::vector<double> sides;
    section.reals(key, sides);
    const auto is_side = [](double side) {
        return side >= 1 && side <= largest_side && side == std::floor(side);
    };
    section.require(sides.size() == 2 && std::ranges::all_of(sides, is_side), key,
                    "must be a whole number, or [height, width], of 1 to " + std::to_string(largest_side));
    height = static_cast<std::int64_t>(sides[0]);
    width = static_cast<std::int64_t>(sides[1]);
}

/// One number a channel; a single one counts for all of them.
void read_channels(Section& section, const std::string& key, std::int64_t channels, double by_default,
                   std::vector<double>& values) {
    section.reals(key, values);
    if (values.empty()) values = {by_default};
    if (values.size() == 1) values.resize(static_cast<std::size_t>(channels), values[0]);
    section.require(std::ssize(values) == channels, key,
                    "has " + std::to_string(values.size()) + " numbers for " + std::to_string(channels) +
                        (channels == 1 ? " channel" : " channels"));
}

EncoderRecipe read_encoder(const std::string& file, const toml::table& table, const std::string& place) {
    static const std::set<std::string> none;
    Section section(table, file, place, none);
    EncoderRecipe encoder;
    section.text("id", encoder.id, Need::required);
    word(section, "kind", kinds, encoder.kind);
    const bool from_file = encoder.kind == Kind::torchscript;
    if (from_file) {
        section.text("file", encoder.file, Need::required);
        encoder.file = beside(file, encoder.file);
        word(section, "output", outputs, encoder.output);
        if (encoder.output == Output::patches) section.integer("prefix", encoder.prefix, 0, 1000);
        section.text("device", encoder.device);
    } else {
        encoder.preprocessing.colour = Colour::grey;
        section.require(!table.contains("file"), "file", "is of kind \"torchscript\" only");
        if (encoder.kind != Kind::pixels) section.integer("grid", encoder.grid, 1, 64);
        if (encoder.kind == Kind::gradients) section.integer("bins", encoder.bins, 2, 64);
        if (encoder.kind == Kind::random_convolution) {
            section.integer("layers", encoder.layers, 1, 8);
            section.integer("channels", encoder.channels, 1, 1024);
            section.integer("seed", encoder.seed, 0);
        }
    }
    section.integer("batch", encoder.batch, 1, 4096);
    Preprocessing& p = encoder.preprocessing;
    word(section, "colour", colours, p.colour);
    read_size(section, table, "size", p.height, p.width);
    section.integer("resize", p.shorter_side, 1, largest_side);
    section.require(p.shorter_side == 0 || p.shorter_side >= std::max(p.height, p.width), "resize",
                    "is the shorter side before the middle is taken, so at least as long as size");
    word(section, "interpolation", interpolations, p.interpolation);
    read_channels(section, "mean", p.channels(), 0, p.mean);
    read_channels(section, "std", p.channels(), 1, p.deviation);
    section.require(std::ranges::all_of(p.deviation, [](double d) { return d > 0; }), "std",
                    "must be above 0");
    section.finish();
    if (!from_file && encoder.kind != Kind::pixels) {
        std::int64_t least = std::min(p.height, p.width);
        for (std::int64_t l = 0; encoder.kind == Kind::random_convolution && l < encoder.layers; ++l)
            least = (least + 1) / 2;
        section.require(encoder.grid <= least, "grid",
                        "is finer than the " + std::to_string(least) + " places that are there");
    }
    return encoder;
}

}  // namespace

std::string EncoderRecipe::text() const {
    const Preprocessing& p = preprocessing;
    const auto numbers = [](const std::vector<double>& values) {
        std::vector<std::string> texts;
        for (const double value : values) texts.push_back(format_real(value));
        return "[" + join_text(texts, ", ") + "]";
    };
    std::string text = "kind " + kinds[static_cast<std::size_t>(kind)] + ", colour " +
                       colours[static_cast<std::size_t>(p.colour)] + ", size " + std::to_string(p.height) +
                       " x " + std::to_string(p.width) + ", resize " + std::to_string(p.shorter_side) +
                       ", interpolation " + interpolations[static_cast<std::size_t>(p.interpolation)] +
                       ", mean " + numbers(p.mean) + ", std " + numbers(p.deviation) + ", batch " +
                       std::to_string(batch);
    if (kind == Kind::torchscript) {
        text += ", output " + outputs[static_cast<std::size_t>(output)];
        if (output == Output::patches) text += ", prefix " + std::to_string(prefix);
        return text;
    }
    if (kind != Kind::pixels) text += ", grid " + std::to_string(grid);
    if (kind == Kind::gradients) text += ", bins " + std::to_string(bins);
    if (kind == Kind::random_convolution)
        text += ", layers " + std::to_string(layers) + ", channels " + std::to_string(channels) + ", seed " +
                std::to_string(seed);
    return text;
}

Recipe parse_recipe(const std::string& file, std::string_view bytes) {
    static const std::set<std::string> none;
    const toml::table root = parse_toml(file, bytes);
    Recipe recipe;
    recipe.file = file;
    Section section(root, file, "", none);
    section.text("study", recipe.study, Need::required);
    section.has("encoder");
    section.has("images");
    section.finish();
    recipe.study = beside(file, recipe.study);
    std::set<std::string> ids, datasets;
    for (const auto& [table, place] : listed(file, root, "encoder", "id")) {
        recipe.encoders.push_back(read_encoder(file, *table, place));
        const std::string& id = recipe.encoders.back().id;
        if (!ids.insert(id).second)
            throw UsageError(file + ": [[encoder]] \"" + id + "\"",
                             "is there twice; an encoder has one recipe");
    }
    for (const auto& [table, place] : listed(file, root, "images", "dataset")) {
        Section one(*table, file, place, none);
        ImagePlaces places{{}, "{path}"};
        one.text("dataset", places.dataset, Need::required);
        one.text("path", places.pattern);
        one.finish();
        if (!datasets.insert(places.dataset).second)
            throw UsageError(file + ": [[images]] \"" + places.dataset + "\"", "is there twice");
        recipe.images.push_back(std::move(places));
    }
    return recipe;
}

}  // namespace candor::embed
