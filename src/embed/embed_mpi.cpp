#include "candor/embed/embed_mpi.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>

#include "candor/base/duration.hpp"
#include "candor/base/error.hpp"
#include "candor/base/hash.hpp"
#include "candor/base/text.hpp"
#include "candor/base/threads.hpp"
#include "candor/embed/encoder.hpp"
#include "candor/embed/erase.hpp"
#include "candor/embed/image_reader.hpp"
#include "candor/embed/preprocess.hpp"
#include "candor/embed/row_journal.hpp"
#include "candor/embed/work.hpp"
#include "candor/linalg/gemm.hpp"
#include "candor/parallel/session.hpp"
#include "candor/parallel/stop.hpp"
#include "candor/store/feature_file.hpp"
#include "candor/store/feature_writer.hpp"
#include "candor/store/input_file.hpp"
#include "candor/store/output_file.hpp"
#include "candor/store/output_lock.hpp"
#include "candor/store/shared_feature_writer.hpp"

namespace candor::embed {

namespace {

namespace fs = std::filesystem;

/// `what` as the fault of an item.
DataError fault_of(const Item& item, const DataError& what) {
    return {{item.place, std::nullopt, {}, item.id}, what.fault(), what.remedy()};
}

/// Encodes the batches of one job.
class BatchEncoder {
  public:
    BatchEncoder(const Work& work, const Job& job, const Encoder& encoder, const EmbedOptions& options,
                 ImageReader& reader)
        : recipe_(work.recipe.encoders[job.encoder]),
          job_(job),
          encoder_(encoder),
          options_(options),
          reader_(reader) {}

    std::int64_t batches() const { return (std::ssize(job_.items) + recipe_.batch - 1) / recipe_.batch; }
    std::int64_t images(std::int64_t batch) const {
        return std::min(recipe_.batch, std::ssize(job_.items) - batch * recipe_.batch);
    }

    BatchRows encode(std::int64_t number) const {
        const Preprocessing& how = recipe_.preprocessing;
        // Always whole: the products of another number of images may have other bits.
        Batch batch{recipe_.batch, how.channels(), how.height, how.width, {}};
        batch.values.resize(static_cast<std::size_t>(batch.images * batch.image_size()));
        const std::int64_t first = number * recipe_.batch, count = images(number);
        BatchRows result{number, 0, {}, {}};
        for (std::int64_t i = 0; i < count; ++i) {
            const Item& item = job_.items[static_cast<std::size_t>(first + i)];
            try {
                const Image image = reader_.read(item.place);
                preprocess(item.boxes ? erase(image, *item.boxes) : image, how, batch.image(i));
            } catch (const DataError& error) {
                omit(result, first + i, error);
            }
        }
        if (std::ssize(result.omitted) == count) return result;
        const Matrix<float> rows = encoder_.encode(batch);
        CANDOR_REQUIRE(rows.rows() == batch.images, std::to_string(rows.rows()));
        result.dimension = rows.cols();
        std::set<std::int64_t> without;
        for (const Omission& one : result.omitted) without.insert(one.item - first);
        for (std::int64_t i = 0; i < count; ++i) {
            if (without.contains(i)) continue;
            try {
                result.rows += stored_row(rows.row(i));
            } catch (const DataError& error) {
                omit(result, first + i, error);
            }
        }
        return result;
    }

  private:
    void omit(BatchRows& result, std::int64_t item, const DataError& error) const {
        const DataError fault = fault_of(job_.items[static_cast<std::size_t>(item)], error);
        if (!options_.skip_bad) throw fault;
        result.omitted.push_back({item, fault.fault()});
    }

    /// @throws DataError, without a place, where no run could use the row.
    std::string stored_row(std::span<const float> row) const {
        const std::vector<double> values(row.begin(), row.end());
        const auto is_finite = [](double x) { return std::isfinite(x); };
        if (!std::ranges::all_of(values, is_finite))
            throw DataError({}, "gets features with NaN or infinity");
        if (std::ranges::all_of(values, [](double x) { return x == 0; }))
            throw DataError({}, "gets features that are all zero");
        std::string stored(values.size() * static_cast<std::size_t>(store::size_of(options_.type)), '\0');
        if (store::encode(options_.type, values, reinterpret_cast<std::byte*>(stored.data())) >= 0)
            throw DataError({}, "gets features beyond float16", "choose --type float32");
        return stored;
    }

