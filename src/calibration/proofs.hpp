#pragma once

#include "candor/calibration/proof.hpp"

namespace candor::calibration {

Proof planted(const Scope& scope);           // METHODS 12.1
Proof label_shuffle(const Scope& scope);     // 12.2
Proof drift(const Scope& scope);             // 12.2, shown alone; without items where quick
Proof coverage(const Scope& scope);          // 12.3
Proof size_of_tests(const Scope& scope);     // 12.4
Proof overlap_nulls(const Scope& scope);     // 12.4
Proof overlap_sweep(const Scope& scope);     // 12.5
Proof exact_neighbours(const Scope& scope);  // METHODS 3

}  // namespace candor::calibration
