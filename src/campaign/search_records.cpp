#include "candor/campaign/search_records.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>

#include "candor/base/bytes.hpp"
#include "candor/base/error.hpp"
#include "candor/store/journal.hpp"

namespace candor::campaign {

namespace fs = std::filesystem;

std::string journal_name(std::int64_t session, int rank) {
    char text[48];
    std::snprintf(text, sizeof text, "%08lld-%06d", static_cast<long long>(session), rank);
    return text;
}

std::vector<std::string> journal_names(const std::string& folder) {
    std::set<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
        const fs::path file = entry.path();
        if (file.extension() == records_suffix || file.extension() == checkpoint_suffix ||
            file.extension() == results_suffix)
            names.insert(file.stem().string());
    }
    return {names.begin(), names.end()};
}

std::string bytes_of(const JournalIdentity& identity, std::int64_t block_rows) {
    ByteWriter out;
    for (const std::string& text : {identity.program, identity.study, identity.inputs}) out.put(text);
    out.put(static_cast<std::int64_t>(identity.ablations));
    out.put(block_rows);
    return out.take();
}

Digest digest_of(const JournalIdentity& identity) {
    return digest(std::as_bytes(std::span<const char>(bytes_of(identity, 0))));
}

std::optional<std::pair<JournalIdentity, std::int64_t>> read_identity(const std::string& folder) {
    const std::string path = folder + "/" + begun_for;
    if (!fs::exists(path)) return std::nullopt;
    std::optional<std::pair<JournalIdentity, std::int64_t>> read;
    store::read_journal(path, {}, [&](std::string_view record) {
        ByteReader in(record);
        JournalIdentity identity;
        for (std::string* text : {&identity.program, &identity.study, &identity.inputs})
            *text = in.get_text();
        identity.ablations = in.get<std::int64_t>() != 0;
        read.emplace(std::move(identity), in.get<std::int64_t>());
    });
    return read;
}

void require_no_work(const std::string& folder) {
    if (journal_names(folder).empty()) return;
    throw MachineError(
        folder + "/" + begun_for,
        "is missing or damaged, and without it nobody knows what the finished work beside it is of",
        "restore it, or remove the folder to begin anew (run --overwrite does)");
}

std::string agenda_name(Search search) {
    const char* const name = search == Search::matched  ? "matched"
                             : search == Search::merged ? "merged"
                                                        : "training";
    return std::string(name) + agenda_suffix;
}

SearchAgenda agenda_of(const study::Study& study, const std::vector<TaskWork>& work, const SearchPlan& plan) {
    SearchAgenda agenda;
    for (const SearchGroup& group : plan.groups) {
        const TaskWork& here = work[group.work];
        const study::Task& task = study.tasks[here.task];
        agenda.groups.push_back({task.id, study.encoders[task.encoders[group.encoder]].id,
                                 here.contexts[static_cast<std::size_t>(group.context)].name, group.panels, 0,
                                 0});
    }
    for (const SearchTask& task : plan.tasks) {
        ++agenda.groups[task.group].encounters;
        agenda.groups[task.group].flops += task.flops;
    }
    return agenda;
}

std::string bytes_of(const SearchAgenda& agenda) {
    ByteWriter out;
    out.put(agenda.session);
    out.put(agenda.ranks);
    out.put(agenda.heads);
    out.put(agenda.scores);
    for (const AgendaGroup& group : agenda.groups) {
        for (const std::string& text : {group.task, group.encoder, group.context}) out.put(text);
        out.put(group.panels);
        out.put(group.encounters);
        out.put(group.flops);
    }
    return out.take();
}

