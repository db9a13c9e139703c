#pragma once

/// Heads: what is trained on frozen features to tell a finding (METHODS 8). All findings of one dataset are
/// trained at once by one member of the ensemble, each for itself: they share nothing but their batches.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "candor/base/matrix.hpp"
#include "candor/instruments/batches.hpp"

namespace candor::instruments {

struct HeadState;

enum class HeadKind : std::int32_t {
    linear,  ///< z = w.x + b
    hidden   ///< z = v.relu(W x + c) + b with 256 units
};

/// What is trained. Two tasks that are equal, on equal rows, give equal heads.
struct HeadTask {
    HeadKind kind = HeadKind::linear;
    std::int64_t dimension = 0;  ///< d, the width of a feature row
    std::string dataset;
    std::vector<std::string> findings;
    std::uint64_t seed = 0;  ///< the study's seed plus the number of the ensemble member

    bool operator==(const HeadTask&) const = default;
};

/// The heads of all findings of one (encoder, dataset, kind, member).
///
/// Initial values are uniform in +-1/sqrt(fan_in); parameter i of a finding is drawn by
/// `Stream(seed, "heads/<kind>/<dataset>/<finding>", 0).uniform(i)`. The encoder is not part of the key:
/// heads of encoders with equally wide rows start from the same values and see the same batches. Nor is the
/// finding's position, so a head trained alone starts like one trained among twelve.
///
/// Bits depend on the task, the rows and the BLAS kernel alone. A member is trained by one thread; what is
/// computed of one finding never enters another's.
class Heads {
  public:
    /// Untrained heads. @throws InternalError where there is no finding or no column.
    explicit Heads(HeadTask task);
    /// Heads as they were when `state()` gave these bytes: they go on with the same bits.
    /// @throws InternalError where the bytes are of another task or not whole.
    Heads(HeadTask task, std::string_view state);
    Heads(Heads&&) noexcept;
    Heads& operator=(Heads&&) noexcept;
    ~Heads();

    const HeadTask& task() const { return task_; }
    std::int64_t findings() const { return static_cast<std::int64_t>(task_.findings.size()); }
    /// Epochs done.
    std::int64_t epochs() const;
    /// Steps of a finding: batches that had a row labelled for it. Where it is 0 the head has learnt nothing.
    std::int64_t steps(std::int64_t finding) const;
    /// linear: w (d), b. hidden: W (256 x d), c (256), v (256), b.
    std::span<const float> parameters(std::int64_t finding) const;

    /// One epoch: every row once, in the order of `epoch_order`, in batches of batch_rows. The loss of a
    /// batch is the mean over its rows labelled for the finding; where there is none, that finding's weights,
    /// moments and step stay as they are.
    /// @throws InternalError where shapes or labels are wrong, there is no row, or a parameter is no longer
    /// finite (a NaN or Inf among the features does that); the heads are of no use then.
    /// @param stops  asked before each batch, where given
    /// @returns false where it said yes: the epoch is not whole, and the heads are of no use either.
    bool train_epoch(const LabelledRows& rows, const std::function<bool()>& stops = {});

    /// z of every row in double, findings x rows: a row has one z wherever it stands. @throws InternalError
    /// where the width is wrong or a z is not finite.
    Matrix<double> logits(MatrixView<const float> features) const;

    /// L of METHODS 3.3, |z(a) - z(b)| <= L |a - b|: norm(w), or norm(v) times the largest singular value of
    /// W.
    double lipschitz(std::int64_t finding) const;

    /// All that training goes on from: task, epochs, steps, parameters and both moments, 12 bytes a
    /// parameter.
    std::string state() const;

  private:
    std::size_t at(std::int64_t finding) const;

    HeadTask task_;
    std::unique_ptr<HeadState> state_;
};

/// Trains every one of `members` on the same rows until it has done `epochs` epochs. Threads take whole
/// members, so their number changes no bit. @throws as Heads::train_epoch.
void train(std::span<Heads> members, const LabelledRows& rows, std::int64_t epochs, int threads);

}  // namespace candor::instruments
