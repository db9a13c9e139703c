#include "candor/base/log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <string>

#include "store/temporary.hpp"

using namespace candor;

namespace {

/// What `body` writes to standard error.
template <class Body>
std::string heard(Body body) {
    const testing::TemporaryDirectory directory;
    const std::string path = directory.file("stderr");
    const int before = dup(STDERR_FILENO);
    const int file = open(path.c_str(), O_CREAT | O_WRONLY, 0600);
    dup2(file, STDERR_FILENO);
    body();
    dup2(before, STDERR_FILENO);
    close(file);
    close(before);
    return testing::bytes_of(path);
}

std::string all_of(const Log& log) {
    return heard([&] {
        log.warning("w");
        log.info("i");
        log.detail("d");
    });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(base_log)

BOOST_AUTO_TEST_CASE(a_warning_is_heard_at_every_verbosity_and_the_rest_as_asked) {
    BOOST_TEST(all_of(Log(Verbosity::quiet, true)) == "candor: warning: w\n");
    BOOST_TEST(all_of(Log(Verbosity::normal, true)) == "candor: warning: w\ncandor: i\n");
    BOOST_TEST(all_of(Log(Verbosity::verbose, true)) == "candor: warning: w\ncandor: i\ncandor: d\n");
}

BOOST_AUTO_TEST_CASE(a_rank_that_does_not_speak_says_nothing) {
    BOOST_TEST(all_of(Log(Verbosity::verbose, false)) == "");
}

BOOST_AUTO_TEST_CASE(a_log_file_gets_no_line_of_progress_in_the_first_minute) {
    const std::string text = heard([] {
        const Log log(Verbosity::normal, true);
        Progress progress(log, "searching", 3);
        for (int i = 0; i < 3; ++i) progress.advance(1);
        Progress nothing(log, "nothing", 0);
        nothing.advance(0);
    });
    BOOST_TEST(text == "");
}

BOOST_AUTO_TEST_SUITE_END()
