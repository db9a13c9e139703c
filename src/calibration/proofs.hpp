#pragma once

#include "candor/calibration/proof.hpp"

namespace candor::calibration {

Proof planted(bool quick);           // METHODS 12.1
Proof label_shuffle(bool quick);     // 12.2
Proof coverage(bool quick);          // 12.3
Proof size_of_tests(bool quick);     // 12.4
Proof overlap_nulls(bool quick);     // 12.4
Proof overlap_sweep(bool quick);     // 12.5
Proof exact_neighbours(bool quick);  // METHODS 3

}  // namespace candor::calibration
