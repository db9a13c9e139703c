#include "candor/study/study.hpp"

#include "candor/study/effective.hpp"
#include "study/sample.hpp"

BOOST_AUTO_TEST_SUITE(study_study)

using namespace candor;
using namespace candor::study;

namespace {

// Every section and key of the study file, none at its default.
const std::string everything = R"toml(
[study]
name = "All \"keys\""
seed = 7
[operator]
k = 3
bank_cap = 50
candidates = "distinct"
also = ["equal", "unequal"]
negative_queries = "all"
draws = 4
[pool]
rows = 0
splits = ["val", "test"]
on_bad_row = "drop"
on_missing = "intersect"
on_leak = "drop"
blank_context = "own"
[bootstrap]
resamples = 200
confidence = 0.9
[test]
permutations = 0
alpha = 0.01
[heads]
kinds = ["linear"]
epochs = 2
ensemble = 1
train_rows = 100
test_rows = 50
sensitivity = 0.9
split = [0.6, 0.2, 0.2]
[[encoder]]
id = "dino"
label = "DINOv3"
domain = "natural"
objective = "self-supervised"
parameters = 86_000_000
year = 2025
[[encoder]]
id = "random"
parameters = 8.6e7
anchor = true
[[dataset]]
id = "site"
label = "Site A"
table = "tables/site.csv"
features = "features/{encoder}/{dataset}.h5"
erased = "erased/{encoder}.h5"
boxes = "site-boxes.csv"
columns = { image = "image", patient = "mrn", split = "fold" }
[[dataset]]
id = "guests"
table = "/data/guests.csv"
features = "/data/{encoder}.npy"
reference = "site"
[[contrast]]
id = "natural-random"
task = "chest"
arms = { "natural" = ["dino"], "a random" = ["random"] }
[[task]]
id = "chest"
label = "Chest radiographs"
domain = "chest"
datasets = ["guests", "site"]
findings = ["Lung_Opacity", "R&D 50%"]
encoders = ["random", "dino"]
context = ["dataset", "view"]
labels = { uncertain = "positive", blank = "negative" }
splits = ["train"]
rows = 10
[[task]]
id = "all"
datasets = ["site"]
findings = ["x"]
)toml";

void refuses(const std::string& text, const std::string& line) {
    BOOST_CHECK_EXCEPTION(parse_study("f.toml", text), UsageError, reads<UsageError>(line));
}

/// `text` with `from` replaced by `to`.
std::string with(std::string text, const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    BOOST_REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

}  // namespace

BOOST_AUTO_TEST_CASE(defaults_of_a_short_study) {
    const Study study = sample();
    BOOST_CHECK_EQUAL(study.name, "sample");
    BOOST_CHECK_EQUAL(study.seed, 42);
    BOOST_CHECK_EQUAL(study.op.k, 5);
    BOOST_CHECK_EQUAL(study.op.bank_cap, 4000);
    BOOST_CHECK(study.op.candidates == Rule::equal);
    BOOST_CHECK(study.op.also.empty() && !study.op.also_is_set);
    BOOST_CHECK(study.op.negative_queries == NegativeQueries::bank);
    BOOST_CHECK_EQUAL(study.op.draws, 1);
    BOOST_CHECK(study.pool.splits == std::vector<std::string>{"test"});
    BOOST_CHECK_EQUAL(study.bootstrap.resamples, 1000);
    BOOST_CHECK_EQUAL(study.test.permutations, 200);
    BOOST_CHECK_EQUAL(study.heads.ensemble, 5);
    BOOST_CHECK_EQUAL(study.encoders.at(0).label, "dino");
    BOOST_CHECK(!study.encoders.at(0).parameters && !study.encoders.at(0).anchor);
    BOOST_CHECK_EQUAL(study.datasets.at(0).columns.image, "image_id");
    BOOST_CHECK(study.tasks.at(0).context == std::vector<std::string>{"dataset"});
    BOOST_CHECK(study.tasks.at(0).encoders == std::vector<std::size_t>{0});
    BOOST_CHECK(study.tasks.at(0).splits == std::vector<std::string>{"test"});
    BOOST_CHECK_EQUAL(study.tasks.at(0).rows, 20000);
    BOOST_CHECK(study.tasks.at(0).blank == LabelAs::excluded);
}

