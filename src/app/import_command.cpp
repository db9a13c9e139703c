#include "candor/app/import_command.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "candor/app/options.hpp"
#include "candor/base/error.hpp"
#include "candor/base/matrix.hpp"
#include "candor/base/text.hpp"
#include "candor/store/array_file.hpp"
#include "candor/store/feature_file.hpp"
#include "candor/store/feature_writer.hpp"
#include "candor/store/input_file.hpp"
#include "candor/store/output_file.hpp"
#include "candor/study/csv.hpp"

namespace candor::app {

namespace {

namespace po = boost::program_options;

constexpr const char* usage = R"(Usage: candor import -o OUT.h5 FEATURES [--ids FILE] [options]

Writes FEATURES as a feature file: HDF5 with /features (rows x dimension), /image_id and, for erased images,
/finding. What FEATURES and FILE are is told by their content, not by their names:

  .npy   features as a matrix; ids, as an array of text
  .npz   features as the array --key (default: "features", or the only one); ids as --ids-key (image_id);
         regions, of erased images, as --finding-key
  HDF5   features as the dataset --dataset (default: /features); ids as --ids-key (/image_id);
         regions as --finding-key (/finding, where there is one)
  CSV    features from all columns but the id's, or from --columns; ids from --id-column;
         regions from --finding-column
  text   ids, one a line

Ids belong to rows by position. Without --ids they come from FEATURES itself, which an .npy cannot hold.
Regions come from the file that the ids come from.

Examples:
  candor import -o features/dino/chest.h5 chest.npy --ids ids.txt
  candor import -o features/dino/chest.h5 chest.npy --ids chest.csv --id-column image_id
  candor import -o features/dino/chest.h5 chest.npz --key embeddings --ids-key names
  candor import -o features/hand/chest.h5 radiomics.csv --columns area,mean,entropy --scale standard
  candor import -o erased/dino/chest.h5 erased.npy --ids erased.csv --finding-column finding
)";

struct Options {
    std::string features, output, ids, ids_key, id_column, finding_key, finding_column, dataset, key, columns;
    std::string type, scale = "none";
    bool overwrite = false, allow_nonfinite = false, quiet = false, help = false;
};

/// Where the rows come from, and what identifies them.
struct Source {
    std::unique_ptr<store::Array> array;
    store::ElementType default_type = store::ElementType::float32;
    std::vector<std::string> ids, findings;
    std::string ids_from;  ///< for messages
};

/// Numbers of a CSV file.
class CsvArray final : public store::Array {
  public:
    CsvArray(std::vector<double> values, std::int64_t columns) : values_(std::move(values)) {
        cols = columns;
        rows = static_cast<std::int64_t>(values_.size()) / columns;
        type = store::ElementType::float64;
    }
    void read(std::int64_t first, std::int64_t count, std::byte* out) const override {
        const auto bytes = std::as_bytes(std::span(values_).subspan(static_cast<std::size_t>(first * cols),
                                                                    static_cast<std::size_t>(count * cols)));
        std::copy(bytes.begin(), bytes.end(), out);
    }

