#include "candor/campaign/result_journal_mpi.hpp"

#include <unistd.h>

#include <filesystem>

#include "candor/base/bytes.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/store/output_file.hpp"

namespace candor::campaign {

ResultJournal::ResultJournal(const SearchJournal& journal) {
    if (journal.results_file().empty()) return;
    journal_ = &journal;
    records_ = std::make_unique<store::JournalWriter>(journal.results_file(), journal.identity());
}

ResultJournal::Earlier ResultJournal::earlier_mpi(const parallel::Communicator& world, Kept kind) const {
    Earlier earlier;
    if (journal_ == nullptr || journal_->earlier_results_files().empty()) return earlier;
    const std::vector<std::string>& files = journal_->earlier_results_files();
    const std::string core = linalg::blas_core();
    for (std::size_t f = static_cast<std::size_t>(world.rank()); f < files.size();
         f += static_cast<std::size_t>(world.size())) {
        if (!std::filesystem::exists(files[f])) continue;
        store::read_journal(files[f], journal_->identity(), [&](std::string_view record) {
            ByteReader in(record);
            if (in.get<Kept>() != kind || in.get_text() != core) return;
            std::string key = in.get_text();
            earlier.here.emplace_back(std::move(key), in.get_text());
        });
    }
    ByteWriter mine;
    for (const auto& [key, result] : earlier.here) mine.put(key);
    const std::vector<std::string> all = world.all_gather(mine.take());
    // Of a result that several hold, which no run leaves, the first rank's counts.
    std::set<std::string> others;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        if (static_cast<int>(rank) == world.rank()) others = earlier.done;
        ByteReader in(all[rank]);
        while (!in.done()) earlier.done.insert(in.get_text());
    }
    std::erase_if(earlier.here, [&](const auto& one) { return !others.insert(one.first).second; });
    return earlier;
}

void ResultJournal::keep(Kept kind, const std::string& key, const std::string& result) {
    if (!records_) return;
    ByteWriter out;
    out.put(kind);
    out.put(linalg::blas_core());
    out.put(key);
    out.put(result);
    records_->append(out.take());
    journal_->note_kept();
}

void ResultJournal::sync() {
    if (records_) records_->sync();
}

std::string ResultJournal::path_of(const std::string& name) const {
    return journal_->folder() + "/" + name + training_suffix;
}

std::optional<std::string> ResultJournal::checkpoint(const std::string& name) const {
    if (journal_ == nullptr || !std::filesystem::exists(path_of(name))) return std::nullopt;
    std::optional<std::string> state;
    store::read_journal(path_of(name), journal_->identity(), [&](std::string_view record) {
        ByteReader in(record);
        if (in.get_text() == linalg::blas_core()) state = in.get_text();
    });
    return state;
}

void ResultJournal::keep_checkpoint(const std::string& name, const std::string& state) const {
    if (journal_ == nullptr) return;
    const std::string path = path_of(name);
    {
        store::JournalWriter writer(store::part_of(path), journal_->identity());
        ByteWriter out;
        out.put(linalg::blas_core());
        out.put(state);
        writer.append(out.take());
    }
    store::publish(path);
    journal_->note_kept();
}

void ResultJournal::drop_checkpoint(const std::string& name) const {
    // Where it stays it does not count: what it is of is finished.
    if (journal_ != nullptr) unlink(path_of(name).c_str());
}

}  // namespace candor::campaign
