#pragma once

#include <hwy/targets.h>

#include <boost/test/unit_test.hpp>

/// Runs `body` once for each instruction set of this build that the processor has, the plainest included.
template <class Body>
void on_every_vector_target(Body body) {
    for (const auto target : hwy::SupportedAndGeneratedTargets()) {
        hwy::SetSupportedTargetsForTest(target);
        hwy::GetChosenTarget().Update(hwy::SupportedTargets());
        BOOST_TEST_CONTEXT(hwy::TargetName(target)) body();
    }
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}
