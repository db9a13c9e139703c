#include "candor/neighbors/panel_cache.hpp"

#include <algorithm>
#include <utility>

namespace candor::neighbors {

PanelCache::PanelCache(std::int64_t panels, std::int64_t most, Load load)
    : most_(std::max<std::int64_t>(2, most)),
      load_(std::move(load)),
      held_(static_cast<std::size_t>(panels)) {}

PanelCache::~PanelCache() {
    if (future_.valid()) future_.wait();
}

std::shared_ptr<const PanelRows> PanelCache::get(std::int64_t panel) {
    if (coming_ == panel) collect();
    const auto at = static_cast<std::size_t>(panel);
    if (held_[at] == nullptr) {
        collect();  // one load at a time
        make_room();
        ++loads_;
        keep(panel, std::make_shared<const PanelRows>(load_(panel)));
    } else {
        used_.remove(panel);
        used_.push_back(panel);
    }
    return held_[at];
}

void PanelCache::ahead(std::int64_t panel) {
    if (held_[static_cast<std::size_t>(panel)] != nullptr || coming_ == panel || most_ < 3) return;
    collect();
    make_room();
    ++loads_;
    coming_ = panel;
    future_ = std::async(std::launch::async,
                         [this, panel] { return std::make_shared<const PanelRows>(load_(panel)); });
}

void PanelCache::collect() {
    if (!future_.valid()) return;
    const std::int64_t panel = std::exchange(coming_, -1);
    keep(panel, future_.get());
}

void PanelCache::keep(std::int64_t panel, std::shared_ptr<const PanelRows> rows) {
    held_[static_cast<std::size_t>(panel)] = std::move(rows);
    used_.push_back(panel);
}

void PanelCache::make_room() {
    while (std::ssize(used_) >= most_) {
        held_[static_cast<std::size_t>(used_.front())].reset();
        used_.pop_front();
    }
}

}  // namespace candor::neighbors