std::optional<SearchAgenda> read_agenda(const std::string& path, const Digest& identity) {
    if (!fs::exists(path)) return std::nullopt;
    std::optional<SearchAgenda> read;
    store::read_journal(path, identity, [&](std::string_view record) {
        ByteReader in(record);
        read.emplace();
        read->session = in.get<std::int64_t>();
        read->ranks = in.get<std::int64_t>();
        read->heads = in.get<std::int64_t>();
        read->scores = in.get<std::int64_t>();
        while (!in.done()) {
            AgendaGroup group;
            for (std::string* text : {&group.task, &group.encoder, &group.context}) *text = in.get_text();
            group.panels = in.get<std::int64_t>();
            group.encounters = in.get<std::int64_t>();
            group.flops = in.get<double>();
            read->groups.push_back(std::move(group));
        }
    });
    return read;
}

std::string answers_record(Search search, std::size_t group, std::span<const Answer> answers,
                           const SearchCost& cost) {
    ByteWriter out;
    out.put(Kind::answers);
    out.put(search);
    out.put(group);
    out.put(cost);
    for (const Answer& answer : answers) {
        out.put(answer.panel);
        out.put(std::ssize(answer.found));
        for (const FoundPart& part : answer.found) put(out, part);
    }
    return out.take();
}

std::string kept_record(Search search, const KeptPart& part) {
    ByteWriter out;
    out.put(Kind::kept);
    out.put(search);
    out.put(part.group);
    out.put(part.panel);
    out.put(part.bytes);
    return out.take();
}

std::string met_record(Search search, std::size_t group, std::span<const neighbors::Encounter> met) {
    ByteWriter out;
    out.put(Kind::met);
    out.put(search);
    out.put(group);
    for (const neighbors::Encounter& one : met) {
        out.put(one.i);
        out.put(one.j);
    }
    return out.take();
}

void read_records(const std::string& records, const std::string& checkpoint, const Digest& identity,
                  Search search, std::int64_t& torn, const std::function<void(ReadRecord)>& take) {
    std::int64_t place = 0;
    std::set<std::size_t> finished;  // here: groups of the records
    for (const bool from_checkpoint : {false, true}) {
        const std::string& path = from_checkpoint ? checkpoint : records;
        if (!fs::exists(path)) continue;
        std::vector<KeptPart> kept;
        torn += store::read_journal(path, identity, [&](std::string_view record) {
            ByteReader in(record);
            const auto kind = in.get<Kind>();
            const auto of = in.get<Search>();
            const auto group = in.get<std::size_t>();
            if (of != search || (from_checkpoint && finished.contains(group))) return;
            if (!from_checkpoint) finished.insert(group);
            if (kind == Kind::kept) {
                const auto panel = in.get<std::int64_t>();
                kept.push_back({group, panel, in.get_text()});
                return;
            }
            ReadRecord one;
            one.is_checkpoint = from_checkpoint;
            one.known.kind = kind;
            one.known.group = group;
            one.known.place = place++;
            if (kind == Kind::answers) {
                one.cost = in.get<SearchCost>();
                while (!in.done()) {
                    one.known.panels.push_back(in.get<std::int64_t>());
                    const auto parts = in.get<std::ptrdiff_t>();
                    for (std::ptrdiff_t p = 0; p < parts; ++p) one.found.push_back(get_found_part(in));
                }
            } else {
                while (!in.done()) {
                    const auto i = in.get<std::int64_t>();
                    one.known.met.push_back({i, in.get<std::int64_t>()});
                }
                one.kept = std::exchange(kept, {});
            }
            take(std::move(one));
        });
    }
}

bool take(const Known& known, SearchDone& done) {
    const auto is_new = [](const auto& what, std::size_t group, const auto& all) {
        return std::ranges::none_of(all, [&](const auto& one) { return what.contains({group, one}); });
    };
    if (!is_new(done.answered, known.group, known.panels) || !is_new(done.met, known.group, known.met))
        return false;
    for (const std::int64_t panel : known.panels) done.answered.insert({known.group, panel});
    for (const PanelPair& pair : known.met) done.met.insert({known.group, pair});
    return true;
}

}  // namespace candor::campaign
