#include "candor/campaign/reopen_mpi.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>
#include <variant>

#include "candor/base/bytes.hpp"
#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/campaign/record_mpi.hpp"
#include "candor/parallel/session.hpp"
#include "candor/store/results_file.hpp"

namespace candor::campaign {

namespace {

/// Where the study file of `results` is now: only its folder is of use, so it is not read.
std::string find_study_file(const std::string& results, const std::string& recorded,
                            const std::string& given) {
    namespace fs = std::filesystem;
    if (!given.empty()) {
        if (!fs::is_regular_file(given)) throw DataError({given}, "is no file", "give --study STUDY.toml");
        return given;
    }
    // An absolute path stays what it is.
    for (const fs::path& path : {fs::path(recorded), fs::path(results).parent_path() / recorded}) {
        if (fs::is_regular_file(path)) return path.string();
    }
    throw DataError({results}, "was made from \"" + recorded + "\", which is neither there nor beside it",
                    "give its place: --study STUDY.toml");
}

/// "digest bytes" of a line of `describe_inputs`, and the path behind it.
std::pair<std::string_view, std::string> split_input(std::string_view line) {
    const std::size_t cut = line.find(' ', line.find(' ') + 1);
    return {line.substr(0, cut), std::string(line.substr(std::min(cut, line.size() - 1) + 1))};
}

/// Compares what was read now, in the order of `describe_inputs`, with the first of what the run read.
void require_unchanged(const RecordedStudy& recorded, const std::vector<std::string>& now) {
    for (std::size_t i = 0; i < std::min(now.size(), recorded.inputs.size()); ++i) {
        const auto [content, path] = split_input(now[i]);
        if (split_input(recorded.inputs[i]).first != content) {
            throw DataError({path}, "changed since " + recorded.results + " was written",
                            "run the study again");
        }
    }
}

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines = split_text(text, '\n');
    std::erase(lines, "");
    return lines;
}

}  // namespace

RecordedStudy read_record_mpi(const parallel::Communicator& world, const std::string& results,
                              const std::string& study_file) {
    const std::string bytes = parallel::on_root(world, [&] {
        const store::ResultsReader reader(results);
        const auto text = [&](const char* name) {
            return std::get<std::string>(reader.attribute("/run", name));
        };
        ByteWriter out;
        out.put(find_study_file(results, text("study_file"), study_file));
        out.put(text("study"));
        out.put(text("inputs"));
        return out.take();
    });
    ByteReader in(bytes);
    const std::string file = in.get_text();
    RecordedStudy recorded{results, study::parse_study(file, in.get_text()), lines_of(in.get_text())};
    CANDOR_REQUIRE(!recorded.inputs.empty(), results);
    recorded.inputs.erase(recorded.inputs.begin());  // the study file itself: its text is in the results
    return recorded;
}

Prepared reopen_mpi(const parallel::Communicator& world, const RecordedStudy& recorded, const Log& log) {
    Inputs inputs = load_tables_mpi(world, recorded.study);
    // The tables first: a changed one may make sound features look wrong.
    Prepared tables_alone;
    tables_alone.inputs.files = inputs.files;
    require_unchanged(recorded, lines_of(describe_inputs(tables_alone)));

    parallel::StopRequest never;
    Prepared prepared = prepare_mpi(world, std::move(inputs), never, log);
    const std::vector<std::string> now = lines_of(describe_inputs(prepared));
    require_unchanged(recorded, now);
    // The run may have read more, behind these; nothing here rests on it.
    if (now.size() > recorded.inputs.size()) {
        throw DataError({recorded.results},
                        "was made from " + std::to_string(recorded.inputs.size()) +
                            " input files where its study has " + std::to_string(now.size()),
                        "run the study again");
    }
    return prepared;
}

}  // namespace candor::campaign