BOOST_AUTO_TEST_CASE(every_key_is_read) {
    const Study study = parse_study("studies/f.toml", everything);
    BOOST_CHECK_EQUAL(study.file, "studies/f.toml");
    BOOST_CHECK_EQUAL(study.name, "All \"keys\"");
    BOOST_CHECK_EQUAL(study.seed, 7);
    BOOST_CHECK_EQUAL(study.op.k, 3);
    BOOST_CHECK_EQUAL(study.op.bank_cap, 50);
    BOOST_CHECK(study.op.candidates == Rule::distinct && study.op.also_is_set);
    BOOST_CHECK((study.op.also == std::vector<Rule>{Rule::equal, Rule::unequal}));
    BOOST_CHECK(study.op.negative_queries == NegativeQueries::all);
    BOOST_CHECK_EQUAL(study.op.draws, 4);
    BOOST_CHECK_EQUAL(study.pool.rows, 0);
    BOOST_CHECK(study.pool.drop_bad_rows && study.pool.intersect_missing && study.pool.drop_leaks);
    BOOST_CHECK(study.pool.blank_context_is_own);
    BOOST_CHECK_EQUAL(study.bootstrap.resamples, 200);
    BOOST_CHECK_EQUAL(study.bootstrap.confidence, 0.9);
    BOOST_CHECK_EQUAL(study.test.permutations, 0);
    BOOST_CHECK_EQUAL(study.test.alpha, 0.01);
    BOOST_CHECK(study.heads.kinds == std::vector<std::string>{"linear"});
    BOOST_CHECK_EQUAL(study.heads.epochs, 2);
    BOOST_CHECK_EQUAL(study.heads.ensemble, 1);
    BOOST_CHECK_EQUAL(study.heads.train_rows, 100);
    BOOST_CHECK_EQUAL(study.heads.test_rows, 50);
    BOOST_CHECK_EQUAL(study.heads.sensitivity, 0.9);
    BOOST_CHECK((study.heads.split == std::vector<double>{0.6, 0.2, 0.2}));
    const Encoder& dino = study.encoders.at(0);
    BOOST_CHECK(dino.label == "DINOv3" && dino.domain == "natural" && dino.objective == "self-supervised");
    BOOST_CHECK_EQUAL(dino.parameters.value(), 86e6);
    BOOST_CHECK_EQUAL(dino.year.value(), 2025);
    BOOST_CHECK(study.encoders.at(1).anchor);
    const Dataset& site = study.datasets.at(0);
    BOOST_CHECK(site.label == "Site A" && site.boxes == "studies/site-boxes.csv");
    BOOST_CHECK(site.columns.image == "image" && site.columns.patient == "mrn" &&
                site.columns.split == "fold");
    BOOST_CHECK_EQUAL(study.datasets.at(1).reference, "site");
    const Task& chest = study.tasks.at(0);
    BOOST_CHECK(chest.label == "Chest radiographs" && chest.domain == "chest");
    BOOST_CHECK((chest.datasets == std::vector<std::size_t>{1, 0}));
    BOOST_CHECK((chest.encoders == std::vector<std::size_t>{1, 0}));
    BOOST_CHECK((chest.context == std::vector<std::string>{"dataset", "view"}));
    BOOST_CHECK(chest.uncertain == LabelAs::positive && chest.blank == LabelAs::negative);
    BOOST_CHECK(chest.splits == std::vector<std::string>{"train"});
    BOOST_CHECK_EQUAL(chest.rows, 10);
    BOOST_CHECK((study.tasks.at(1).splits == std::vector<std::string>{"val", "test"}));
    BOOST_CHECK_EQUAL(study.tasks.at(1).rows, 0);
    BOOST_CHECK((study.tasks.at(1).encoders == std::vector<std::size_t>{0, 1}));
    const Contrast& contrast = study.contrasts.at(0);
    BOOST_REQUIRE_EQUAL(contrast.arms.size(), 2);
    BOOST_CHECK_EQUAL(contrast.arms[0].first, "natural");  // the order of the file, not of the alphabet
    BOOST_CHECK_EQUAL(contrast.arms[1].first, "a random");
    BOOST_CHECK(contrast.arms[1].second == std::vector<std::string>{"random"});
}