    const EncoderRecipe& recipe_;
    const Job& job_;
    const Encoder& encoder_;
    const EmbedOptions& options_;
    ImageReader& reader_;
};

std::string quoted(const std::string& cell) {
    if (cell.find_first_of(",\"\n\r") == std::string::npos) return cell;
    std::string text = "\"";
    for (const char c : cell) text += c == '"' ? "\"\"" : std::string(1, c);
    return text + '"';
}

/// The list of what was left out; none where nothing was.
void write_omitted(const Job& job, const std::vector<Omission>& omitted) {
    const std::string path = job.output + ".omitted.csv";
    std::error_code ignored;
    if (omitted.empty()) {
        fs::remove(path, ignored);
        return;
    }
    {
        std::ofstream out(store::part_of(path), std::ios::binary);
        out << "image_id," << (job.erased ? "finding," : "") << "why\n";
        for (const Omission& one : omitted) {
            const Item& item = job.items[static_cast<std::size_t>(one.item)];
            out << quoted(item.id) << ',' << (job.erased ? quoted(item.region) + "," : "") << quoted(one.why)
                << '\n';
        }
        if (!out.flush()) throw MachineError(path, "cannot be written");
    }
    store::publish(path);
}

std::string thousands(std::int64_t number) {
    std::string text = std::to_string(number);
    for (auto at = std::ssize(text) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), ",");
    return text;
}

/// Encodes what `kept` lacks, this rank its share, until done or asked to stop.
void encode_mpi(const parallel::Communicator& world, const BatchEncoder& batches,
                const std::vector<BatchRows>& kept, const std::string& what, int threads, RowJournal& journal,
                parallel::StopRequest& stop, const Log& log) {
    std::set<std::int64_t> done;
    for (const BatchRows& batch : kept) done.insert(batch.batch);
    std::vector<std::int64_t> mine;
    std::int64_t left = 0, images_left = 0;
    for (std::int64_t b = 0; b < batches.batches(); ++b) {
        if (done.contains(b)) continue;
        images_left += batches.images(b);
        if (left++ % world.size() == world.rank()) mine.push_back(b);
    }
    Progress progress(log, what, static_cast<double>(images_left), "images");
    for (std::size_t at = 0; at < mine.size() && !stop.requested(); at += static_cast<std::size_t>(threads)) {
        const std::size_t count = std::min(static_cast<std::size_t>(threads), mine.size() - at);
        std::vector<BatchRows> rows(count);
        for_each_on_threads(threads, static_cast<std::int64_t>(count), [&](std::int64_t i) {
            rows[static_cast<std::size_t>(i)] = batches.encode(mine[at + static_cast<std::size_t>(i)]);
        });
        std::int64_t images = 0;
        for (const BatchRows& batch : rows) {
            journal.keep(batch);
            images += batches.images(batch.batch);
        }
        // The other ranks do as much meanwhile.
        progress.advance(static_cast<double>(images * world.size()));
    }
    journal.sync();
    stop.rendezvous();
}

/// What all ranks agree on once every batch is kept.
struct Outcome {
    std::int64_t dimension = 0, rows = 0;
    std::vector<std::int64_t> first_row;  ///< of each batch
    std::vector<Omission> omitted;
};

Outcome outcome_of(const Job& job, const BatchEncoder& batches, const std::vector<BatchRows>& kept) {
    CANDOR_REQUIRE(std::ssize(kept) == batches.batches(), job.output);
    Outcome outcome;
    for (const BatchRows& batch : kept) {
        outcome.first_row.push_back(outcome.rows);
        outcome.rows += batches.images(batch.batch) - std::ssize(batch.omitted);
        outcome.omitted.insert(outcome.omitted.end(), batch.omitted.begin(), batch.omitted.end());
        if (batch.dimension == 0 || batch.dimension == outcome.dimension) continue;
        if (outcome.dimension != 0)
            throw DataError({job.output},
                            "the encoder gives " + std::to_string(outcome.dimension) + " and " +
                                std::to_string(batch.dimension) + " numbers a row",
                            "export a module that gives as many for every batch");
        outcome.dimension = batch.dimension;
    }
    std::ranges::sort(outcome.omitted, {}, &Omission::item);
    return outcome;
}

void write_mpi(const parallel::Communicator& world, const Job& job, const Outcome& outcome,
               const RowJournal& journal, const std::string& origin, store::ElementType type) {
    std::vector<std::string> ids, regions;
    std::size_t next = 0;
    for (std::int64_t i = 0; world.rank() == 0 && i < std::ssize(job.items); ++i) {
        if (next < outcome.omitted.size() && outcome.omitted[next].item == i) {
            ++next;
            continue;
        }
        ids.push_back(job.items[static_cast<std::size_t>(i)].id);
        if (job.erased) regions.push_back(job.items[static_cast<std::size_t>(i)].region);
    }
    store::SharedFeatureWriter writer(job.output, world, type, outcome.rows, outcome.dimension);
    journal.for_each_here([&](const BatchRows& batch) {
        if (!batch.rows.empty())
            writer.write(outcome.first_row[static_cast<std::size_t>(batch.batch)],
                         std::as_bytes(std::span(batch.rows)));
    });
    writer.finish(ids, regions, origin);
}

/// Makes room for the output. @returns whether it is there already.
bool is_finished(const Job& job, const std::string& origin, bool overwrite) {
    store::require_output_name(job.output);
    std::error_code ignored;
    if (!fs::exists(job.output, ignored)) {
        const fs::path folder = fs::path(job.output).parent_path();
        std::error_code error;
        if (!folder.empty()) fs::create_directories(folder, error);
        if (error) throw MachineError(folder.string(), "cannot be made: " + error.message());
        return false;
    }
    const std::string standing = store::read_origin(job.output);
    if (standing == origin && !overwrite) return true;
    if (!standing.empty() && !overwrite)
        throw UsageError(job.output, "exists and was made otherwise; give --overwrite to replace it");
    store::require_replaceable_features(job.output, overwrite);
    return false;
}

void warn_of_omitted(const Job& job, const std::vector<Omission>& omitted, const Log& log) {
    if (omitted.empty()) return;
    std::vector<std::string> ids;
    for (const Omission& one : omitted) ids.push_back(job.items[static_cast<std::size_t>(one.item)].id);
    log.warning(job.output + " lacks " + thousands(std::ssize(omitted)) + " of " +
                thousands(std::ssize(job.items)) + " images: " + first_names(ids) + "; " + job.output +
                ".omitted.csv says why");
}

void do_job_mpi(const parallel::Communicator& world, const Work& work, const Job& job, const Encoder& encoder,
                const EmbedOptions& options, int threads, ImageReader& reader, parallel::StopRequest& stop,
                const Log& log) {
    const std::string origin = job.origin + "type: " + std::string(store::name_of(options.type)) + "\n";
    std::optional<store::OutputLock> lock;
    const std::string standing = parallel::on_root(world, [&]() -> std::string {
        if (is_finished(job, origin, options.overwrite)) {
            RowJournal::remove_left(job.output);
            return "finished";
        }
        lock.emplace(job.output, store::OutputLock::Part::holder);
        return {};
    });
    if (!standing.empty()) {
        const std::string omitted = job.output + ".omitted.csv";
        std::error_code ignored;
        log.info(job.output + " is there already" +
                 (fs::exists(omitted, ignored) ? ", without the images of " + omitted : ""));
        return;
    }
    if (!lock) lock.emplace(job.output, store::OutputLock::Part::follower);

    const auto start = std::chrono::steady_clock::now();
    RowJournal journal(world, job.output, "program: " + options.program + "\n" + origin,
                       linalg::blas_core() + ", libtorch " + torch_version(), options.overwrite, log);
    const BatchEncoder batches(work, job, encoder, options, reader);
    std::vector<BatchRows> kept = journal.kept_mpi(world);
    std::int64_t before = 0;
    for (const BatchRows& batch : kept) before += batches.images(batch.batch);
    encode_mpi(world, batches, kept, job.output, threads, journal, stop, log);
    kept = journal.kept_mpi(world);
    const Outcome outcome = outcome_of(job, batches, kept);
    if (!outcome.omitted.empty() && !options.skip_bad) {  // left out by an earlier run
        const Omission& first = outcome.omitted.front();
        throw fault_of(job.items[static_cast<std::size_t>(first.item)], DataError({}, first.why));
    }
    if (outcome.rows == 0)
        throw DataError({job.output}, "none of its images can be encoded: " + outcome.omitted.front().why);
    write_mpi(world, job, outcome, journal, origin, options.type);
    if (world.rank() == 0) write_omitted(job, outcome.omitted);
    warn_of_omitted(job, outcome.omitted, log);
    journal.remove(world);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const auto now = static_cast<double>(std::ssize(job.items) - before);
    log.info("wrote " + job.output + ": " + thousands(outcome.rows) + " rows of " +
             std::to_string(outcome.dimension) + " numbers, " +
             format_fixed(now / seconds, now < 100 * seconds ? 1 : 0) + " images a second, " +
             duration_text(seconds));
}

}  // namespace

void embed_mpi(const parallel::Communicator& world, const EmbedOptions& options, const Log& log) {
    parallel::StopRequest stop(world, options.stop_at);
    const int threads = parallel::choose_threads(world, options.threads);
    linalg::open_blas(threads);
    const Files files{[&](const std::string& path) {
                          return parallel::on_root(world, [&] { return store::read_whole_file(path); });
                      },
                      [&](const std::string& path) {
                          return parallel::on_root(world, [&] {
                              { const store::InputFile probe(path); }  // a missing file is the user's
                              return digest_file(path).hex();
                          });
                      }};
    const Work work = make_work(options.recipe, options.overrides, options.only, files);
    ImageReader reader;
    std::unique_ptr<Encoder> encoder;
    const Job* last = nullptr;
    for (std::size_t e = 0; e < work.recipe.encoders.size(); ++e) {
        for (const Job& job : work.jobs) {
            if (job.encoder != e) continue;
            if (last == nullptr || last->encoder != e) encoder = open_encoder(work.recipe.encoders[e]);
            last = &job;
            do_job_mpi(world, work, job, *encoder, options, threads, reader, stop, log);
        }
    }
    stop.rendezvous();
    stop.close();
}

}  // namespace candor::embed
