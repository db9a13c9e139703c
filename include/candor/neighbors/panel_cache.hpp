#pragma once

/// The panels of a census that are in memory: as many as its budget allows, the next one read ahead.

#include <cstdint>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <vector>

#include "candor/neighbors/panel_rows.hpp"

namespace candor::neighbors {

class PanelCache {
  public:
    using Load = std::function<PanelRows(std::int64_t panel)>;

    /// Has at most `most` panels (at least 2), the one that is being read among them, where callers hold no
    /// others than the two they asked for last. `load` is called by one thread at a time.
    PanelCache(std::int64_t panels, std::int64_t most, Load load);
    ~PanelCache();

    /// The panel, loaded now if it must be.
    std::shared_ptr<const PanelRows> get(std::int64_t panel);
    /// Begins to load a panel that will be asked for next, beside the caller's work; does nothing where it is
    /// there already, or where there is no room beside the two that were asked for last.
    void ahead(std::int64_t panel);
    /// Panels loaded so far, again and again.
    std::int64_t loads() const { return loads_; }

  private:
    void make_room();
    void keep(std::int64_t panel, std::shared_ptr<const PanelRows> rows);
    void collect();

    std::int64_t most_;
    Load load_;
    std::vector<std::shared_ptr<const PanelRows>> held_;
    std::list<std::int64_t> used_;  // the latest last
    std::int64_t coming_ = -1;      // being read ahead
    std::future<std::shared_ptr<const PanelRows>> future_;
    std::int64_t loads_ = 0;
};

}  // namespace candor::neighbors