BOOST_AUTO_TEST_CASE(paths_are_relative_to_the_study) {
    const Study study = parse_study("studies/f.toml", everything);
    BOOST_CHECK_EQUAL(study.datasets[0].table, "studies/tables/site.csv");
    BOOST_CHECK_EQUAL(study.datasets[0].features_of("dino"), "studies/features/dino/site.h5");
    BOOST_CHECK_EQUAL(study.datasets[0].erased_of("dino"), "studies/erased/dino.h5");
    BOOST_CHECK_EQUAL(study.datasets[1].table, "/data/guests.csv");
    BOOST_CHECK_EQUAL(study.datasets[1].features_of("{dataset}"), "/data/{dataset}.npy");
    BOOST_CHECK_EQUAL(study.datasets[1].erased_of("dino"), "");
    BOOST_CHECK_EQUAL(sample().datasets[0].table, "site.csv");
}

BOOST_AUTO_TEST_CASE(the_effective_text_reads_as_itself) {
    const Study study = parse_study("studies/f.toml", everything);
    const Study again = parse_study("elsewhere/g.toml", study.effective);
    BOOST_CHECK_EQUAL(again.effective, study.effective);
    BOOST_CHECK(study.effective.find("table = \"tables/site.csv\"\n") != std::string::npos);
    BOOST_CHECK(study.effective.find("parameters = 8.6e+07\n") != std::string::npos);
    const Study brief = sample();
    BOOST_CHECK_EQUAL(parse_study("f.toml", brief.effective).effective, brief.effective);
    BOOST_CHECK(!parse_study("f.toml", brief.effective).op.also_is_set);
    BOOST_CHECK(parse_study("f.toml", sample("also = []").effective).op.also_is_set);
    // The order of keys and sections, comments, and defaults written out are not the study.
    const std::string reordered = "[operator]\nk = 5 # as ever\n" + with(sample_text(), "[operator]", "");
    BOOST_CHECK_EQUAL(parse_study("f.toml", reordered).effective, brief.effective);
    const Study odd = parse_study("f.toml", with(sample_text(), "\"sample\"", R"("a\tb\u0001\\\u007f é")"));
    BOOST_CHECK_EQUAL(parse_study("f.toml", odd.effective).name, "a\tb\x01\\\x7f \xc3\xa9");
}

BOOST_AUTO_TEST_CASE(unknown_keys_name_the_nearest_known_one) {
    refuses(sample_text("kk = 3"), "f.toml: operator.kk: unknown key \"kk\"; did you mean \"k\"?");
    refuses(sample_text("", "onleak = \"drop\""),
            "f.toml: pool.onleak: unknown key \"onleak\"; did you mean \"on_leak\"?");
    refuses(sample_text("", "", "finding = [\"a\"]"),
            "f.toml: [[task]] \"chest\": finding: unknown key \"finding\"; did you mean \"findings\"?");
    refuses(sample_text("", "", "labels = { uncertian = \"exclude\" }"),
            "f.toml: [[task]] \"chest\": labels.uncertian: unknown key \"uncertian\"; did you mean "
            "\"uncertain\"?");
    refuses(sample_text() + "[operater]\nk = 1\n",
            "f.toml: operater: unknown section \"operater\"; did you mean \"operator\"?");
    refuses("colour = 1\n" + sample_text(),
            "f.toml: colour: unknown section \"colour\"; known: \"study\", \"operator\", \"pool\", "
            "\"bootstrap\", "
            "\"test\", \"heads\", \"encoder\", \"dataset\", \"contrast\", \"task\"");
    // A misspelt required key is reported as what it is, not as missing.
    refuses(with(sample_text(), "table =", "tables ="),
            "f.toml: [[dataset]] \"site\": tables: unknown key \"tables\"; did you mean \"table\"?");
}