  private:
    std::vector<double> values_;
};

Options parse_options(const std::vector<std::string>& arguments) {
    Options o;
    po::options_description known;
    known.add_options()                                                                        //
        ("output,o", po::value(&o.output)->value_name("OUT.h5"), "the feature file to write")  //
        ("ids", po::value(&o.ids)->value_name("FILE"), "ids of the rows, in their order")      //
        ("ids-key", po::value(&o.ids_key)->value_name("NAME"),
         "array or dataset of ids of an .npz or HDF5 file")  //
        ("finding-key", po::value(&o.finding_key)->value_name("NAME"),
         "array or dataset of an .npz or HDF5 file that names the region erased in each row")  //
        ("id-column", po::value(&o.id_column)->value_name("NAME"),
         "column of ids, in the CSV given by --ids, else in FEATURES (default: image_id)")  //
        ("finding-column", po::value(&o.finding_column)->value_name("NAME"),
         "column of the same CSV that names the region erased in each row")                            //
        ("dataset", po::value(&o.dataset)->value_name("NAME"), "dataset of features of an HDF5 file")  //
        ("key", po::value(&o.key)->value_name("NAME"), "array of features of an .npz file")            //
        ("columns", po::value(&o.columns)->value_name("A,B,C"),
         "columns of a CSV file to use, in this order")  //
        ("type", po::value(&o.type)->value_name("TYPE"),
         "float16, float32 or float64 (default: as in FEATURES; float32 from CSV)")  //
        ("scale", po::value(&o.scale)->value_name("HOW"),
         "none (default), or standard: each column to mean 0 and variance 1 over the rows, constant columns "
         "to 0")  //
        ("allow-nonfinite", po::bool_switch(&o.allow_nonfinite),
         "keep rows that hold NaN or infinity; a run then needs on_bad_row = \"drop\"")  //
        ("overwrite", po::bool_switch(&o.overwrite), "replace OUT.h5 where it exists")   //
        ("quiet", po::bool_switch(&o.quiet), "print nothing but errors")                 //
        ("help", po::bool_switch(&o.help), "this text");
    const std::vector<std::string> places = parse_arguments("import", arguments, known, 1);
    if (o.help) {
        print_help(usage, known);
        return o;
    }
    if (places.empty())
        throw UsageError("candor import", "name a file of features; see candor import --help");
    o.features = places[0];
    if (o.output.empty())
        throw UsageError("--output", "the feature file to write was not named; give -o OUT.h5");
    if (o.scale != "none" && o.scale != "standard") throw UsageError("--scale", "must be none or standard");
    if (!o.type.empty() && !store::element_type_of(o.type)) {
        throw UsageError("--type", "must be float16, float32 or float64");
    }
    if (o.scale == "standard" && o.allow_nonfinite) {
        throw UsageError("--scale standard",
                         "cannot be had with --allow-nonfinite: columns with NaN have no mean");
    }
    return o;
}

std::size_t column_of(const study::Csv& csv, const std::string& file, const std::string& name) {
    const auto found = std::find(csv.header.begin(), csv.header.end(), name);
    if (found != csv.header.end()) return static_cast<std::size_t>(found - csv.header.begin());
    const std::string near = nearest_name(name, csv.header);
    throw DataError(
        {file, std::nullopt, name}, "there is no such column",
        near.empty() ? "the columns are " + first_names(csv.header, 10) : "did you mean \"" + near + "\"?");
}

std::vector<std::string> text_column(const study::Csv& csv, const std::string& file,
                                     const std::string& name) {
    const std::size_t column = column_of(csv, file, name);
    std::vector<std::string> texts;
    for (const auto& record : csv.records) texts.push_back(record[column]);
    return texts;
}

/// Ids, and findings where asked for, of a CSV file.
void take_ids(const study::Csv& csv, const std::string& file, const Options& o, Source& source) {
    source.ids = text_column(csv, file, o.id_column.empty() ? "image_id" : o.id_column);
    if (!o.finding_column.empty()) source.findings = text_column(csv, file, o.finding_column);
    source.ids_from = file;
}

void take_numbers(const study::Csv& csv, const Options& o, Source& source) {
    std::vector<std::size_t> columns;
    if (o.columns.empty()) {
        const bool own_ids = o.ids.empty();
        for (std::size_t j = 0; j < csv.header.size(); ++j) {
            const bool is_id = own_ids && csv.header[j] == (o.id_column.empty() ? "image_id" : o.id_column);
            const bool is_finding = own_ids && csv.header[j] == o.finding_column;
            if (!is_id && !is_finding) columns.push_back(j);
        }
    } else {
        for (const std::string& name : split_text(o.columns, ','))
            columns.push_back(column_of(csv, o.features, name));
    }
    if (columns.empty() || csv.records.empty()) {
        throw DataError({o.features},
                        std::string("has no ") + (columns.empty() ? "columns of features" : "rows"));
    }
    std::vector<double> values;
    values.reserve(columns.size() * csv.records.size());
    for (std::size_t i = 0; i < csv.records.size(); ++i) {
        for (const std::size_t j : columns) {
            const std::string& cell = csv.records[i][j];
            const auto value = parse_real(cell);
            if (!value) {
                throw DataError({o.features, csv.line[i], csv.header[j]}, "\"" + cell + "\" is not a number",
                                "choose the columns of features with --columns");
            }
            values.push_back(*value);
        }
    }
    source.array = std::make_unique<CsvArray>(std::move(values), static_cast<std::int64_t>(columns.size()));
}

void refuse(const std::string& option, const std::string& value, const char* why) {
    if (!value.empty()) throw UsageError(option, why);
}

Source open_source(const Options& o) {
    Source source;
    const store::FileKind kind = store::kind_of(store::InputFile(o.features));
    const bool is_csv = kind == store::FileKind::other;
    if (kind != store::FileKind::zip)
        refuse("--key", o.key, "names an array of an .npz file, which FEATURES is not");
    if (kind != store::FileKind::hdf5)
        refuse("--dataset", o.dataset, "names a dataset of HDF5, which FEATURES is not");
    if (!is_csv) refuse("--columns", o.columns, "names columns of a CSV file, which FEATURES is not");

    const bool ids_are_text =
        !o.ids.empty() && store::kind_of(store::InputFile(o.ids)) == store::FileKind::other;
    // A list of ids and a CSV file are both text: the name tells, or that a column is asked for.
    const bool ids_in_csv =
        o.ids.empty() ? is_csv : ids_are_text && (!o.id_column.empty() || o.ids.ends_with(".csv"));
    if (!ids_in_csv) {
        refuse("--id-column", o.id_column, "names a column of a CSV file, which the ids do not come from");
        refuse("--finding-column", o.finding_column,
               "names a column of a CSV file, which the ids do not come from");
    } else {
        constexpr const char* why = "names an array of an .npz or HDF5 file, which the ids do not come from";
        refuse("--ids-key", o.ids_key, why);
        refuse("--finding-key", o.finding_key, why);
    }

    if (is_csv) {
        const study::Csv csv = study::parse_csv(o.features, store::read_whole_file(o.features));
        if (o.ids.empty()) take_ids(csv, o.features, o, source);
        take_numbers(csv, o, source);
    } else {
        source.array = store::open_array(o.features, kind == store::FileKind::zip ? o.key : o.dataset);
        source.default_type = source.array->type;
    }
    if (ids_in_csv) {
        if (!o.ids.empty())
            take_ids(study::parse_csv(o.ids, store::read_whole_file(o.ids)), o.ids, o, source);
    } else {
        if (o.ids.empty() && kind == store::FileKind::npy) {
            throw UsageError(
                "--ids",
                "an .npy file carries no ids; give --ids FILE, one id a line in the order of the rows");
        }
        source.ids_from = o.ids.empty() ? o.features : o.ids;
        source.ids = store::open_texts(source.ids_from, o.ids_key);
        if (!o.finding_key.empty()) {
            source.findings = store::open_texts(source.ids_from, o.finding_key);
        } else if (store::kind_of(store::InputFile(source.ids_from)) == store::FileKind::hdf5) {
            source.findings = store::findings_of(source.ids_from);
        }
    }
    const auto ids = static_cast<std::int64_t>(source.ids.size());
    if (ids != source.array->rows) {
        throw DataError({source.ids_from}, "has " + std::to_string(ids) + " ids, but " + o.features +
                                               " has " + std::to_string(source.array->rows) + " rows");
    }
    if (!source.findings.empty() && source.findings.size() != source.ids.size()) {
        throw DataError({source.ids_from}, "has " + std::to_string(source.findings.size()) +
                                               " findings, but " + std::to_string(ids) + " ids");
    }
    store::check_ids(source.ids_from, source.ids, source.findings);
    for (std::size_t i = 0; i < source.findings.size(); ++i) {
        if (source.findings[i].empty()) {
            throw DataError({source.ids_from, static_cast<std::int64_t>(i), {}, source.ids[i]},
                            "the finding is blank");
        }
    }
    return source;
}

/// Calls `use(first, rows)` for blocks of about 64 MiB of the source's rows in double precision, in order.
template <class Use>
void for_each_block(const store::Array& array, Use use) {
    const std::int64_t most = std::max<std::int64_t>(1, (std::int64_t{8} << 20) / array.cols);
    Matrix<double> block(std::min(most, array.rows), array.cols);
    for (std::int64_t first = 0; first < array.rows; first += most) {
        const std::int64_t count = std::min(most, array.rows - first);
        std::vector<FeatureRow> which;
        for (std::int64_t i = 0; i < count; ++i) which.emplace_back(first + i);
        const MatrixView<double> rows = block.view().block(0, count);
        store::read_rows(array, which, rows);
        use(first, rows);
    }
}

void refuse_nonfinite(const Source& source, const std::string& file) {
    std::vector<std::string> bad;
    for_each_block(*source.array, [&](std::int64_t first, MatrixView<double> rows) {
        for (std::int64_t i = 0; i < rows.rows; ++i) {
            const auto row = rows.row(i);
            const bool finite =
                std::all_of(row.begin(), row.end(), [](double x) { return std::isfinite(x); });
            if (!finite) bad.push_back(source.ids[static_cast<std::size_t>(first + i)]);
        }
    });
    if (bad.empty()) return;
    throw DataError({file, std::nullopt, {}, bad.front()},
                    std::to_string(bad.size()) + " row(s) hold NaN or infinity: " + first_names(bad),
                    "repair them, or keep them with --allow-nonfinite");
}

/// Mean and reciprocal standard deviation (population variance) of each column; 0 for a constant column.
struct Scale {
    std::vector<double> mean, factor;
    std::int64_t constant = 0;
};

Scale standard_scale(const store::Array& array) {
    const auto d = static_cast<std::size_t>(array.cols);
    const auto n = static_cast<double>(array.rows);
    constexpr double infinity = std::numeric_limits<double>::infinity();
    std::vector<double> low(d, infinity), high(d, -infinity), squares(d, 0), rest(d, 0);
    Scale scale{std::vector<double>(d, 0), std::vector<double>(d, 0)};
    for_each_block(array, [&](std::int64_t, MatrixView<double> rows) {
        for (std::int64_t i = 0; i < rows.rows; ++i) {
            const auto row = rows.row(i);
            for (std::size_t j = 0; j < d; ++j) {
                scale.mean[j] += row[j] / n;
                low[j] = std::min(low[j], row[j]);
                high[j] = std::max(high[j], row[j]);
            }
        }
    });
    // Second pass: deviations, with the rounding left over from the mean taken out.
    for_each_block(array, [&](std::int64_t, MatrixView<double> rows) {
        for (std::int64_t i = 0; i < rows.rows; ++i) {
            const auto row = rows.row(i);
            for (std::size_t j = 0; j < d; ++j) {
                const double deviation = row[j] - scale.mean[j];
                squares[j] += deviation * deviation;
                rest[j] += deviation;
            }
        }
    });
    for (std::size_t j = 0; j < d; ++j) {
        // Told by the values themselves: a variance of 1e-33 from rounding would blow a constant up to +-1.
        if (low[j] == high[j]) {
            ++scale.constant;
            continue;
        }
        scale.mean[j] += rest[j] / n;
        scale.factor[j] = 1 / std::sqrt((squares[j] - rest[j] * rest[j] / n) / n);
    }
    return scale;
}

}  // namespace

