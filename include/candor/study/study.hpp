#pragma once

/// The study file as values (DESIGN 4): what was asked for, with every default filled in.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace candor::study {

/// Candidate rules of METHODS 3.
enum class Rule { equal, distinct, literal, unequal };
/// Which negatives are queried for the margin classifier (METHODS 3).
enum class NegativeQueries { bank, all, none };
/// What an uncertain (-1) or blank label counts as (METHODS 2).
enum class LabelAs { excluded, positive, negative };

std::string_view name_of(Rule rule);
std::string_view name_of(NegativeQueries queries);
std::string_view name_of(LabelAs label);

struct Operator {
    int k = 5;
    std::int64_t bank_cap = 4000;  ///< 0: no cap
    Rule candidates = Rule::equal;
    std::vector<Rule> also;
    bool also_is_set = false;  ///< unset, `distinct` is added where a pool repeats patients
    NegativeQueries negative_queries = NegativeQueries::bank;
    int draws = 1;
};

struct PoolRules {
    std::int64_t rows = 20000;  ///< a dataset; 0: all
    std::vector<std::string> splits{"test"};
    bool drop_bad_rows = false;         ///< on_bad_row = "drop"
    bool intersect_missing = false;     ///< on_missing = "intersect"
    bool drop_leaks = false;            ///< on_leak = "drop"
    bool blank_context_is_own = false;  ///< blank_context = "own"
};

struct Bootstrap {
    std::int64_t resamples = 1000;
    double confidence = 0.95;
};

struct Test {
    std::int64_t permutations = 200;
    double alpha = 0.05;
};

struct Heads {
    std::vector<std::string> kinds{"linear", "hidden"};
    int epochs = 30;
    int ensemble = 5;
    std::int64_t train_rows = 25000;
    std::int64_t test_rows = 20000;
    double sensitivity = 0.8;
    std::vector<double> split;  ///< empty: a dataset without splits has no heads
};

struct Encoder {
    std::string id, label, domain, objective;
    std::optional<double> parameters;
    std::optional<std::int64_t> year;
    bool anchor = false;
};

struct Columns {
    std::string image = "image_id", patient = "patient_id", split = "split";
};

struct Dataset {
    std::string id, label;
    std::string table;      ///< path, resolved against the study file's folder
    std::string features;   ///< pattern with {encoder} and {dataset}, resolved likewise
    std::string erased;     ///< likewise; empty: none
    std::string boxes;      ///< path, resolved likewise; empty: none
    std::string reference;  ///< id of another dataset; empty: none
    Columns columns;

    /// Path of this dataset's features under encoder `encoder`.
    std::string features_of(const std::string& encoder) const;
    /// Path of its erased features; empty where there are none.
    std::string erased_of(const std::string& encoder) const;
};

struct Contrast {
    std::string id, task;
    /// Name and encoder ids of each arm, in the order of the file.
    std::vector<std::pair<std::string, std::vector<std::string>>> arms;
};

/// A task with `encoders = ["*"]` resolved and [pool] defaults applied. Datasets and encoders are positions
/// in `Study::datasets` and `Study::encoders`.
struct Task {
    std::string id, label, domain;
    std::vector<std::size_t> datasets;
    std::vector<std::string> findings;
    std::vector<std::size_t> encoders;
    std::vector<std::string> context;  ///< column names, `dataset` among them; never empty
    LabelAs uncertain = LabelAs::excluded;
    LabelAs blank = LabelAs::excluded;
    std::vector<std::string> splits;
    std::int64_t rows = 20000;
};

struct Study {
    std::string file;  ///< as given
    std::string name;
    std::uint64_t seed = 42;
    Operator op;
    PoolRules pool;
    Bootstrap bootstrap;
    Test test;
    Heads heads;
    std::vector<Encoder> encoders;
    std::vector<Dataset> datasets;
    std::vector<Contrast> contrasts;
    std::vector<Task> tasks;
    /// The whole effective study as TOML, defaults and overrides included, keys in a fixed order and paths as
    /// the user wrote them: equal text means the same study.
    std::string effective;
};

/// Reads a study from the bytes of `file`. `overrides` are `section.key=value` as given to --set, the value
/// in TOML syntax or a bare word; the last of one key wins. Relative paths are resolved against the folder of
/// `file`.
/// @throws UsageError for anything DESIGN 4 does not allow: syntax (with the line), unknown keys (with the
///         nearest known one), wrong types or ranges, duplicate or unknown ids, empty lists. The subject is
///         `FILE: section.key`, `FILE: [[task]] "chest": key` or, for an override, `--set: section.key`.
Study parse_study(const std::string& file, std::string_view bytes,
                  const std::vector<std::string>& overrides = {});

}  // namespace candor::study
