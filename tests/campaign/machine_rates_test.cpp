#include "candor/campaign/machine_rates.hpp"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "candor/base/error.hpp"

using namespace candor;
using campaign::MachineRates;
using campaign::SearchRates;

namespace {

MachineRates made() {
    MachineRates rates;
    rates.machine = "node \"7\" \\ 2, BLAS kernel Zen";
    double next = 1.234e-9;
    for (double MachineRates::*one :
         {&MachineRates::start, &MachineRates::open, &MachineRates::audit_value, &MachineRates::audit_row,
          &MachineRates::build, &MachineRates::counting, &MachineRates::draw, &MachineRates::sum,
          &MachineRates::pair, &MachineRates::tally, &MachineRates::rank, &MachineRates::retention,
          &MachineRates::summary, &MachineRates::overlap, &MachineRates::overlap_context,
          &MachineRates::write, &MachineRates::text, &MachineRates::world})
        rates.*one = next *= 2;
    rates.search = {{16, 1e-3, 2e-7, 3e-7, 4e-9, 5e-6, 6e-6}, {1024, 3e-2, 4e-6, 5e-6, 4e-8, 7e-6, 8e-6}};
    return rates;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
    const std::size_t at = text.find(what);
    BOOST_REQUIRE(at != std::string::npos);
    return text.replace(at, what.size(), by);
}

void refused(const std::string& text, const std::string& because) {
    BOOST_TEST_CONTEXT(because) {
        BOOST_CHECK_EXCEPTION(campaign::parse_rates("m.toml", text), UsageError, [&](const UsageError& e) {
            BOOST_TEST_INFO(e.what());
            return std::string(e.what()).find("m.toml") != std::string::npos &&
                   std::string(e.what()).find(because) != std::string::npos;
        });
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(campaign_machine_rates)

BOOST_AUTO_TEST_CASE(a_profile_comes_back_as_it_was_written_to_four_digits) {
    const MachineRates rates = made();
    const std::string text = campaign::format_rates(rates);
    const MachineRates back = campaign::parse_rates("m.toml", text);
    BOOST_TEST(campaign::format_rates(back) == text);
    BOOST_TEST(back.machine == rates.machine);
    // Half a unit of the fourth digit.
    const auto near = boost::test_tools::tolerance(5e-4);
    BOOST_TEST(back.start == rates.start, near);
    BOOST_TEST(back.text == rates.text, near);
    BOOST_TEST(back.tally == rates.tally, near);
    BOOST_REQUIRE(back.search.size() == 2);
    BOOST_TEST(back.search[1].dimension == 1024);
    BOOST_TEST(back.search[0].look == 1e-3, near);
    BOOST_TEST(back.search[1].look_row == 4e-6, near);
    BOOST_TEST(back.search[1].decide == 8e-6, near);
}

BOOST_AUTO_TEST_CASE(what_is_no_profile_is_refused_by_its_key) {
    const std::string text = campaign::format_rates(made());
    refused("machine = ", "line 1");
    refused(replaced(text, "tally = ", "tally_ = "), "seconds.tally");
    refused(replaced(text, "[search]", "more = 1\n[search]"), "more");
    refused(replaced(text, "\nlook = ", "\nlooks = "), "search.look");
    refused(replaced(text, "draw = 1", "draw = -1"), "must be 1e-13 to 1000");
    refused(replaced(text, "draw = 1", "draw = 1e308 # 1"), "must be 1e-13 to 1000");
    refused(replaced(text, "[16, 1024]", "[1024, 16]"), "must be whole numbers that rise");
    refused(replaced(text, "[16, 1024]", "[]"), "at least one number of feature columns");
    refused(replaced(text, "[16, 1024]", "[16, 384, 1024]"), "a number for each dimension");
    refused(replaced(text, "[search]", "[searches]"), "is no profile of candor bench");
    refused(replaced(text, "machine = ", "machines = "), "is no profile of candor bench");
    refused(replaced(text, "node ", "node\\u001b[1m "), "without control characters");
}

BOOST_AUTO_TEST_CASE(what_no_machine_has_is_named) {
    MachineRates rates = made();
    BOOST_TEST(campaign::first_impossible(rates) == "");
    rates.search[1].fill = -1e-9;
    BOOST_TEST(campaign::first_impossible(rates) == "fill");
    rates.tally = 1e-15;
    BOOST_TEST(campaign::first_impossible(rates) == "tally");
}

BOOST_AUTO_TEST_CASE(rates_of_other_dimensions_lie_on_straight_lines) {
    const MachineRates rates = made();
    const auto near = boost::test_tools::tolerance(1e-12);
    BOOST_TEST(rates.at(16).product == 4e-9, near);
    BOOST_TEST(rates.at(1024).product == 4e-8, near);
    BOOST_TEST(rates.at(520).product == 2.2e-8, near);  // half-way
    BOOST_TEST(rates.at(520).dimension == 520);
    BOOST_TEST(rates.at(2032).product == 7.6e-8, near);  // as far again
    BOOST_TEST(rates.at(2032).look == 5.9e-2, near);
    // A line that falls below nothing stops at a tenth of the lesser.
    MachineRates falling = rates;
    falling.search[1].fill = 1e-6;
    BOOST_TEST(falling.at(1 << 20).fill == 1e-7, near);
    MachineRates one = rates;
    one.search.pop_back();
    BOOST_TEST(one.at(4000).product == 4e-9, near);
}

BOOST_AUTO_TEST_CASE(a_profile_is_written_whole_or_not_at_all) {
    const auto folder = std::filesystem::temp_directory_path() / "candor-machine-rates-test";
    std::filesystem::create_directory(folder);
    const std::string path = folder / "m.toml", other = folder / "other.toml";
    campaign::write_rates(path, made());
    BOOST_TEST(campaign::format_rates(campaign::read_rates(path)) == campaign::format_rates(made()));
    BOOST_TEST(campaign::is_rates_file(path));
    BOOST_TEST(std::distance(std::filesystem::directory_iterator(folder), {}) == 1);
    std::ofstream(other) << "machine = \"x\"\n";
    BOOST_TEST(!campaign::is_rates_file(other));
    BOOST_CHECK_THROW(campaign::write_rates(folder / "nowhere" / "m.toml", made()), MachineError);
    BOOST_CHECK_THROW(campaign::read_rates(folder / "nowhere.toml"), UsageError);
    std::filesystem::remove_all(folder);
}

BOOST_AUTO_TEST_SUITE_END()
