#pragma once

/// One table of a TOML file, read key by key. What a reader asks for is what is allowed: every key that
/// nobody asked for is unknown.

#include <toml++/toml.h>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "candor/base/error.hpp"

namespace candor::study {

/// Whether a key may be left out.
enum class Need { optional, required };

/// A reader of one table. A getter leaves `value` as it is where an optional key is absent, and throws
/// UsageError where the key holds something else than it should; `finish` must follow the last getter.
class Section {
  public:
    /// `place` is what stands between the file and the key in messages: `operator.` or `[[task]] "chest": `.
    /// Keys in `overridden` (with their place) came from the command line and are reported as `--set`.
    Section(const toml::table& table, std::string file, std::string place,
            const std::set<std::string>& overridden);

    bool has(const std::string& key);
    /// Text that is not empty.
    void text(const std::string& key, std::string& value, Need need = Need::optional);
    /// A list of texts without repeats, none of them empty; `empty_allowed` is about the list.
    void texts(const std::string& key, std::vector<std::string>& value, Need need = Need::optional,
               bool empty_allowed = false);
    /// A whole number of at least `least` and at most `most`.
    void integer(const std::string& key, std::int64_t& value, std::int64_t least,
                 std::int64_t most = std::numeric_limits<std::int64_t>::max());
    /// As above for the smaller type.
    void integer(const std::string& key, int& value, std::int64_t least,
                 int most = std::numeric_limits<int>::max());
    /// A finite number; whole numbers count.
    void real(const std::string& key, double& value);
    void reals(const std::string& key, std::vector<double>& value);
    void flag(const std::string& key, bool& value);
    /// Position in `words` of the text at `key`, or nothing where the key is absent.
    std::optional<std::size_t> word(const std::string& key, const std::vector<std::string>& words);
    /// The table at `key`, or an empty one.
    Section table(const std::string& key, Need need = Need::optional);
    /// The keys in the order of the file. Each counts as asked for.
    std::vector<std::string> keys();

    /// @throws UsageError for a key that no getter asked for, naming the nearest that was; then for a
    ///         required key that is absent.
    void finish() const;

    /// The error that `key` breaks `rule`.
    UsageError fault(const std::string& key, const std::string& rule) const;
    /// @throws UsageError unless `holds`.
    void require(bool holds, const std::string& key, const std::string& rule) const;

  private:
    const toml::node* find(const std::string& key, Need need = Need::optional);

    const toml::table* table_;
    std::string file_, place_;
    const std::set<std::string>* overridden_;
    std::vector<std::string> asked_;
    std::vector<std::string> missing_;
};

/// What a TOML value is, in the words of the messages: "a list", "text", "a whole number", ...
std::string kind_of(const toml::node& node);

/// `"a"; did you mean "b"?` or `"a"; known: "b", "c"`: the tail of a message about an unknown name.
std::string unknown_name(std::string_view name, const std::vector<std::string>& known);

}  // namespace candor::study
