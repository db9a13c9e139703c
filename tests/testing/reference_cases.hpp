#pragma once

// Random cases with other people's answers, one a line: `kind,number,...`. A script writes them to a file
// that an environment variable names; without it the suites that read them are skipped.

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "candor/base/matrix.hpp"
#include "candor/base/text.hpp"

namespace candor::testing {

/// The numbers of one line, taken from the left.
class Numbers {
  public:
    explicit Numbers(const std::vector<std::string>& fields) : fields_(fields) {}

    double real() { return parse_real(fields_.at(next_++)).value(); }
    std::int64_t integer() { return static_cast<std::int64_t>(real()); }
    template <class T = double>
    std::vector<T> list(std::int64_t n) {
        std::vector<T> values;
        for (std::int64_t i = 0; i < n; ++i) values.push_back(static_cast<T>(real()));
        return values;
    }
    bool done() const { return next_ == fields_.size(); }

  private:
    const std::vector<std::string>& fields_;
    std::size_t next_ = 1;  // the kind comes first
};

/// The largest difference that the checks of one kind have seen, and in units of what they allow.
inline double largest = 0, largest_of_allowed = 0;

/// Checks every line of `kind` in the file that `variable` names, and says how many there were.
template <class Check>
void compare_cases(const char* variable, const std::string& kind, Check&& check) {
    std::ifstream file(std::getenv(variable));
    int cases = 0;
    largest = largest_of_allowed = 0;
    for (std::string text; std::getline(file, text);) {
        const std::vector<std::string> fields = split_text(text, ',');
        if (fields[0] != kind) continue;
        Numbers numbers(fields);
        check(numbers);
        BOOST_REQUIRE(numbers.done());
        ++cases;
    }
    BOOST_TEST_MESSAGE("compared " << cases << " cases of " << kind << "; largest difference " << largest
                                   << ", of what is allowed " << largest_of_allowed);
}

inline void check_near(double value, double expected, double tolerance) {
    BOOST_CHECK_EQUAL(std::isnan(value), std::isnan(expected));
    if (std::isnan(expected)) return;
    BOOST_CHECK_SMALL(value - expected, tolerance);
    largest = std::max(largest, std::abs(value - expected));
    if (tolerance > 0)
        largest_of_allowed = std::max(largest_of_allowed, std::abs(value - expected) / tolerance);
}

}  // namespace candor::testing
