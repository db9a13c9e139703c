#pragma once

#include <string>
#include <string_view>

#include "candor/base/error.hpp"

/// Predicate for BOOST_CHECK_EXCEPTION: the failure is a broken contract whose message contains `text`.
inline auto says(std::string_view text) {
    return [text](const candor::InternalError& e) {
        return e.code() == candor::ExitCode::internal && std::string_view(e.what()).find(text) != text.npos;
    };
}
