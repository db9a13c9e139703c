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

double t_quantile(double confidence, double degrees) {
    CANDOR_REQUIRE(
        confidence > 0 && confidence < 1 && degrees > 0 && degrees <= std::numeric_limits<double>::max(),
        "confidence " + format_real(confidence) + " with " + format_real(degrees) + " degrees of freedom");
    // The lower tail keeps its digits where confidence is near 1.
    return -boost::math::quantile(boost::math::students_t(degrees), (1 - confidence) / 2);
}

}  // namespace candor::stats
