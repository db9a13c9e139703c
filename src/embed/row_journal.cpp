#include "candor/embed/row_journal.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>

#include "candor/base/bytes.hpp"
#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/parallel/session.hpp"
#include "candor/store/output_file.hpp"
#include "candor/store/output_lock.hpp"

namespace candor::embed {

namespace {

namespace fs = std::filesystem;

constexpr const char* records_suffix = ".rows";

std::vector<std::string> record_names(const std::string& folder) {
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
        if (entry.is_regular_file() && entry.path().extension() == records_suffix)
            names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
}

void remove_files(const std::string& folder) {
    for (const std::string& name : record_names(folder)) fs::remove(folder + "/" + name);
    fs::remove(folder + "/" + made_from_name);
    fs::remove(store::part_of(folder + "/" + made_from_name));
}

std::optional<std::string> read_made_from(const std::string& path) {
    if (!fs::exists(path)) return std::nullopt;
    std::optional<std::string> text;
    store::read_journal(path, {}, [&](std::string_view record) { text = std::string(record); });
    return text;
}

/// The first line in which the two differ, there and here.
std::string difference(const std::string& was, const std::string& is) {
    const auto before = split_text(was, '\n'), now = split_text(is, '\n');
    std::size_t line = 0;
    while (line < std::min(before.size(), now.size()) && before[line] == now[line]) ++line;
    const auto at = [&](const std::vector<std::string>& text) {
        return line < text.size() && !text[line].empty() ? "\"" + text[line] + "\"" : "nothing";
    };
    return at(before) + " there, " + at(now) + " here";
}

void put(ByteWriter& out, const BatchRows& batch, bool with_rows) {
    out.put(batch.batch);
    out.put(batch.dimension);
    out.put(static_cast<std::int64_t>(batch.omitted.size()));
    for (const Omission& one : batch.omitted) {
        out.put(one.item);
        out.put(one.why);
    }
    if (with_rows) out.put(batch.rows);
}

BatchRows get_batch(ByteReader& in, bool with_rows) {
    BatchRows batch;
    batch.batch = in.get<std::int64_t>();
    batch.dimension = in.get<std::int64_t>();
    for (auto count = in.get<std::int64_t>(); count > 0; --count) {
        Omission one;
        one.item = in.get<std::int64_t>();
        one.why = in.get_text();
        batch.omitted.push_back(std::move(one));
    }
    if (with_rows) batch.rows = in.get_text();
    return batch;
}

}  // namespace

RowJournal::RowJournal(const parallel::Communicator& world, const std::string& output,
                       const std::string& made_from, const std::string& machine, bool overwrite,
                       const Log& log)
    : folder_(output + ".journal") {
    const std::string whole = made_from + machine;
    identity_ = digest(std::as_bytes(std::span(whole)));
    const std::string told = parallel::on_root(world, [&] {
        const std::string begun = folder_ + "/" + made_from_name;
        const auto standing = read_made_from(begun);
        if (standing && *standing != made_from && !record_names(folder_).empty() && !overwrite) {
            throw UsageError(
                folder_, "holds unfinished features of another kind (" + difference(*standing, made_from) +
                             "); go on with those, name another output in the study, or give --overwrite "
                             "to begin anew");
        }
        if (!standing || *standing != made_from) {
            remove_files(folder_);
            {
                store::JournalWriter writer(store::part_of(begun), {});
                writer.append(made_from);
            }
            store::publish(begun);
        }
        const std::vector<std::string> names = record_names(folder_);
        std::int64_t session = 1;
        if (!names.empty())
            session =
                parse_integer(std::string_view(names.back()).substr(0, names.back().find('-'))).value_or(0) +
                1;
        ByteWriter out;
        out.put(session);
        for (const std::string& name : names) out.put(name);
        return out.take();
    });
    ByteReader in(told);
    const auto session = in.get<std::int64_t>();
    std::int64_t earlier = 0;
    for (; !in.done(); ++earlier) {
        const std::string name = in.get_text();
        if (earlier % world.size() == world.rank()) files_.push_back(folder_ + "/" + name);
    }
    char mine[64];
    std::snprintf(mine, sizeof mine, "/%08lld-%06d%s", static_cast<long long>(session), world.rank(),
                  records_suffix);
    files_.push_back(folder_ + mine);
    records_ = std::make_unique<store::JournalWriter>(files_.back(), identity_);
    if (earlier > 0) log.info("going on from " + folder_);
}

void RowJournal::keep(const BatchRows& batch) {
    ByteWriter out;
    put(out, batch, true);
    records_->append(out.take());
}

void RowJournal::sync() {
    records_->sync();
}

std::vector<BatchRows> RowJournal::kept_mpi(const parallel::Communicator& world) const {
    ByteWriter out;
    for_each_here([&](const BatchRows& batch) { put(out, batch, false); });
    std::map<std::int64_t, BatchRows> all;
    for (const std::string& bytes : world.all_gather(out.take())) {
        ByteReader in(bytes);
        while (!in.done()) {
            BatchRows batch = get_batch(in, false);
            const std::int64_t number = batch.batch;
            all.emplace(number, std::move(batch));
        }
    }
    std::vector<BatchRows> batches;
    for (auto& [number, batch] : all) batches.push_back(std::move(batch));
    return batches;
}

void RowJournal::for_each_here(const std::function<void(const BatchRows&)>& take) const {
    for (const std::string& file : files_) {
        if (!fs::exists(file)) continue;
        store::read_journal(file, identity_, [&](std::string_view record) {
            ByteReader in(record);
            take(get_batch(in, true));
        });
    }
}

void RowJournal::remove(const parallel::Communicator& world) {
    records_.reset();
    world.barrier();
    parallel::on_root(world, [&] {
        remove_files(folder_);
        return std::string();
    });
}

void RowJournal::remove_left(const std::string& output) {
    const std::string folder = output + ".journal";
    if (!fs::exists(folder)) return;
    const store::OutputLock lock(output, store::OutputLock::Part::holder);
    remove_files(folder);
}

}  // namespace candor::embed