BOOST_AUTO_TEST_CASE(syntax_errors_name_the_line) {
    BOOST_CHECK_EXCEPTION(
        parse_study("f.toml", "[study]\nname = \n"), UsageError, [](const UsageError& error) {
            return error.subject() == "f.toml" && error.rule().starts_with("line 2, column ");
        });
    BOOST_CHECK_THROW(parse_study("f.toml", sample_text("k = 3\nk = 4")), UsageError);
    refuses(with(sample_text(), "[[task]]", "[task]"),
            "f.toml: task: must be written [[task]], once for each task");
    refuses("operator = 3\n" + with(sample_text(), "[operator]", ""),
            "f.toml: operator: must be a section, written [operator]");
}

BOOST_AUTO_TEST_CASE(required_keys_and_sections) {
    refuses(with(sample_text(), "name = \"sample\"", ""), "f.toml: study.name: must be given");
    refuses(with(sample_text(), "table = \"site.csv\"", ""),
            "f.toml: [[dataset]] \"site\": table: must be given");
    refuses(with(sample_text(), "id = \"dino\"", ""), "f.toml: [[encoder]] 1: id: must be given");
    refuses("[study]\nname = \"x\"\n", "f.toml: encoder: the study needs at least one [[encoder]]");
    refuses("[study]\nname = \"x\"\n[[encoder]]\nid = \"e\"\n",
            "f.toml: dataset: the study needs at least one [[dataset]]");
    refuses(sample_text().substr(0, sample_text().find("[[task]]")),
            "f.toml: task: the study needs at least one [[task]]");
}

BOOST_AUTO_TEST_CASE(types_and_ranges_of_the_operator_and_pool) {
    refuses(sample_text("k = 0"), "f.toml: operator.k: must be at least 1, not 0");
    refuses(sample_text("k = 3000000000"), "f.toml: operator.k: must be at most 2147483647, not 3000000000");
    refuses(sample_text("k = \"5\""),
            "f.toml: operator.k: must be a whole number of at most 2147483647, not \"5\"");
    refuses(sample_text("k = 5.0"),
            "f.toml: operator.k: must be a whole number in digits alone, no point or exponent");
    refuses(sample_text("bank_cap = 4"),
            "f.toml: operator.bank_cap: must be 0 (no cap) or at least k = 5, not 4");
    BOOST_CHECK_EQUAL(sample("bank_cap = 5").op.bank_cap, 5);
    BOOST_CHECK_EQUAL(sample("bank_cap = 0").op.bank_cap, 0);
    refuses(sample_text("bank_cap = -1"), "f.toml: operator.bank_cap: must be at least 0, not -1");
    refuses(sample_text("draws = 0"), "f.toml: operator.draws: must be at least 1, not 0");
    refuses(
        sample_text("candidates = \"equals\""),
        "f.toml: operator.candidates: must be one of \"equal\", \"distinct\", \"literal\", \"unequal\", not "
        "\"equals\"");
    refuses(sample_text("also = [\"equal\"]"),
            "f.toml: operator.also: names \"equal\", which is the primary rule already");
    refuses(sample_text("also = [\"literal\", \"literal\"]"),
            "f.toml: operator.also: names \"literal\" twice");
    refuses(sample_text("also = [\"literall\"]"),
            "f.toml: operator.also: unknown rule \"literall\"; did you mean \"literal\"?");
    refuses(sample_text("also = \"literal\""), "f.toml: operator.also: must be a list of texts, not text");
    refuses(sample_text("", "rows = -1"), "f.toml: pool.rows: must be at least 0, not -1");
    refuses(sample_text("", "splits = []"), "f.toml: pool.splits: must not be an empty list");
    refuses(sample_text("", "splits = [\"\"]"), "f.toml: pool.splits: must not hold an empty text");
    refuses(sample_text("", "on_leak = true"),
            "f.toml: pool.on_leak: must be text in quotes, not true or false");
    refuses(sample_text("", "on_leak = \"own\""),
            "f.toml: pool.on_leak: must be one of \"error\", \"drop\", not \"own\"");
    refuses(with(sample_text(), "name = \"sample\"", "name = \"x\"\nseed = -1"),
            "f.toml: study.seed: must be at least 0, not -1");
}

