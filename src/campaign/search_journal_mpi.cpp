#include "candor/campaign/search_journal_mpi.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>

#include "candor/base/bytes.hpp"
#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/parallel/session.hpp"
#include "candor/store/output_file.hpp"

namespace candor::campaign {

namespace {

namespace fs = std::filesystem;

/// Removes what a journal consists of and nothing else.
void remove_files(const std::string& folder) {
    std::vector<fs::path> ours;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
        const fs::path file = entry.path();
        const fs::path ending = file.extension() == ".part" ? file.stem().extension() : file.extension();
        if (entry.is_regular_file() &&
            (ending == records_suffix || ending == checkpoint_suffix || ending == results_suffix ||
             ending == agenda_suffix || ending == training_suffix || file.stem() == begun_for))
            ours.push_back(file);
    }
    // Last what they are for: without it none of them may be left.
    std::ranges::stable_partition(ours, [](const fs::path& file) { return file.filename() != begun_for; });
    for (const fs::path& file : ours) fs::remove(file);
}

/// `text` with the last word of each line, a path, cut off: what a file holds counts, not where it is.
std::vector<std::string> without_paths(const std::string& text) {
    std::vector<std::string> lines = split_text(text, '\n');
    for (std::string& line : lines) {
        const std::size_t first = line.find(' ');
        line.resize(std::min(line.size(), line.find(' ', first == std::string::npos ? first : first + 1)));
    }
    return lines;
}

/// In what two identities differ; nothing where they do not.
std::optional<std::string> difference(const JournalIdentity& was, const JournalIdentity& is) {
    if (was.program != is.program)
        return "another version of candor (" + was.program + ", this is " + is.program + ")";
    if (was.study != is.study) {
        const auto before = split_text(was.study, '\n'), now = split_text(is.study, '\n');
        std::size_t line = 0;
        while (line < std::min(before.size(), now.size()) && before[line] == now[line]) ++line;
        const auto at = [&](const std::vector<std::string>& text) {
            return line < text.size() && !text[line].empty() ? "\"" + text[line] + "\"" : "nothing";
        };
        return "another study (" + at(before) + " there, " + at(now) + " here)";
    }
    if (const auto before = without_paths(was.inputs), now = without_paths(is.inputs); before != now) {
        std::size_t line = 0;
        while (line < std::min(before.size(), now.size()) && before[line] == now[line]) ++line;
        const auto files = split_text(line < now.size() ? is.inputs : was.inputs, '\n');
        const std::string& file = files[std::min(line, files.size() - 1)];
        return "other inputs (first " + file.substr(std::min(file.size(), file.rfind(' ') + 1)) + ")";
    }
    if (was.ablations != is.ablations)
        return std::string(was.ablations ? "a run with" : "a run without") + " --ablations";
    return std::nullopt;
}

void put(ByteWriter& out, const Known& known) {
    out.put(known.file);
    out.put(known.place);
    out.put(known.kind);
    out.put(known.group);
    out.put(std::span<const std::int64_t>(known.panels));
    out.put(std::span<const PanelPair>(known.met));
}

Known get_known(ByteReader& in) {
    Known known;
    known.file = in.get<std::int64_t>();
    known.place = in.get<std::int64_t>();
    known.kind = in.get<Kind>();
    known.group = in.get<std::size_t>();
    known.panels = in.get_many<std::int64_t>();
    known.met = in.get_many<PanelPair>();
    return known;
}

}  // namespace

SearchJournal::SearchJournal(const parallel::Communicator& world, const std::string& output,
                             const JournalIdentity& identity, std::int64_t block_rows, bool overwrite,
                             const Log& log)
    : folder_(output + ".journal"), block_rows_(block_rows), last_(std::chrono::steady_clock::now()) {
    const std::string told = parallel::on_root(world, [&] {
        const std::string begun = folder_ + "/" + begun_for;
        const auto standing = read_identity(folder_);
        if (standing) {
            const auto differs = difference(standing->first, identity);
            if (differs && !overwrite && !journal_names(folder_).empty()) {
                throw UsageError(folder_, "holds the unfinished work of " + *differs +
                                              "; go on with that, name another output, or give --overwrite "
                                              "to begin anew");
            }
            if (!differs) block_rows_ = standing->second;
            if (differs) remove_files(folder_);
        } else {
            if (!overwrite) require_no_work(folder_);
            remove_files(folder_);
        }
        const std::string bytes = bytes_of(identity, block_rows_);
        if (!fs::exists(begun)) {
            {
                store::JournalWriter writer(store::part_of(begun), {});
                writer.append(bytes);
            }
            store::publish(begun);
        }
        std::vector<std::string> names = journal_names(folder_);
        std::int64_t session = 1;
        if (!names.empty())
            session =
                parse_integer(std::string_view(names.back()).substr(0, names.back().find('-'))).value_or(0) +
                1;
        ByteWriter out;
        out.put(digest_of(identity));
        out.put(block_rows_);
        out.put(session);
        for (const std::string& name : names) out.put(name);
        return out.take();
    });
    ByteReader in(told);
    identity_ = in.get<Digest>();
    block_rows_ = in.get<std::int64_t>();
    session_ = in.get<std::int64_t>();
    while (!in.done()) {
        const std::string path = folder_ + "/" + in.get_text();
        files_.emplace_back(path + records_suffix, path + checkpoint_suffix);
        earlier_results_files_.push_back(path + results_suffix);
    }
    const std::string mine = folder_ + "/" + journal_name(session_, world.rank());
    records_ = std::make_unique<store::JournalWriter>(mine + records_suffix, identity_);
    checkpoint_ = mine + checkpoint_suffix;
    results_file_ = mine + results_suffix;
    if (goes_on()) log.info("going on from " + folder_);
    if (block_rows_ != block_rows)
        log.info("blocks of " + std::to_string(block_rows_) + " rows, as the journal was begun with");
}

