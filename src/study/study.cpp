#include "candor/study/study.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <set>
#include <span>

#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/study/effective.hpp"
#include "candor/study/section.hpp"

namespace candor::study {

namespace {

constexpr std::array rules{Rule::equal, Rule::distinct, Rule::literal, Rule::unequal};
constexpr std::array negative_query_choices{NegativeQueries::bank, NegativeQueries::all,
                                            NegativeQueries::none};

const std::vector<std::string> plain_sections{"study", "operator", "pool", "bootstrap", "test", "heads"};
const std::vector<std::string> listed_sections{"encoder", "dataset", "contrast", "task"};

template <class E, std::size_t N>
std::vector<std::string> words_of(const std::array<E, N>& values) {
    std::vector<std::string> words;
    for (const E value : values) words.emplace_back(name_of(value));
    return words;
}

// ---- the file and the command line become one TOML table ----

toml::table parse_toml(const std::string& file, std::string_view bytes) {
    try {
        return toml::parse(bytes);
    } catch (const toml::parse_error& error) {
        const toml::source_position at = error.source().begin;
        throw UsageError(file, "line " + std::to_string(at.line) + ", column " + std::to_string(at.column) +
                                   ": " + std::string(error.description()));
    }
}

/// Inserts `text` at `key` as TOML where it is TOML, else as the bare word that it is.
void insert_value(toml::table& section, const std::string& key, std::string_view text) {
    try {
        toml::table parsed = toml::parse("value = " + std::string(text));
        if (parsed.size() == 1) {
            section.insert_or_assign(key, std::move(*parsed.get("value")));
            return;
        }
    } catch (const toml::parse_error&) {
        constexpr std::string_view opens_a_value = "[{\"'";
        if (!text.empty() && opens_a_value.find(text.front()) != std::string_view::npos) throw;
    }
    section.insert_or_assign(key, std::string(text));
}

/// Puts one `section.key=value` into `root` and returns `section.key`.
std::string apply_override(toml::table& root, const std::string& override) {
    const auto equals = override.find('=');
    const std::vector<std::string> path = split_text(std::string_view(override).substr(0, equals), '.');
    if (equals == std::string::npos || path.size() != 2 || path[0].empty() || path[1].empty()) {
        throw UsageError("--set", '"' + override + "\" must read section.key=value, e.g. operator.k=3");
    }
    if (std::ranges::find(plain_sections, path[0]) == plain_sections.end()) {
        throw UsageError("--set: " + path[0] + '.' + path[1],
                         "unknown section " + unknown_name(path[0], plain_sections));
    }
    const auto [at, inserted] = root.insert(path[0], toml::table{});
    if (!at->second.is_table()) return path[0] + '.' + path[1];  // refused with the other malformed sections
    try {
        insert_value(*at->second.as_table(), path[1], trim(std::string_view(override).substr(equals + 1)));
    } catch (const toml::parse_error& error) {
        throw UsageError("--set: " + path[0] + '.' + path[1], std::string(error.description()));
    }
    return path[0] + '.' + path[1];
}

void check_sections(const std::string& file, const toml::table& root) {
    std::vector<std::string> known = plain_sections;
    known.insert(known.end(), listed_sections.begin(), listed_sections.end());
    for (const auto& [key, node] : root) {
        const std::string name(key.str());
        const std::string subject = file + ": " + name;
        if (std::ranges::find(plain_sections, name) != plain_sections.end()) {
            if (!node.is_table()) throw UsageError(subject, "must be a section, written [" + name + "]");
        } else if (std::ranges::find(listed_sections, name) != listed_sections.end()) {
            if (!node.is_array() || !node.as_array()->is_homogeneous<toml::table>()) {
                throw UsageError(subject, "must be written [[" + name + "]], once for each " + name);
            }
        } else {
            throw UsageError(subject, "unknown section " + unknown_name(name, known));
        }
    }
}

/// The sections of one study file.
class File {
  public:
    File(std::string name, toml::table root, std::set<std::string> overridden)
        : name_(std::move(name)), root_(std::move(root)), overridden_(std::move(overridden)) {}

    Section plain(const std::string& section) const {
        static const toml::table none;
        const toml::table* table = root_[section].as_table();
        return {table ? *table : none, name_, section + '.', overridden_};
    }