BOOST_AUTO_TEST_CASE(types_and_ranges_of_the_statistics) {
    const auto refused = [](const std::string& lines, const std::string& line) {
        refuses(sample_text() + lines, line);
    };
    refused("[bootstrap]\nresamples = 0", "f.toml: bootstrap.resamples: must be at least 1, not 0");
    refused("[bootstrap]\nconfidence = 1", "f.toml: bootstrap.confidence: must lie between 0 and 1, not 1");
    refused("[bootstrap]\nconfidence = 95", "f.toml: bootstrap.confidence: must lie between 0 and 1, not 95");
    refused("[bootstrap]\nconfidence = nan", "f.toml: bootstrap.confidence: must be finite, not nan");
    refused("[test]\npermutations = 1", "f.toml: test.permutations: must be 0 (none) or at least 2, not 1");
    refused("[test]\nalpha = 0.0", "f.toml: test.alpha: must lie between 0 and 1, not 0");
    refused("[heads]\nkinds = [\"linar\"]",
            "f.toml: heads.kinds: unknown kind \"linar\"; did you mean \"linear\"?");
    refused("[heads]\nsensitivity = 0", "f.toml: heads.sensitivity: must be above 0 and at most 1, not 0");
    for (const char* split : {"[0.5, 0.5]", "[0.8, 0.3, -0.1]", "[0.6, 0.2, 0.3]", "[]"}) {
        refused("[heads]\nsplit = " + std::string(split),
                "f.toml: heads.split: must be three shares (train, val, test) above 0 that add up to 1");
    }
}

BOOST_AUTO_TEST_CASE(ids_name_files_and_groups) {
    for (const char* bad : {".", "..", "*"}) {
        refuses(with(sample_text(), "id = \"chest\"", "id = \"" + std::string(bad) + '"'),
                "f.toml: [[task]] \"" + std::string(bad) + "\": id: must not be \"" + bad + '"');
    }
    refuses(with(sample_text(), "id = \"chest\"", "id = \"\""), "f.toml: [[task]] 1: id: must not be empty");
    for (const char* bad : {"a/b", "a\\u0000b", "a\\nb", "a\\u007f"}) {
        BOOST_CHECK_EXCEPTION(
            parse_study("f.toml", with(sample_text(), "id = \"chest\"", "id = \"" + std::string(bad) + '"')),
            UsageError,
            [](const UsageError& e) { return e.rule() == "must not hold \"/\" or control characters"; });
    }
    refuses(with(sample_text(), "id = \"chest\"", "id = \" chest\""),
            "f.toml: [[task]] \" chest\": id: must not begin or end with a blank");
    refuses(sample_text() + "[[encoder]]\nid = \"dino\"\n",
            "f.toml: [[encoder]] \"dino\": id: is used twice; ids must be unique");
}

BOOST_AUTO_TEST_CASE(encoders_of_a_task) {
    refuses(
        sample_text("", "", "encoders = [\"dyno\"]"),
        "f.toml: [[task]] \"chest\": encoders: unknown encoder \"dyno\" in task \"chest\"; known: \"dino\"");
    refuses(sample_text("", "", "encoders = [\"*\", \"dino\"]"),
            "f.toml: [[task]] \"chest\": encoders: \"*\" means every encoder, so it stands alone");
    refuses(sample_text("", "", "encoders = []"),
            "f.toml: [[task]] \"chest\": encoders: must not be an empty list");
    refuses(
        with(sample_text(), "datasets = [\"site\"]", "datasets = [\"sites\"]"),
        "f.toml: [[task]] \"chest\": datasets: unknown dataset \"sites\" in task \"chest\"; known: \"site\"");
    refuses(with(everything, "year = 2025", "anchor = true"),
            "f.toml: [[task]] \"chest\": encoders: must hold at most one anchor, not 2");
}

