#include "candor/calibration/proof.hpp"

#include <algorithm>
#include <cmath>

#include "calibration/proofs.hpp"
#include "candor/base/bytes.hpp"
#include "candor/base/error.hpp"
#include "candor/base/text.hpp"
#include "candor/base/threads.hpp"

namespace candor::calibration {

bool Verdict::judged() const {
    return !(std::isnan(low) && std::isnan(high));
}

bool Verdict::passed() const {
    return !judged() || (observed >= low && observed <= high);
}

std::vector<Verdict> run_mpi(const parallel::Communicator& world, std::span<const Proof> proofs, int threads,
                             const Log& log) {
    double total = 0;
    for (const Proof& proof : proofs) total += static_cast<double>(proof.items) / world.size();
    Progress progress(log, "proving", total);
    std::vector<Verdict> verdicts;
    for (const Proof& proof : proofs) {
        std::vector<std::int64_t> mine;
        for (std::int64_t item = world.rank(); item < proof.items; item += world.size()) mine.push_back(item);
        std::vector<Values> found(mine.size());
        const auto chunk = static_cast<std::size_t>(std::max(1, 4 * threads));
        for (std::size_t first = 0; first < mine.size(); first += chunk) {
            const std::size_t count = std::min(chunk, mine.size() - first);
            for_each_on_threads(threads, static_cast<std::int64_t>(count), [&](std::int64_t i) {
                const std::size_t at = first + static_cast<std::size_t>(i);
                found[at] = proof.run(mine[at]);
            });
            progress.advance(static_cast<double>(count));
        }
        ByteWriter out;
        for (std::size_t i = 0; i < mine.size(); ++i) {
            out.put(mine[i]);
            out.put(std::span<const double>(found[i]));
        }
        std::vector<Values> all(static_cast<std::size_t>(proof.items));
        for (const std::string& bytes : world.gather(out.take())) {
            ByteReader in(bytes);
            while (!in.done()) {
                const auto item = static_cast<std::size_t>(in.get<std::int64_t>());
                all[item] = in.get_many<double>();
            }
        }
        if (world.rank() != 0) continue;
        for (Verdict& verdict : proof.judge(all)) {
            verdict.proof = proof.name;
            verdicts.push_back(std::move(verdict));
        }
    }
    return verdicts;
}

std::vector<Proof> all_proofs(const Scope& scope) {
    std::vector<Proof> proofs;
    std::vector<std::string> names;
    for (const auto make : {planted, label_shuffle, drift, coverage, size_of_tests, overlap_nulls,
                            overlap_sweep, exact_neighbours}) {
        Proof proof = make(scope);
        names.push_back(proof.name);
        const bool wanted =
            scope.only.empty() || std::ranges::find(scope.only, proof.name) != scope.only.end();
        if (wanted && proof.items > 0) proofs.push_back(std::move(proof));
    }
    for (const std::string& name : scope.only) {
        if (std::ranges::find(names, name) == names.end())
            throw UsageError("--only " + name, "is none of the proofs: " + join_text(names, ", "));
    }
    return proofs;
}

}  // namespace candor::calibration
