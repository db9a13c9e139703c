#pragma once

/// The proofs that the instrument works (METHODS 12), each made of many independent items that ranks share.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "candor/base/log.hpp"
#include "candor/base/matrix.hpp"
#include "candor/parallel/communicator.hpp"

namespace candor::calibration {

/// Of which rates a line tells; of other lines, none.
struct Drift {
    std::string rule;
    std::int64_t k = 0, n = 0;  ///< neighbours; candidates a side, of `unequal` the positive ones
    double prevalence = 0;
    std::int64_t images = 0;  ///< of each patient
};

/// What one line of a proof says. It passes where the observed value lies within [low, high].
struct Verdict {
    std::string proof, what;
    double expected = 0, observed = 0;
    double low = 0, high = 0;  ///< both NaN: shown beside the others, not judged
    double error = 0;          ///< Monte Carlo standard error of `observed`; 0: it is exact
    Drift drift{};

    bool judged() const;
    bool passed() const;
};

/// The values of one item, in an order of the proof's own.
using Values = std::vector<double>;

struct Proof {
    std::string name;
    std::int64_t items = 0;
    std::function<Values(std::int64_t item)> run;  ///< a function of `item` alone
    std::function<std::vector<Verdict>(std::span<const Values> items)> judge;
};

/// Runs the items of all proofs, shared over ranks and threads: the same values on any number of them.
/// @returns the verdicts on rank 0, nothing elsewhere. Collective.
std::vector<Verdict> run_mpi(const parallel::Communicator& world, std::span<const Proof> proofs, int threads,
                             const Log& log);

/// Features of the user's own.
struct NamedFeatures {
    std::string name;
    Matrix<float> rows;
};

struct Scope {
    bool quick = false;  ///< as many items as take less than a minute on one core
    std::vector<NamedFeatures> features;
    std::vector<std::string> only;  ///< names of proofs; empty: all
};

/// The proofs of `scope`, which must outlive them. @throws UsageError where it names one that there is not.
std::vector<Proof> all_proofs(const Scope& scope);

}  // namespace candor::calibration