BOOST_AUTO_TEST_CASE(columns_have_one_part) {
    refuses(with(sample_text(), "findings = [\"edema\"]", "findings = [\"edema\", \"edema\"]"),
            "f.toml: [[task]] \"chest\": findings: names \"edema\" twice");
    refuses(with(sample_text(), "findings = [\"edema\"]", "findings = []"),
            "f.toml: [[task]] \"chest\": findings: must not be an empty list");
    refuses(sample_text("", "", "context = [\"view\", \"edema\"]"),
            "f.toml: [[task]] \"chest\": context: \"edema\" is a finding of the task, so it cannot be its "
            "context");
    refuses(sample_text("", "", "context = [\"view\", \"view\"]"),
            "f.toml: [[task]] \"chest\": context: names \"view\" twice");
    refuses(sample_text("", "", "context = []"),
            "f.toml: [[task]] \"chest\": context: must not be an empty list");
    refuses(
        with(sample_text(), "\"edema\"", "\"split\""),
        "f.toml: [[task]] \"chest\": findings: \"split\" is the image, patient or split column of dataset "
        "\"site\"");
    refuses(with(sample_text(), "[[task]]", "columns = { image = \"id\", patient = \"id\" }\n[[task]]"),
            "f.toml: [[dataset]] \"site\": columns.patient: names the image column");
}

BOOST_AUTO_TEST_CASE(label_policies) {
    refuses(sample_text("", "", "labels = { blank = \"positive\" }"),
            "f.toml: [[task]] \"chest\": labels.blank: must be one of \"exclude\", \"negative\", not "
            "\"positive\"");
    refuses(sample_text("", "", "labels = { uncertain = \"drop\" }"),
            "f.toml: [[task]] \"chest\": labels.uncertain: must be one of \"exclude\", \"positive\", "
            "\"negative\", not "
            "\"drop\"");
    refuses(sample_text("", "", "labels = \"exclude\""),
            "f.toml: [[task]] \"chest\": labels: must be a table { key = value, ... }, not text");
}

BOOST_AUTO_TEST_CASE(patterns_and_references) {
    const std::string pattern = "features = \"{encoder}/{dataset}.h5\"";
    refuses(with(sample_text(), pattern, "features = \"{model}.h5\""),
            "f.toml: [[dataset]] \"site\": features: may hold {encoder} and {dataset}, not \"{model}\"");
    refuses(with(sample_text(), pattern, "features = \"{encoder\""),
            "f.toml: [[dataset]] \"site\": features: may hold {encoder} and {dataset}, not \"{encoder\"");
    BOOST_CHECK_EQUAL(
        parse_study("f.toml", with(sample_text(), pattern, "features = \"x.h5\"")).datasets[0].features,
        "x.h5");
    refuses(with(everything, "\"features/{encoder}/{dataset}.h5\"", "\"features/{dataset}.h5\""),
            "f.toml: [[dataset]] \"site\": features: must hold {encoder}: the study has 2 encoders, each "
            "with features "
            "of its own");
    refuses(with(everything, "reference = \"site\"", "reference = \"sit\""),
            "f.toml: [[dataset]] \"guests\": reference: unknown dataset \"sit\"; did you mean \"site\"?");
    refuses(with(everything, "reference = \"site\"", "reference = \"guests\""),
            "f.toml: [[dataset]] \"guests\": reference: must be another dataset");
    refuses(with(everything, "label = \"Site A\"", "reference = \"guests\""),
            "f.toml: [[dataset]] \"site\": reference: \"guests\" has a reference itself; name that one");
}

