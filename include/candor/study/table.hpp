#pragma once

/// A dataset's table: ids as text, labels as one of four values, context columns as text.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "candor/study/study.hpp"

namespace candor::study {

/// What a label cell holds, before any policy.
enum class Label : std::int8_t { negative = 0, positive = 1, uncertain = -1, blank = 2 };

/// One image a row, in file order; row r of every column is the same image (a TableRow).
struct Table {
    std::string file;
    std::vector<std::string> image;    ///< unique, never blank
    std::vector<std::string> patient;  ///< "" where blank or where the column is absent
    std::vector<std::string> split;    ///< empty vector where the table has no split column
    bool has_patient_column = false;
    std::map<std::string, std::vector<Label>> labels;          ///< by finding
    std::map<std::string, std::vector<std::string>> contexts;  ///< by column; without `dataset`
    std::vector<std::int64_t> line;                            ///< of the file, for messages

    std::int64_t rows() const { return static_cast<std::int64_t>(image.size()); }
};

/// Reads the columns that `findings` and `contexts` name from the table of `dataset`.
/// Names are matched exactly after trimming. The patient and the split column may be absent, unless the study
/// names them otherwise than by default or the header spells them otherwise ("Split"). A label is 1, 0, -1 or
/// blank; 1.0, 0.0 and -1.0 count as the same. `dataset` among `contexts` needs no column.
/// @throws DataError with file, row and column: a missing column (naming the nearest header and those seen),
///         a blank or duplicate image id, any other label, a table without rows.
Table parse_table(const Dataset& dataset, std::string_view bytes, const std::vector<std::string>& findings,
                  const std::vector<std::string>& contexts);

}  // namespace candor::study