    /// One reader for each [[section]], named by its id where it has one and by its number where not.
    std::vector<Section> listed(const std::string& section) const {
        std::vector<Section> readers;
        const toml::array* array = root_[section].as_array();
        for (std::size_t i = 0; array && i < array->size(); ++i) {
            const toml::table& table = *array->get_as<toml::table>(i);
            const std::string id = table["id"].value_or(std::string());
            const std::string name = id.empty() ? std::to_string(i + 1) : '"' + id + '"';
            readers.emplace_back(table, name_, "[[" + section + "]] " + name + ": ", overridden_);
        }
        return readers;
    }

    UsageError fault(const std::string& section, const std::string& rule) const {
        return {name_ + ": " + section, rule};
    }

  private:
    std::string name_;
    toml::table root_;
    std::set<std::string> overridden_;
};

// ---- plain sections ----

void read_study(const File& file, Study& study) {
    Section section = file.plain("study");
    section.text("name", study.name, Need::required);
    auto seed = static_cast<std::int64_t>(study.seed);
    section.integer("seed", seed, 0);
    section.finish();
    study.seed = static_cast<std::uint64_t>(seed);
}

void read_operator(const File& file, Operator& op) {
    Section section = file.plain("operator");
    section.integer("k", op.k, 1);
    section.integer("bank_cap", op.bank_cap, 0);
    if (const auto at = section.word("candidates", words_of(rules))) op.candidates = rules[*at];
    op.also_is_set = section.has("also");
    std::vector<std::string> also;
    section.texts("also", also, Need::optional, true);
    if (const auto at = section.word("negative_queries", words_of(negative_query_choices))) {
        op.negative_queries = negative_query_choices[*at];
    }
    section.integer("draws", op.draws, 1, 1'000);
    section.finish();
    section.require(op.bank_cap == 0 || op.bank_cap >= op.k, "bank_cap",
                    "must be 0 (no cap) or at least k = " + std::to_string(op.k) + ", not " +
                        std::to_string(op.bank_cap));
    const std::vector<std::string> words = words_of(rules);
    for (const std::string& word : also) {
        const auto at = std::ranges::find(words, word);
        section.require(at != words.end(), "also", "unknown rule " + unknown_name(word, words));
        op.also.push_back(rules[static_cast<std::size_t>(at - words.begin())]);
        section.require(op.also.back() != op.candidates, "also",
                        "names \"" + word + "\", which is the primary rule already");
    }
}

void read_pool(const File& file, PoolRules& pool) {
    Section section = file.plain("pool");
    const auto choose = [&](const std::string& key, const std::string& off, const std::string& on,
                            bool& value) {
        if (const auto at = section.word(key, {off, on})) value = *at == 1;
    };
    section.integer("rows", pool.rows, 0);
    section.texts("splits", pool.splits);
    choose("on_bad_row", "error", "drop", pool.drop_bad_rows);
    choose("on_missing", "error", "intersect", pool.intersect_missing);
    choose("on_leak", "error", "drop", pool.drop_leaks);
    choose("blank_context", "exclude", "own", pool.blank_context_is_own);
    section.finish();
}

void read_bootstrap(const File& file, Bootstrap& bootstrap) {
    Section section = file.plain("bootstrap");
    section.integer("resamples", bootstrap.resamples, 1, 10'000'000);
    section.real("confidence", bootstrap.confidence);
    section.finish();
    section.require(bootstrap.confidence > 0 && bootstrap.confidence < 1, "confidence",
                    "must lie between 0 and 1, not " + format_real(bootstrap.confidence));
}

void read_test(const File& file, Test& test) {
    Section section = file.plain("test");
    section.integer("permutations", test.permutations, 0);
    section.real("alpha", test.alpha);
    section.finish();
    section.require(test.permutations != 1, "permutations", "must be 0 (none) or at least 2, not 1");
    section.require(test.alpha > 0 && test.alpha < 1, "alpha",
                    "must lie between 0 and 1, not " + format_real(test.alpha));
}

void read_heads(const File& file, Heads& heads) {
    Section section = file.plain("heads");
    section.texts("kinds", heads.kinds, Need::optional, true);
    section.integer("epochs", heads.epochs, 1);
    section.integer("ensemble", heads.ensemble, 1);
    section.integer("train_rows", heads.train_rows, 1);
    section.integer("test_rows", heads.test_rows, 1);
    section.real("sensitivity", heads.sensitivity);
    const bool split_is_set = section.has("split");
    section.reals("split", heads.split);
    section.finish();
    const std::vector<std::string> kinds{"linear", "hidden"};
    for (const std::string& kind : heads.kinds) {
        section.require(std::ranges::find(kinds, kind) != kinds.end(), "kinds",
                        "unknown kind " + unknown_name(kind, kinds));
    }
    section.require(heads.sensitivity > 0 && heads.sensitivity <= 1, "sensitivity",
                    "must be above 0 and at most 1, not " + format_real(heads.sensitivity));
    if (!split_is_set) return;
    double sum = 0;
    for (const double share : heads.split) sum += share;
    // Three decimal shares add up to 1 within a few roundings; whoever means 1 is never off by 1e-9.
    section.require(heads.split.size() == 3 &&
                        std::ranges::all_of(heads.split, [](double s) { return s > 0; }) &&
                        std::abs(sum - 1) < 1e-9,
                    "split", "must be three shares (train, val, test) above 0 that add up to 1");
}

// ---- listed sections ----

/// Ids name files, HDF5 groups and table cells.
void read_id(Section& section, std::string& id, std::set<std::string>& taken) {
    section.text("id", id, Need::required);
    if (id.empty()) return;  // absent: `finish` says so
    section.require(id != "." && id != ".." && id != "*", "id", "must not be \"" + id + '"');
    const bool printable =
        std::ranges::none_of(id, [](unsigned char c) { return c < 0x20 || c == 0x7f || c == '/'; });
    section.require(printable, "id", "must not hold \"/\" or control characters");
    section.require(trim(id).size() == id.size(), "id", "must not begin or end with a blank");
    section.require(taken.insert(id).second, "id", "is used twice; ids must be unique");
}

void read_encoders(const File& file, Study& study) {
    std::set<std::string> taken;
    for (Section& section : file.listed("encoder")) {
        Encoder& encoder = study.encoders.emplace_back();
        read_id(section, encoder.id, taken);
        encoder.label = encoder.id;
        section.text("label", encoder.label);
        section.text("domain", encoder.domain);
        section.text("objective", encoder.objective);
        if (section.has("parameters")) section.real("parameters", encoder.parameters.emplace());
        if (section.has("year")) section.integer("year", encoder.year.emplace(), 1);
        section.flag("anchor", encoder.anchor);
        section.finish();
        if (encoder.parameters) section.require(*encoder.parameters > 0, "parameters", "must be above 0");
    }
    if (study.encoders.empty()) throw file.fault("encoder", "the study needs at least one [[encoder]]");
}

/// `pattern` may hold {encoder} and {dataset}, the former it must hold where encoders would share a file.
void check_pattern(const Section& section, const std::string& key, const std::string& pattern,
                   std::size_t encoders) {
    for (auto open = pattern.find('{'); open != std::string::npos; open = pattern.find('{', open + 1)) {
        const auto close = pattern.find('}', open);
        const std::string name = pattern.substr(open, close == std::string::npos ? close : close - open + 1);
        section.require(name == "{encoder}" || name == "{dataset}", key,
                        "may hold {encoder} and {dataset}, not \"" + name + '"');
    }
    section.require(encoders < 2 || pattern.empty() || pattern.find("{encoder}") != std::string::npos, key,
                    "must hold {encoder}: the study has " + std::to_string(encoders) +
                        " encoders, each with features of its own");
}

void read_columns(Section section, Columns& columns) {
    section.text("image", columns.image);
    section.text("patient", columns.patient);
    section.text("split", columns.split);
    section.finish();
    section.require(columns.patient != columns.image, "patient", "names the image column");
    section.require(columns.split != columns.image, "split", "names the image column");
    section.require(columns.split != columns.patient, "split", "names the patient column");
}

void read_datasets(const File& file, Study& study) {
    std::set<std::string> taken;
    std::vector<Section> sections = file.listed("dataset");
    for (Section& section : sections) {
        Dataset& dataset = study.datasets.emplace_back();
        read_id(section, dataset.id, taken);
        dataset.label = dataset.id;
        section.text("label", dataset.label);
        section.text("table", dataset.table, Need::required);
        section.text("features", dataset.features, Need::required);
        section.text("erased", dataset.erased);
        section.text("boxes", dataset.boxes);
        section.text("reference", dataset.reference);
        read_columns(section.table("columns"), dataset.columns);
        section.finish();
        check_pattern(section, "features", dataset.features, study.encoders.size());
        check_pattern(section, "erased", dataset.erased, study.encoders.size());
    }
    if (study.datasets.empty()) throw file.fault("dataset", "the study needs at least one [[dataset]]");
    std::vector<std::string> ids;
    for (const Dataset& dataset : study.datasets) ids.push_back(dataset.id);
    for (std::size_t d = 0; d < sections.size(); ++d) {
        const std::string& reference = study.datasets[d].reference;
        if (reference.empty()) continue;
        const auto at = std::ranges::find(ids, reference);
        sections[d].require(at != ids.end(), "reference", "unknown dataset " + unknown_name(reference, ids));
        sections[d].require(reference != ids[d], "reference", "must be another dataset");
        sections[d].require(study.datasets[static_cast<std::size_t>(at - ids.begin())].reference.empty(),
                            "reference", '"' + reference + "\" has a reference itself; name that one");
    }
}

/// Positions in `all` of the ids that `key` lists.
template <class T>
std::vector<std::size_t> positions_of(const Section& section, const std::string& key, const std::string& what,
                                      const std::string& owner, const std::vector<std::string>& named,
                                      const std::vector<T>& all) {
    std::vector<std::string> ids;
    for (const T& item : all) ids.push_back(item.id);
    std::vector<std::size_t> positions;
    for (const std::string& name : named) {
        const auto at = std::ranges::find(ids, name);
        section.require(
            at != ids.end(), key,
            "unknown " + what + " \"" + name + "\" in " + owner + "; known: " + first_names(ids, 20));
        positions.push_back(static_cast<std::size_t>(at - ids.begin()));
    }
    return positions;
}

void read_labels(Section section, Task& task) {
    constexpr std::array any{LabelAs::excluded, LabelAs::positive, LabelAs::negative};
    constexpr std::array never_positive{LabelAs::excluded, LabelAs::negative};
    if (const auto at = section.word("uncertain", words_of(any))) task.uncertain = any[*at];
    if (const auto at = section.word("blank", words_of(never_positive))) task.blank = never_positive[*at];
    section.finish();
}

/// A column has one part: an id, a split, a context or a label.
void check_columns(const Section& section, const Study& study, const Task& task) {
    for (const std::string& finding : task.findings) {
        section.require(std::ranges::find(task.context, finding) == task.context.end(), "context",
                        "\"" + finding + "\" is a finding of the task, so it cannot be its context");
        for (const std::size_t d : task.datasets) {
            const Columns& columns = study.datasets[d].columns;
            section.require(
                finding != columns.image && finding != columns.patient && finding != columns.split,
                "findings",
                '"' + finding + "\" is the image, patient or split column of dataset \"" +
                    study.datasets[d].id + '"');
        }
    }
}

void read_tasks(const File& file, Study& study) {
    std::set<std::string> taken;
    for (Section& section : file.listed("task")) {
        Task& task = study.tasks.emplace_back();
        std::vector<std::string> datasets, encoders{"*"};
        task.context = {"dataset"};
        task.splits = study.pool.splits;
        task.rows = study.pool.rows;
        read_id(section, task.id, taken);
        task.label = task.id;
        section.text("label", task.label);
        section.text("domain", task.domain);
        section.texts("datasets", datasets, Need::required);
        section.texts("findings", task.findings, Need::required);
        section.texts("encoders", encoders);
        section.texts("context", task.context);
        read_labels(section.table("labels"), task);
        section.texts("splits", task.splits);
        section.integer("rows", task.rows, 0);
        section.finish();

        const std::string owner = "task \"" + task.id + '"';
        task.datasets = positions_of(section, "datasets", "dataset", owner, datasets, study.datasets);
        if (encoders == std::vector<std::string>{"*"}) {
            for (std::size_t e = 0; e < study.encoders.size(); ++e) task.encoders.push_back(e);
        } else {
            section.require(std::ranges::find(encoders, "*") == encoders.end(), "encoders",
                            "\"*\" means every encoder, so it stands alone");
            task.encoders = positions_of(section, "encoders", "encoder", owner, encoders, study.encoders);
        }
        const auto anchors =
            std::ranges::count_if(task.encoders, [&](std::size_t e) { return study.encoders[e].anchor; });
        section.require(anchors < 2, "encoders",
                        "must hold at most one anchor, not " + std::to_string(anchors));
        check_columns(section, study, task);
    }
    if (study.tasks.empty()) throw file.fault("task", "the study needs at least one [[task]]");
}

void read_contrasts(const File& file, Study& study) {
    std::set<std::string> taken;
    for (Section& section : file.listed("contrast")) {
        Contrast& contrast = study.contrasts.emplace_back();
        read_id(section, contrast.id, taken);
        section.text("task", contrast.task, Need::required);
        Section arms = section.table("arms", Need::required);
        for (const std::string& name : arms.keys()) {
            arms.require(!trim(name).empty(), name, "an arm needs a name");
            arms.texts(name, contrast.arms.emplace_back(name, std::vector<std::string>{}).second);
        }
        section.finish();
        section.require(contrast.arms.size() >= 2, "arms", "a contrast needs at least two arms");

        const std::string owner = "contrast \"" + contrast.id + '"';
        const Task& task =
            study.tasks[positions_of(section, "task", "task", owner, {contrast.task}, study.tasks)[0]];
        std::set<std::size_t> in_an_arm;
        for (const auto& [name, encoders] : contrast.arms) {
            for (const std::size_t e : positions_of(arms, name, "encoder", owner, encoders, study.encoders)) {
                arms.require(std::ranges::find(task.encoders, e) != task.encoders.end(), name,
                             "encoder \"" + study.encoders[e].id + "\" is not in task \"" + task.id + '"');
                arms.require(in_an_arm.insert(e).second, name,
                             "encoder \"" + study.encoders[e].id + "\" is in another arm already");
            }
        }
    }
}

// ---- paths ----

void resolve_paths(Study& study) {
    const std::filesystem::path folder = std::filesystem::path(study.file).parent_path();
    for (Dataset& dataset : study.datasets) {
        for (std::string* path : {&dataset.table, &dataset.features, &dataset.erased, &dataset.boxes}) {
            if (!path->empty()) *path = (folder / *path).string();
        }
    }
}

/// `pattern` with {encoder} and {dataset} filled in, once: what is filled in is not looked at again.
std::string fill_in(const std::string& pattern, const std::string& encoder, const std::string& dataset) {
    constexpr std::string_view encoder_mark = "{encoder}", dataset_mark = "{dataset}";
    std::string path;
    for (std::size_t at = 0; at < pattern.size();) {
        const std::string_view rest = std::string_view(pattern).substr(at);
        if (rest.starts_with(encoder_mark)) {
            path += encoder;
            at += encoder_mark.size();
        } else if (rest.starts_with(dataset_mark)) {
            path += dataset;
            at += dataset_mark.size();
        } else {
            path += pattern[at++];
        }
    }
    return path;
}

}  // namespace

std::string_view name_of(Rule rule) {
    switch (rule) {
        case Rule::equal:
            return "equal";
        case Rule::distinct:
            return "distinct";
        case Rule::literal:
            return "literal";
        case Rule::unequal:
            return "unequal";
    }
    return {};
}

std::string_view name_of(NegativeQueries queries) {
    switch (queries) {
        case NegativeQueries::bank:
            return "bank";
        case NegativeQueries::all:
            return "all";
        case NegativeQueries::none:
            return "none";
    }
    return {};
}

std::string_view name_of(LabelAs label) {
    switch (label) {
        case LabelAs::excluded:
            return "exclude";
        case LabelAs::positive:
            return "positive";
        case LabelAs::negative:
            return "negative";
    }
    return {};
}

std::string Dataset::features_of(const std::string& encoder) const {
    return fill_in(features, encoder, id);
}

std::string Dataset::erased_of(const std::string& encoder) const {
    return fill_in(erased, encoder, id);
}

Study parse_study(const std::string& file, std::string_view bytes,
                  const std::vector<std::string>& overrides) {
    toml::table root = parse_toml(file, bytes);
    std::set<std::string> overridden;
    for (const std::string& override : overrides) overridden.insert(apply_override(root, override));
    check_sections(file, root);
    const File sections(file, std::move(root), std::move(overridden));

    Study study;
    study.file = file;
    read_study(sections, study);
    read_operator(sections, study.op);
    read_pool(sections, study.pool);
    read_bootstrap(sections, study.bootstrap);
    read_test(sections, study.test);
    read_heads(sections, study.heads);
    read_encoders(sections, study);
    read_datasets(sections, study);
    read_tasks(sections, study);
    read_contrasts(sections, study);
    study.effective = effective_text(study);
    resolve_paths(study);
    return study;
}

}  // namespace candor::study
