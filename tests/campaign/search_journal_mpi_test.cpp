#include "candor/campaign/search_journal_mpi.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "candor/base/error.hpp"
#include "candor/campaign/search_mpi.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/parallel/communicator.hpp"
#include "candor/parallel/session.hpp"
#include "definition.hpp"
#include "made_study.hpp"
#include "shared_journal.hpp"

using namespace candor;
using namespace candor::testing;
using campaign::Found;
using campaign::JournalIdentity;
using campaign::Search;
using campaign::SearchJournal;

namespace {

/// Rows that ask to stop after they were read so many times.
class StoppingRows : public neighbors::RowSource {
  public:
    StoppingRows(std::unique_ptr<neighbors::RowSource> rows, std::int64_t& reads_left)
        : rows_(std::move(rows)), left_(reads_left) {}
    std::int64_t rows() const override { return rows_->rows(); }
    std::int64_t dimension() const override { return rows_->dimension(); }
    neighbors::StoredRows read(std::span<const ContextRow> which) const override {
        if (left_-- == 0) std::raise(SIGUSR1);
        return rows_->read(which);
    }

  private:
    std::unique_ptr<neighbors::RowSource> rows_;
    std::int64_t& left_;
};

struct Made {
    campaign::Inputs inputs = made_inputs();
    std::vector<campaign::TaskWork> work = made_work(inputs);
    std::vector<Found> all = all_by_definition(inputs.study, work, open_made(inputs.study, work));
};

const Made& made() {
    static const Made one;
    return one;
}

/// One run: goes on from the journal; this rank is asked to stop after `reads` reads (-1: never).
/// @returns whether it came to its end; what it found is then as the definition says.
bool run(const SharedJournal& folder, const neighbors::SearchOptions& options, std::int64_t reads,
         std::size_t turn, std::int64_t& searched) {
    const auto& study = made().inputs.study;
    SearchJournal journal(world(), folder.output(), ours, options.block_rows, false, silent);
    parallel::StopRequest stop(world());
    campaign::Earlier earlier = journal.earlier_mpi(world(), Search::matched, silent);
    auto plan =
        campaign::plan_search(study, made().work, made_dimensions, options, world().size(), earlier.done);
    // Another share for every rank each time.
    for (std::size_t t = 0; t < plan.rank.size(); ++t)
        plan.rank[t] = static_cast<int>((t * (turn % 3) + turn) % static_cast<std::size_t>(world().size()));
    const auto open = open_made(study, made().work);
    campaign::SearchCost cost;
    try {
        const auto parts = campaign::search_mpi(
            world(), study, made().work, plan, std::move(earlier),
            [&](const campaign::SearchGroup& group) {
                return std::make_unique<StoppingRows>(open(group), reads);
            },
            options, {journal, Search::matched, stop, silent}, cost);
        const auto owner = [](std::size_t w, std::size_t e, std::size_t f) {
            return static_cast<int>(w + 2 * e + f) % world().size();
        };
        std::vector<Found> expected;
        std::ranges::copy_if(made().all, std::back_inserter(expected), [&](const Found& one) {
            const auto finding = static_cast<std::size_t>(made().work[one.work].cells[one.cell].finding);
            return owner(one.work, one.encoder, finding) == world().rank();
        });
        BOOST_TEST(differing(campaign::deliver_mpi(world(), made().work, parts, owner), expected) == 0);
    } catch (const parallel::Stopped&) {
        return false;
    }
    stop.close();
    std::vector<std::int64_t> sum{cost.searches};
    world().sum(sum);
    searched = sum[0];
    journal.remove(world());
    return true;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(search_journal)

// Stopped wherever a row is read, again and again, the search comes to its end with the same bits, and
// nothing that was finished is done again.
BOOST_AUTO_TEST_CASE(a_search_that_is_stopped_again_and_again_finds_the_same) {
    linalg::open_blas();
    std::int64_t stops = 0, all_searches = -1;
    for (const std::int64_t panel : {7, 30, 4096}) {
        for (const std::int64_t memory : {0, 1}) {
            for (const std::int64_t reads : {0, 3, 17, 40}) {
                const SharedJournal folder;
                const neighbors::SearchOptions options{5, 1, panel, memory};
                std::int64_t searches = 0;
                std::size_t turn = 0;
                // One rank is asked after some reads, the others never; each time a later one and more of
                // them.
                for (bool done = false; !done; ++turn) {
                    BOOST_TEST_REQUIRE(turn < 200);
                    const bool asked = static_cast<int>(turn) % world().size() == world().rank();
                    const auto after = static_cast<std::int64_t>(reads + 2 * static_cast<std::int64_t>(turn));
                    done = run(folder, options, asked ? after : -1, turn, searches);
                    stops += !done;
                }
                if (all_searches < 0) all_searches = searches;
                BOOST_TEST(searches == all_searches);
                world().barrier();
                BOOST_TEST(std::filesystem::is_empty(folder.folder()));
                world().barrier();
            }
        }
    }
    BOOST_TEST(stops > 20);
}

BOOST_AUTO_TEST_CASE(a_journal_is_gone_on_with_only_for_what_it_was_begun_for) {
    const SharedJournal folder;
    // One that holds no work yet, of a run that was refused, stands in nobody's way.
    { SearchJournal(world(), folder.output(), {"0.1", "never begun", "", false}, 64, false, silent); }
    {
        SearchJournal begun(world(), folder.output(), ours, 64, false, silent);
        BOOST_TEST(!begun.goes_on());
        begun.answered(campaign::Search::matched, 0, {}, {});
        world().barrier();
    }
    const auto refusal = [&](const JournalIdentity& other) -> std::string {
        try {
            SearchJournal(world(), folder.output(), other, 64, false, silent);
        } catch (const parallel::Echo&) {
            return "echo";
        } catch (const UsageError& error) {
            return error.what();
        }
        return "";
    };
    const auto says = [&](const JournalIdentity& other, const std::string& part) {
        const std::string text = refusal(other);
        BOOST_TEST((world().rank() != 0 ? text == "echo" : text.find(part) != std::string::npos), text);
    };
    says({"0.2", ours.study, ours.inputs, false}, "another version of candor (0.1, this is 0.2)");
    says({"0.1", "a studY", ours.inputs, false}, "another study (\"a study\" there, \"a studY\" here)");
    says({"0.1", ours.study, "aa 1 a.h5\ncc 2 b.h5\n", false}, "other inputs (first b.h5)");
    says({"0.1", ours.study, ours.inputs, true}, "a run without --ablations");
    // Where its files are does not matter; with which blocks it was begun is told.
    const JournalIdentity moved{"0.1", ours.study, "aa 1 /x/a.h5\nbb 2 /x/b.h5\n", false};
    const SearchJournal again(world(), folder.output(), moved, 512, false, silent);
    BOOST_TEST(again.block_rows() == 64);
    // Begun anew on demand.
    const SearchJournal anew(world(), folder.output(), {"0.2", "", "", false}, 512, true, silent);
    BOOST_TEST(anew.block_rows() == 512);
    BOOST_TEST(!anew.goes_on());
}

// Without its begun-for, whole, nobody knows what finished work is of: it is neither used nor thrown away.
BOOST_AUTO_TEST_CASE(work_of_unknown_origin_is_kept_and_not_gone_on_with) {
    const std::vector<neighbors::Encounter> met = {{0, 0}};
    for (const bool missing : {true, false}) {
        const SharedJournal folder;
        const std::string begun = folder.folder() + "/" + campaign::begun_for;
        const auto spoil = [&] {
            world().barrier();
            if (world().rank() == 0 && missing) std::filesystem::remove(begun);
            if (world().rank() == 0 && !missing)
                std::filesystem::resize_file(begun, std::filesystem::file_size(begun) - 1);
            world().barrier();
        };
        // Begun and ended before anything was kept: there is nothing to lose.
        { const SearchJournal nothing(world(), folder.output(), ours, 64, false, silent); }
        spoil();
        {
            SearchJournal journal(world(), folder.output(), ours, 64, false, silent);
            BOOST_TEST(!journal.goes_on());
            journal.kept(Search::matched, 0, met, {});
        }
        spoil();
        if (world().rank() == 0) {
            BOOST_CHECK_EXCEPTION(SearchJournal(world(), folder.output(), ours, 64, false, silent),
                                  MachineError,
                                  [&](const MachineError& error) { return error.subject() == begun; });
        } else {
            BOOST_CHECK_THROW(SearchJournal(world(), folder.output(), ours, 64, false, silent),
                              parallel::Echo);
        }
        world().barrier();
        BOOST_TEST(campaign::journal_names(folder.folder()).size() ==
                   static_cast<std::size_t>(world().size()));
        world().barrier();
        const SearchJournal anew(world(), folder.output(), ours, 64, true, silent);
        BOOST_TEST(!anew.goes_on());
    }
}

BOOST_AUTO_TEST_SUITE_END()