int import_command(const std::vector<std::string>& arguments) {
    const Options o = parse_options(arguments);
    if (o.help) return static_cast<int>(ExitCode::done);
    const Source source = open_source(o);
    const store::ElementType type = o.type.empty() ? source.default_type : *store::element_type_of(o.type);

    store::require_other_file(o.output, o.features);
    if (!o.ids.empty()) store::require_other_file(o.output, o.ids);
    store::FeatureWriter writer(o.output, type, source.array->rows, source.array->cols, o.overwrite);
    if (!o.allow_nonfinite) refuse_nonfinite(source, o.features);
    std::optional<Scale> scale;
    if (o.scale == "standard") scale = standard_scale(*source.array);
    for_each_block(*source.array, [&](std::int64_t, MatrixView<double> rows) {
        for (std::int64_t i = 0; scale && i < rows.rows; ++i) {
            const auto row = rows.row(i);
            for (std::size_t j = 0; j < row.size(); ++j)
                row[j] = (row[j] - scale->mean[j]) * scale->factor[j];
        }
        writer.append(rows);
    });
    writer.finish(source.ids, source.findings);

    if (!o.quiet) {
        const std::string scaled =
            scale ? ", scaled (" + std::to_string(scale->constant) + " constant columns set to 0)" : "";
        write_output(std::to_string(source.array->rows) + " rows, " + std::to_string(source.array->cols) +
                     " columns, " + std::string(store::name_of(type)) + scaled + ": " + o.output + "\n");
    }
    return static_cast<int>(ExitCode::done);
}

}  // namespace candor::app