SearchJournal::~SearchJournal() = default;

Earlier SearchJournal::earlier_mpi(const parallel::Communicator& world, Search search, const Log& log) const {
    Earlier earlier;
    if (files_.empty()) return earlier;
    std::vector<ReadRecord> mine;
    std::int64_t torn[] = {0};
    ByteWriter out;
    for (std::size_t f = static_cast<std::size_t>(world.rank()); f < files_.size();
         f += static_cast<std::size_t>(world.size())) {
        read_records(files_[f].first, files_[f].second, identity_, search, torn[0], [&](ReadRecord one) {
            one.known.file = static_cast<std::int64_t>(f);
            put(out, one.known);
            mine.push_back(std::move(one));
        });
    }
    std::vector<Known> all;
    for (const std::string& bytes : world.all_gather(out.take())) {
        ByteReader in(bytes);
        while (!in.done()) all.push_back(get_known(in));
    }
    const auto order = [](const Known& known) { return std::tuple(known.file, known.place); };
    std::ranges::sort(all, {}, order);
    std::set<std::tuple<std::int64_t, std::int64_t>> counts;
    for (const Known& known : all) {
        if (take(known, earlier.done)) counts.insert(order(known));
    }
    for (ReadRecord& one : mine) {
        if (!counts.contains(order(one.known))) continue;
        std::ranges::move(one.found, std::back_inserter(earlier.found));
        std::ranges::move(one.kept, std::back_inserter(earlier.kept));
        earlier.cost += one.cost;
    }
    world.sum(torn);
    if (torn[0] > 0) log.info(std::to_string(torn[0]) + " bytes at the ends of the journal were cut off");
    return earlier;
}

void SearchJournal::announce(Search search, SearchAgenda agenda, int ranks) const {
    if (!records_) return;
    agenda.session = session_;
    agenda.ranks = ranks;
    const std::string path = folder_ + "/" + agenda_name(search);
    {
        store::JournalWriter writer(store::part_of(path), identity_);
        writer.append(bytes_of(agenda));
    }
    store::publish(path);
}

void SearchJournal::answered(Search search, std::size_t group, std::span<const Answer> answers,
                             const SearchCost& cost) {
    if (!records_) return;
    records_->append(answers_record(search, group, answers, cost));
    note_kept();
    drop_checkpoint();
}

void SearchJournal::kept(Search search, std::size_t group, std::span<const neighbors::Encounter> met,
                         std::span<const KeptPart> parts) {
    if (!records_) return;
    for (const KeptPart& part : parts) records_->append(kept_record(search, part));
    records_->append(met_record(search, group, met));
    note_kept();
    drop_checkpoint();
}

bool SearchJournal::is_due() const {
    // Keeping must stay cheap beside searching.
    constexpr std::chrono::seconds most_at_risk(30);
    constexpr double share = 0.05;
    const auto since = std::chrono::steady_clock::now() - last_;
    return records_ && since >= most_at_risk && share * since >= took_;
}

void SearchJournal::checkpoint(Search search, std::size_t group, std::span<const neighbors::Encounter> met,
                               const std::function<std::string(std::int64_t)>& kept_of) {
    if (!records_ || met.empty()) return;
    const auto start = std::chrono::steady_clock::now();
    std::set<std::int64_t> panels;
    for (const neighbors::Encounter& one : met) panels.insert({one.i, one.j});
    {
        store::JournalWriter writer(store::part_of(checkpoint_), identity_);
        for (const std::int64_t panel : panels)
            writer.append(kept_record(search, {group, panel, kept_of(panel)}));
        writer.append(met_record(search, group, met));
    }
    store::publish(checkpoint_);
    note_kept();
    has_checkpoint_ = true;
    last_ = std::chrono::steady_clock::now();
    took_ = last_ - start;
}

void SearchJournal::drop_checkpoint() {
    last_ = std::chrono::steady_clock::now();
    if (!std::exchange(has_checkpoint_, false)) return;
    unlink(checkpoint_.c_str());  // where it stays, it does not count: the records hold the group
}

void SearchJournal::sync() {
    if (records_) records_->sync();
}

void SearchJournal::remove(const parallel::Communicator& world) {
    if (!records_) return;
    records_.reset();
    world.barrier();
    parallel::on_root(world, [&] {
        remove_files(folder_);
        return std::string();
    });
}

void SearchJournal::remove_left(const std::string& output, const JournalIdentity& identity) {
    const std::string folder = output + ".journal";
    const auto standing = read_identity(folder);
    if (standing && !difference(standing->first, identity)) remove_files(folder);
}

}  // namespace candor::campaign
