#pragma once

/// `candor show OUT.h5.journal`: how far a study is.

#include <string>
#include <vector>

#include "candor/base/log.hpp"
#include "candor/store/table.hpp"

namespace candor::app {

/// Whether `path` is called as journals are.
bool is_journal(const std::string& path);

/// Its tables: `stages`, `left` and `ranks`, without rows where there is nothing to tell.
/// @throws UsageError as below.
std::vector<store::ResultTable> journal_tables(const std::string& folder);

/// Prints what is done, running and left of the study whose journal is `folder`, once.
/// @throws UsageError where there is no such journal, saying where the results are if they are there.
void show_journal(const std::string& folder);

/// The same, then until the results are there a line for people on standard error: on a terminal one that is
/// rewritten, elsewhere one a minute at most. A run that was ended is waited for: the same command goes on.
/// @throws MachineError where the journal goes and there are no results.
void follow_journal(const std::string& folder, const Log& log);

}  // namespace candor::app
