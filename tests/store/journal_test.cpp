#include "candor/store/journal.hpp"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "candor/base/error.hpp"
#include "temporary.hpp"

using namespace candor;
using candor::testing::bytes_of;
using candor::testing::TemporaryDirectory;

namespace {

const Digest ours{1, 2};

std::vector<std::string> records_of(const std::string& path, std::int64_t* rest = nullptr,
                                    const Digest& identity = ours) {
    std::vector<std::string> records;
    const std::int64_t left =
        store::read_journal(path, identity, [&](std::string_view record) { records.emplace_back(record); });
    if (rest != nullptr) *rest = left;
    return records;
}

const std::vector<std::string> written = {"one", "", std::string(100, '\0'), std::string("\0\1\2", 3)};

std::string write_all(const TemporaryDirectory& directory) {
    const std::string path = directory.file("a.records");
    store::JournalWriter writer(path, ours);
    for (const std::string& record : written) writer.append(record);
    writer.sync();
    return path;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(journal)

BOOST_AUTO_TEST_CASE(what_was_appended_is_read) {
    const TemporaryDirectory directory;
    std::int64_t rest = -1;
    BOOST_TEST(records_of(write_all(directory), &rest) == written, boost::test_tools::per_element());
    BOOST_TEST(rest == 0);
}

BOOST_AUTO_TEST_CASE(a_file_is_made_with_its_first_record) {
    const TemporaryDirectory directory;
    {
        store::JournalWriter writer(directory.file("b.records"), ours);
        writer.sync();
    }
    BOOST_TEST(!directory.holds("b.records"));
}

// Cut anywhere, a journal holds the records that are whole and no other.
BOOST_AUTO_TEST_CASE(a_torn_tail_is_dropped) {
    const TemporaryDirectory directory;
    const std::string whole = bytes_of(write_all(directory));
    std::size_t begin = 32;
    std::vector<std::size_t> ends;
    for (const std::string& record : written) ends.push_back(begin += 24 + record.size());
    BOOST_TEST(ends.back() == whole.size());
    for (std::size_t length = 0; length < whole.size(); ++length) {
        const std::string path = directory.file("torn", whole.substr(0, length));
        const auto complete =
            std::count_if(ends.begin(), ends.end(), [&](auto end) { return end <= length; });
        std::int64_t rest = -1;
        BOOST_TEST(records_of(path, &rest).size() == static_cast<std::size_t>(complete), "at " << length);
        const std::size_t from = length < 32     ? 0
                                 : complete == 0 ? 32
                                                 : ends[static_cast<std::size_t>(complete) - 1];
        BOOST_TEST(rest == static_cast<std::int64_t>(length - from));
    }
}

// A changed byte anywhere ends the journal before the record that it is in.
BOOST_AUTO_TEST_CASE(a_damaged_record_is_none) {
    const TemporaryDirectory directory;
    const std::string whole = bytes_of(write_all(directory));
    for (std::size_t at = 0; at < whole.size(); ++at) {
        std::string spoiled = whole;
        spoiled[at] = static_cast<char>(spoiled[at] ^ 4);
        const auto records = records_of(directory.file("spoiled", spoiled));
        BOOST_TEST(records.size() < written.size(), "at " << at);
        BOOST_TEST(std::equal(records.begin(), records.end(), written.begin()));
    }
}

BOOST_AUTO_TEST_CASE(a_journal_of_something_else_has_no_records) {
    const TemporaryDirectory directory;
    std::int64_t rest = 0;
    BOOST_TEST(records_of(write_all(directory), &rest, Digest{1, 3}).empty());
    BOOST_TEST(rest > 0);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_written_or_read_is_told) {
    const TemporaryDirectory directory;
    store::JournalWriter nowhere(directory.file("none/a.records"), ours);
    BOOST_CHECK_THROW(nowhere.append("x"), MachineError);
    BOOST_CHECK_THROW(records_of(directory.file("absent")), MachineError);
    store::JournalWriter full("/dev/full", ours);
    BOOST_CHECK_THROW(full.append("x"), MachineError);
}

BOOST_AUTO_TEST_SUITE_END()