BOOST_AUTO_TEST_CASE(contrasts_name_encoders_of_their_task) {
    refuses(with(everything, "\"natural\" = [\"dino\"]", "\"natural\" = [\"dyno\"]"),
            "f.toml: [[contrast]] \"natural-random\": arms.natural: unknown encoder \"dyno\" in contrast "
            "\"natural-random\"; known: \"dino\", \"random\"");
    refuses(with(everything, "encoders = [\"random\", \"dino\"]", "encoders = [\"dino\"]"),
            "f.toml: [[contrast]] \"natural-random\": arms.a random: encoder \"random\" is not in task "
            "\"chest\"");
    refuses(with(everything, "task = \"chest\"", "task = \"chess\""),
            "f.toml: [[contrast]] \"natural-random\": task: unknown task \"chess\" in contrast "
            "\"natural-random\"; "
            "known: \"chest\", \"all\"");
    refuses(with(everything, ", \"a random\" = [\"random\"]", ""),
            "f.toml: [[contrast]] \"natural-random\": arms: a contrast needs at least two arms");
    refuses(with(everything, "\"a random\" = [\"random\"]", "\"a random\" = [\"random\", \"dino\"]"),
            "f.toml: [[contrast]] \"natural-random\": arms.a random: encoder \"dino\" is in another arm "
            "already");
}

BOOST_AUTO_TEST_CASE(overrides_replace_plain_keys) {
    const Study study =
        parse_study("f.toml", sample_text("k = 4"),
                    {"operator.k=3", "pool.splits=[\"a\", \"b\"]", "operator.candidates=literal",
                     "study.name = \"quoted = text\"", "bootstrap.confidence=0.5", "operator.k=2"});
    BOOST_CHECK_EQUAL(study.op.k, 2);
    BOOST_CHECK((study.pool.splits == std::vector<std::string>{"a", "b"}));
    BOOST_CHECK((study.tasks[0].splits == std::vector<std::string>{"a", "b"}));
    BOOST_CHECK(study.op.candidates == Rule::literal);
    BOOST_CHECK_EQUAL(study.name, "quoted = text");
    BOOST_CHECK_EQUAL(study.bootstrap.confidence, 0.5);
    BOOST_CHECK_EQUAL(parse_study("f.toml", study.effective).effective, study.effective);
}

BOOST_AUTO_TEST_CASE(overrides_are_checked_as_the_file_is) {
    const auto refused = [](const std::string& override, const std::string& line) {
        BOOST_CHECK_EXCEPTION(parse_study("f.toml", sample_text(), {override}), UsageError,
                              reads<UsageError>(line));
    };
    refused("operator.kk=3", "--set: operator.kk: unknown key \"kk\"; did you mean \"k\"?");
    refused("operater.k=3", "--set: operater.k: unknown section \"operater\"; did you mean \"operator\"?");
    refused("operator.k=0", "--set: operator.k: must be at least 1, not 0");
    refused("operator.k=1e9",
            "--set: operator.k: must be a whole number in digits alone, no point or exponent");
    refused("pool.rows=99999999999999999999",
            "--set: pool.rows: must be a whole number of at most 9223372036854775807, not "
            "\"99999999999999999999\"");
    refused("operator.k=three",
            "--set: operator.k: must be a whole number of at most 2147483647, not \"three\"");
    refused("operator.k=3\n[heads]\nepochs=1",
            "--set: operator.k: must be a whole number of at most 2147483647, not \"3 [heads] epochs=1\"");
    refused("study.name=12", "--set: study.name: must be text in quotes, not a whole number");
    refused("study.name=", "--set: study.name: must not be empty");
    refused("task.rows=3",
            "--set: task.rows: unknown section \"task\"; known: \"study\", \"operator\", \"pool\", "
            "\"bootstrap\", \"test\", \"heads\"");
    refused("operator", "--set: \"operator\" must read section.key=value, e.g. operator.k=3");
    refused("k=3", "--set: \"k=3\" must read section.key=value, e.g. operator.k=3");
    BOOST_CHECK_EXCEPTION(parse_study("f.toml", sample_text(), {"pool.splits=[\"a\""}), UsageError,
                          [](const UsageError& error) { return error.subject() == "--set: pool.splits"; });
    // A bad value of the file stays the file's.
    BOOST_CHECK_EXCEPTION(parse_study("f.toml", sample_text("k = 0"), {"operator.draws=2"}), UsageError,
                          reads<UsageError>("f.toml: operator.k: must be at least 1, not 0"));
}

BOOST_AUTO_TEST_SUITE_END()
