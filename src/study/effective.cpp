#include "candor/study/effective.hpp"

#include <string_view>
#include <vector>

#include "candor/base/text.hpp"

namespace candor::study {

namespace {

std::string quote(std::string_view text) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (byte < 0x20 || byte == 0x7f) {
            out += "\\u00";
            out += digits[byte >> 4];
            out += digits[byte & 15];
        } else {
            out += c;
        }
    }
    return out + '"';
}

std::string value_of(const std::string& text) {
    return quote(text);
}
std::string value_of(std::string_view text) {
    return quote(text);
}
std::string value_of(const char* text) {
    return quote(text);
}
std::string value_of(bool flag) {
    return flag ? "true" : "false";
}
std::string value_of(std::int64_t number) {
    return std::to_string(number);
}
std::string value_of(int number) {
    return std::to_string(number);
}
std::string value_of(double number) {
    return format_real(number);
}

template <class T>
std::string value_of(const std::vector<T>& list) {
    std::string out = "[";
    for (const T& item : list) out += (out.size() > 1 ? ", " : "") + value_of(item);
    return out + ']';
}

class Writer {
  public:
    void heading(std::string_view name) {
        text_ += (text_.empty() ? "[" : "\n[") + std::string(name) + "]\n";
    }
    template <class T>
    void key(std::string_view name, const T& value) {
        line(name, value_of(value));
    }
    /// Nothing where there is no value.
    void key_if(std::string_view name, const std::string& value) {
        if (!value.empty()) key(name, value);
    }
    void line(std::string_view name, const std::string& toml) {
        text_ += std::string(name) + " = " + toml + '\n';
    }
    std::string text() const { return text_; }

  private:
    std::string text_;
};

template <class E>
std::vector<std::string_view> names_of(const std::vector<E>& values) {
    std::vector<std::string_view> names;
    for (const E value : values) names.push_back(name_of(value));
    return names;
}

void write_rules(const Study& study, Writer& out) {
    out.heading("study");
    out.key("name", study.name);
    out.key("seed", static_cast<std::int64_t>(study.seed));
    out.heading("operator");
    out.key("k", study.op.k);
    out.key("bank_cap", study.op.bank_cap);
    out.key("candidates", name_of(study.op.candidates));
    if (study.op.also_is_set) out.key("also", names_of(study.op.also));
    out.key("negative_queries", name_of(study.op.negative_queries));
    out.key("draws", study.op.draws);
    out.heading("pool");
    out.key("rows", study.pool.rows);
    out.key("splits", study.pool.splits);
    out.key("on_bad_row", study.pool.drop_bad_rows ? "drop" : "error");
    out.key("on_missing", study.pool.intersect_missing ? "intersect" : "error");
    out.key("on_leak", study.pool.drop_leaks ? "drop" : "error");
    out.key("blank_context", study.pool.blank_context_is_own ? "own" : "exclude");
    out.heading("bootstrap");
    out.key("resamples", study.bootstrap.resamples);
    out.key("confidence", study.bootstrap.confidence);
    out.heading("test");
    out.key("permutations", study.test.permutations);
    out.key("alpha", study.test.alpha);
    out.heading("heads");
    out.key("kinds", study.heads.kinds);
    out.key("epochs", study.heads.epochs);
    out.key("ensemble", study.heads.ensemble);
    out.key("train_rows", study.heads.train_rows);
    out.key("test_rows", study.heads.test_rows);
    out.key("sensitivity", study.heads.sensitivity);
    if (!study.heads.split.empty()) out.key("split", study.heads.split);
}

void write_encoder(const Encoder& encoder, Writer& out) {
    out.heading("[encoder]");
    out.key("id", encoder.id);
    out.key("label", encoder.label);
    out.key_if("domain", encoder.domain);
    out.key_if("objective", encoder.objective);
    if (encoder.parameters) out.key("parameters", *encoder.parameters);
    if (encoder.year) out.key("year", *encoder.year);
    out.key("anchor", encoder.anchor);
}

void write_dataset(const Dataset& dataset, Writer& out) {
    out.heading("[dataset]");
    out.key("id", dataset.id);
    out.key("label", dataset.label);
    out.key("table", dataset.table);
    out.key("features", dataset.features);
    out.key_if("erased", dataset.erased);
    out.key_if("boxes", dataset.boxes);
    out.key_if("reference", dataset.reference);
    out.line("columns", "{ image = " + quote(dataset.columns.image) +
                            ", patient = " + quote(dataset.columns.patient) +
                            ", split = " + quote(dataset.columns.split) + " }");
}

void write_contrast(const Contrast& contrast, Writer& out) {
    out.heading("[contrast]");
    out.key("id", contrast.id);
    out.key("task", contrast.task);
    std::string arms;
    for (const auto& [name, encoders] : contrast.arms) {
        arms += (arms.empty() ? "{ " : ", ") + quote(name) + " = " + value_of(encoders);
    }
    out.line("arms", arms + " }");
}

void write_task(const Study& study, const Task& task, Writer& out) {
    std::vector<std::string> datasets, encoders;
    for (const std::size_t d : task.datasets) datasets.push_back(study.datasets[d].id);
    for (const std::size_t e : task.encoders) encoders.push_back(study.encoders[e].id);
    out.heading("[task]");
    out.key("id", task.id);
    out.key("label", task.label);
    out.key_if("domain", task.domain);
    out.key("datasets", datasets);
    out.key("findings", task.findings);
    out.key("encoders", encoders);
    out.key("context", task.context);
    out.line("labels", "{ uncertain = " + value_of(name_of(task.uncertain)) +
                           ", blank = " + value_of(name_of(task.blank)) + " }");
    out.key("splits", task.splits);
    out.key("rows", task.rows);
}

}  // namespace

std::string effective_text(const Study& study) {
    Writer out;
    write_rules(study, out);
    for (const Encoder& encoder : study.encoders) write_encoder(encoder, out);
    for (const Dataset& dataset : study.datasets) write_dataset(dataset, out);
    for (const Contrast& contrast : study.contrasts) write_contrast(contrast, out);
    for (const Task& task : study.tasks) write_task(study, task, out);
    return out.text();
}

}  // namespace candor::study
