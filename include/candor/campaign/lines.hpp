#pragma once

/// Tables made of lines that are known before any is written.

#include "candor/campaign/rows.hpp"

namespace candor::campaign {

using store::table_of;

}  // namespace candor::campaign
