#include "candor/instruments/heads.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "candor/base/bytes.hpp"
#include "candor/base/error.hpp"
#include "candor/base/random.hpp"
#include "candor/base/threads.hpp"
#include "candor/instruments/adam.hpp"
#include "instruments/head_model.hpp"

namespace candor::instruments {

namespace {

std::unique_ptr<HeadModel> model_of(const HeadTask& task) {
    CANDOR_REQUIRE(
        task.dimension > 0 && !task.findings.empty(),
        std::to_string(task.dimension) + " columns, " + std::to_string(task.findings.size()) + " findings");
    if (task.kind == HeadKind::linear)
        return linear_head(static_cast<std::int64_t>(task.findings.size()), task.dimension);
    CANDOR_REQUIRE(task.kind == HeadKind::hidden, std::to_string(static_cast<int>(task.kind)));
    return hidden_head(task.dimension);
}

void draw_initial_values(const HeadTask& task, const HeadModel& model, Matrix<float>& parameters) {
    const std::string kind = task.kind == HeadKind::linear ? "linear" : "hidden";
    for (std::size_t f = 0; f < task.findings.size(); ++f) {
        const Stream stream(task.seed, "heads/" + kind + "/" + task.dataset + "/" + task.findings[f], 0);
        const std::span<float> row = parameters.row(static_cast<std::int64_t>(f));
        for (std::size_t i = 0; i < row.size(); ++i) {
            const auto fan_in = static_cast<double>(model.fan_in(static_cast<std::int64_t>(i)));
            row[i] = static_cast<float>((2 * stream.uniform(i) - 1) / std::sqrt(fan_in));
        }
    }
}

void require_rows(const LabelledRows& rows, const HeadTask& task) {
    CANDOR_REQUIRE(
        rows.features.cols == task.dimension && rows.features.rows > 0 &&
            std::cmp_equal(rows.labels.rows, task.findings.size()) && rows.labels.cols == rows.features.rows,
        std::to_string(rows.features.rows) + " x " + std::to_string(rows.features.cols) + " features, " +
            std::to_string(rows.labels.rows) + " x " + std::to_string(rows.labels.cols) + " labels");
    for (std::int64_t f = 0; f < rows.labels.rows; ++f) {
        for (const std::int8_t label : rows.labels.row(f)) {
            CANDOR_REQUIRE(
                label == 0 || label == 1 || label == missing_label,
                "label " + std::to_string(label) + " of " + task.findings[static_cast<std::size_t>(f)]);
        }
    }
}

/// Whether all are finite: their product with 0 is 0, and the sum of that is 0.
bool all_finite(std::span<const float> values) {
    float sum = 0;
    for (const float value : values) sum += value * 0;
    return sum == 0;
}

}  // namespace

HeadState::HeadState(std::int64_t findings, std::int64_t size)
    : parameters(findings, size),
      first_moments(findings, size),
      second_moments(findings, size),
      steps(static_cast<std::size_t>(findings)) {
    for (Matrix<float>* const values : {&parameters, &first_moments, &second_moments}) {
        for (std::int64_t f = 0; f < findings; ++f) std::ranges::fill(values->row(f), 0.0F);
    }
}

void HeadState::update(std::int64_t finding, std::span<const float> gradient) {
    adam_step(parameters.row(finding), first_moments.row(finding), second_moments.row(finding), gradient,
              ++steps[static_cast<std::size_t>(finding)]);
}

Heads::Heads(HeadTask task) : task_(std::move(task)) {
    const std::unique_ptr<HeadModel> model = model_of(task_);
    state_ = std::make_unique<HeadState>(findings(), model->size());
    draw_initial_values(task_, *model, state_->parameters);
}

Heads::Heads(HeadTask task, std::string_view state) : task_(std::move(task)) {
    state_ = std::make_unique<HeadState>(findings(), model_of(task_)->size());
    ByteReader reader(state);
    HeadTask of;
    of.kind = reader.get<HeadKind>();
    of.dimension = reader.get<std::int64_t>();
    of.seed = reader.get<std::uint64_t>();
    of.dataset = reader.get_text();
    const auto count = reader.get<std::int64_t>();
    for (std::int64_t f = 0; f < count; ++f) of.findings.push_back(reader.get_text());
    CANDOR_REQUIRE(of == task_, "heads of dataset " + of.dataset + " for those of " + task_.dataset);
    state_->epochs = reader.get<std::int64_t>();
    state_->steps = reader.get_many<std::int64_t>();
    CANDOR_REQUIRE(std::cmp_equal(state_->steps.size(), findings()),
                   std::to_string(state_->steps.size()) + " step counts");
    for (Matrix<float>* const values :
         {&state_->parameters, &state_->first_moments, &state_->second_moments}) {
        for (std::int64_t f = 0; f < findings(); ++f) {
            const std::vector<float> row = reader.get_many<float>();
            CANDOR_REQUIRE(std::cmp_equal(row.size(), values->cols()),
                           std::to_string(row.size()) + " parameters");
            std::ranges::copy(row, values->row(f).begin());
        }
    }
    CANDOR_REQUIRE(reader.done(), "more bytes than heads have");
}

Heads::Heads(Heads&&) noexcept = default;
Heads& Heads::operator=(Heads&&) noexcept = default;
Heads::~Heads() = default;

std::size_t Heads::at(std::int64_t finding) const {
    CANDOR_REQUIRE(finding >= 0 && finding < findings(),
                   "finding " + std::to_string(finding) + " of " + std::to_string(findings()));
    return static_cast<std::size_t>(finding);
}

std::int64_t Heads::epochs() const {
    return state_->epochs;
}

std::int64_t Heads::steps(std::int64_t finding) const {
    return state_->steps[at(finding)];
}

std::span<const float> Heads::parameters(std::int64_t finding) const {
    return std::as_const(state_->parameters).row(static_cast<std::int64_t>(at(finding)));
}

bool Heads::train_epoch(const LabelledRows& rows, const std::function<bool()>& stops) {
    require_rows(rows, task_);
    const std::unique_ptr<HeadModel> model = model_of(task_);
    const std::vector<std::int64_t> order =
        epoch_order(task_.seed, task_.dataset, state_->epochs, rows.features.rows);
    Batch batch(findings(), task_.dimension);
    for (std::span<const std::int64_t> rest(order); !rest.empty();) {
        if (stops && stops()) return false;
        const std::size_t count = std::min(rest.size(), static_cast<std::size_t>(batch_rows));
        batch.gather(rows, rest.first(count));
        model->step(batch, *state_);
        rest = rest.subspan(count);
    }
    ++state_->epochs;
    for (std::int64_t f = 0; f < findings(); ++f) {
        CANDOR_REQUIRE(all_finite(parameters(f)),
                       "head of " + task_.findings[at(f)] + " after epoch " + std::to_string(state_->epochs));
    }
    return true;
}

Matrix<double> Heads::logits(MatrixView<const float> features) const {
    CANDOR_REQUIRE(features.cols == task_.dimension,
                   std::to_string(features.cols) + " columns for " + std::to_string(task_.dimension));
    Matrix<double> out(findings(), features.rows);
    model_of(task_)->logits(features, std::as_const(state_->parameters).view(), out.view());
    for (std::int64_t f = 0; f < findings(); ++f) {
        const std::span<const double> row = std::as_const(out).row(f);
        const auto bad = std::ranges::find_if_not(row, [](double z) { return std::isfinite(z); });
        CANDOR_REQUIRE(bad == row.end(),
                       "row " + std::to_string(bad - row.begin()) + ", head of " + task_.findings[at(f)]);
    }
    return out;
}

double Heads::lipschitz(std::int64_t finding) const {
    return model_of(task_)->lipschitz(parameters(finding));
}

std::string Heads::state() const {
    ByteWriter writer;
    writer.put(task_.kind);
    writer.put(task_.dimension);
    writer.put(task_.seed);
    writer.put(task_.dataset);
    writer.put(findings());
    for (const std::string& finding : task_.findings) writer.put(finding);
    writer.put(state_->epochs);
    writer.put(std::span<const std::int64_t>(state_->steps));
    for (const Matrix<float>* const values :
         {&state_->parameters, &state_->first_moments, &state_->second_moments}) {
        for (std::int64_t f = 0; f < findings(); ++f) writer.put(values->row(f));
    }
    return writer.take();
}

void train(std::span<Heads> members, const LabelledRows& rows, std::int64_t epochs, int threads) {
    for_each_on_threads(threads, std::ssize(members), [&](std::int64_t i) {
        Heads& member = members[static_cast<std::size_t>(i)];
        while (member.epochs() < epochs) member.train_epoch(rows);
    });
}

}  // namespace candor::instruments
