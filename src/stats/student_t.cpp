#include "candor/stats/student_t.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

#include "candor/base/error.hpp"
#include "candor/base/text.hpp"

namespace candor::stats {

double two_sided_t(double t, double degrees) {
    CANDOR_REQUIRE(!std::isnan(t) && degrees > 0 && degrees <= std::numeric_limits<double>::max(),
                   "t " + format_real(t) + " with " + format_real(degrees) + " degrees of freedom");
    if (std::isinf(t)) return 0;
    return std::min(1.0, 2 * boost::math::cdf(boost::math::students_t(degrees), -std::abs(t)));
}

}  // namespace candor::stats
