#include "candor/report/page.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "candor/base/text.hpp"
#include "candor/report/cell_text.hpp"
#include "candor/report/escape.hpp"
#include "candor/report/exhibits.hpp"
#include "candor/report/head_answers.hpp"
#include "candor/report/rate.hpp"
#include "candor/report/table_columns.hpp"

namespace candor::report {

namespace {

constexpr const char* style = R"(
:root{color-scheme:light}
body{font:16px/1.5 system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;color:#1a1a1a;background:#fff;max-width:60rem;margin:0 auto;padding:1rem}
h1{font-size:1.6rem;line-height:1.2}h2{font-size:1.3rem;margin-top:2.5rem;border-top:2px solid #1a1a1a;padding-top:.5rem}h3{font-size:1.05rem;margin:1.5rem 0 .3rem}
a{color:#005a9c}a:focus,button:focus,input:focus,.scroll:focus,summary:focus{outline:3px solid #d55e00;outline-offset:2px}
nav ul{columns:2;padding-left:1.2rem}@media(max-width:40rem){nav ul{columns:1}}
.scroll{overflow-x:auto;margin:1rem 0;position:relative}
table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}
caption{text-align:left;padding-bottom:.4rem;min-width:18rem}caption>span{display:block;position:sticky;left:0;max-width:min(58rem,calc(100vw - 2rem))}
th,td{padding:.2rem .5rem;text-align:left;border-bottom:1px solid #ddd;vertical-align:top}
thead th{border-bottom:2px solid #1a1a1a;vertical-align:bottom;background:#fff}
td.n,th.n{text-align:right;white-space:nowrap}tbody th{font-weight:normal;white-space:nowrap}
td.l{min-width:16rem}small{color:#444}
th button{font:inherit;font-weight:bold;color:inherit;background:none;border:0;padding:0;cursor:pointer;text-align:inherit}
th button::after{content:" \2195";color:#595959}th[aria-sort=ascending] button::after{content:" \2191"}th[aria-sort=descending] button::after{content:" \2193"}
.filter{display:block;font-size:.85rem;margin-top:1rem}.filter input{font:inherit;padding:.2rem .4rem;border:1px solid #666;width:14rem;max-width:100%}
figure{margin:1rem 0;overflow-x:auto}figure svg{max-width:100%;height:auto}figcaption{font-size:.85rem}
.said{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.beware{border-left:4px solid #d55e00;padding-left:1rem}
.skip{position:absolute;left:-99rem}.skip:focus{position:static}
footer{margin-top:3rem;border-top:1px solid #888;font-size:.85rem}
@media print{body{max-width:none;font-size:10pt;padding:0}.filter,nav,.skip{display:none}details>*{display:block}h2{break-before:page}#whole{break-before:auto}figure,tr{break-inside:avoid}thead,h3{break-after:avoid}table{font-size:7pt}td.n{white-space:normal}th button::after{content:""}.scroll,figure{overflow:visible}a{color:inherit}}
)";

// Buttons that sort and fields that filter are made by the script: without it nothing is there that does
// nothing.
constexpr const char* script = R"(
for(const t of document.querySelectorAll('table')){
const b=t.tBodies[0],h=[...t.tHead.rows[0].cells];if(b.rows.length<3)continue;
const key=(r,i)=>{const c=r.cells[i];return c.hasAttribute('data-v')?(c.dataset.v===''?null:+c.dataset.v):c.textContent.toLowerCase()};
h.forEach((c,i)=>{const u=document.createElement('button');u.type='button';u.textContent=c.textContent;c.textContent='';c.append(u);
u.addEventListener('click',()=>{const d=c.getAttribute('aria-sort')==='ascending'?-1:1;h.forEach(x=>x.removeAttribute('aria-sort'));
c.setAttribute('aria-sort',d>0?'ascending':'descending');
b.append(...[...b.rows].sort((p,q)=>{const x=key(p,i),y=key(q,i);return x===y?0:x===null?1:y===null?-1:(x<y?-1:1)*d}))})});
if(b.rows.length<9)continue;
const l=document.createElement('label'),f=document.createElement('input'),n=document.createElement('span');
l.className='filter';f.type='search';f.setAttribute('aria-label','Only rows with, in '+t.caption.querySelector('b').textContent);n.setAttribute('role','status');l.append('Only rows with ',f,' ',n);t.parentNode.before(l);
f.addEventListener('input',()=>{const w=f.value.toLowerCase();let k=0;for(const r of b.rows){r.hidden=!r.textContent.toLowerCase().includes(w);k+=!r.hidden}
n.textContent=w?k+' of '+b.rows.length:''})}
)";

std::string paragraph(const std::string& text) {
    return text.empty() ? "" : "<p>" + html_text(text) + "</p>\n";
}

std::string bullets(const std::vector<std::string>& texts_of) {
    if (texts_of.empty()) return "";
    std::string out = "<ul>\n";
    for (const std::string& text : texts_of) out += "<li>" + html_text(text) + "</li>\n";
    return out + "</ul>\n";
}

std::string link(const std::string& file, const std::string& words) {
    return "<a href=\"" + file + "\">" + words + "</a>";
}

std::string figure_html(const Page& page, const Figure& figure) {
    const std::string title = figure.title + (figure.title.ends_with('?') ? "" : ".");
    const std::string at = "figures/" + figure.name;
    std::string out = "<figure id=\"" + figure.name + "\">\n";
    const auto drawn = page.drawn.find(figure.name);
    if (drawn != page.drawn.end()) {
        out += "<div role=\"img\" aria-label=\"" + html_text(title + " " + figure.description) + "\">" +
               inline_svg(drawn->second, figure.name) + "</div>\n";
    } else {
        out += "<p>This figure was not drawn: run gnuplot " + figure.name + ".gp in the folder figures. " +
               html_text(figure.description) + "</p>\n";
    }
    out += "<figcaption><b>" + html_text(title) + "</b> " + html_text(figure.caption) + " Files: ";
    if (drawn != page.drawn.end()) out += link(at + ".svg", "SVG") + ", " + link(at + ".pdf", "PDF") + ", ";
    return out + link(at + ".csv", "data") + ", " + link(at + ".gp", "script") + "</figcaption>\n</figure>\n";
}

std::string exhibit_part(const Exhibit& exhibit) {
    const std::string at = "tables/" + exhibit.name;
    return exhibit_html(exhibit) + "<p><small>Files: " + link(at + ".csv", "CSV") + ", " +
           link(at + ".md", "Markdown") + ", " + link(at + ".tex", "LaTeX") + "</small></p>\n";
}

const Exhibit* starting_with(const std::vector<Exhibit>& exhibits, std::string_view start) {
    for (const Exhibit& exhibit : exhibits) {
        if (exhibit.name.starts_with(start)) return &exhibit;
    }
    return nullptr;
}

/// The figures and exhibits whose names begin so, each kind in its order.
std::string parts(const Page& page, const TaskPart& part, const std::vector<std::string>& starts) {
    std::string out;
    for (const std::string& start : starts) {
        for (const Figure& figure : part.figures) {
            if (figure.name.starts_with(start)) out += figure_html(page, figure);
        }
        if (const Exhibit* const exhibit = starting_with(part.exhibits, start)) out += exhibit_part(*exhibit);
    }
    return out;
}

std::string task_html(const ReportData& data, const Page& page, const TaskPart& part, std::size_t number) {
    const TaskFacts& facts = data.task(part.task);
    const Overview& overview = data.overview;
    const auto& about = *std::ranges::find(overview.tasks, part.task, &OverviewTask::id);
    std::string out = "<section aria-labelledby=\"task-" + std::to_string(number) + "\">\n<h2 id=\"task-" +
                      std::to_string(number) + "\">" + html_text(facts.label) + "</h2>\n";
    out += paragraph(counted(about.images, "image", "images") + " of " +
                     counted(about.patients, "patient", "patients") +
                     " were asked about, compared within contexts of " + join_text(facts.context, ", ") +
                     "; candidate rule \"" + overview.rule + "\", k = " + std::to_string(overview.k) + ".");
    out += "<h3>Which encoder separates which finding, and by how much below chance?</h3>\n";
    out += bullets(separation_sentences(data, part.task));
    out += parts(page, part, {"heat-map-", "forest-", "table-2-"});
    out += "<h3>Which findings does no encoder separate?</h3>\n";
    out += bullets(unseparated_sentences(data, part.task));
    out += parts(page, part, {"margin-"});
    out += "<h3>Which encoders fail together?</h3>\n";
    out += paragraph(overlap_sentence(overview.across.overlap_summary, part.task));
    out += paragraph(consensus_sentence(overview.across.consensus, part.task));
    out += parts(page, part, {"overlap-", "consensus-", "table-4-"});
    const std::string retention =
        retention_sentence(overview.across.retention, overview.across.associations, part.task);
    if (!retention.empty()) {
        out += "<h3>Does the encoder notice when the evidence is gone?</h3>\n" + paragraph(retention) +
               parts(page, part, {"retention-"});
    }
    const auto section = [&](const char* question, const std::vector<std::string>& answers,
                             const std::vector<std::string>& starts) {
        if (!answers.empty())
            out += std::string("<h3>") + question + "</h3>\n" + bullets(answers) + parts(page, part, starts);
    };
    section("What do trained heads read from the same features?", reading_answers(data, part.task),
            {"auroc-", "caps-"});
    section("Which encoders' errors can be detected?", detection_answers(data, part.task),
            {"risk-coverage-", "detection-", "gaps-"});
    section("How far would selecting an encoder by image go?", selection_answers(data, part.task),
            {"policies-", "selection-"});
    out += "<h3>What to distrust here</h3>\n<div class=\"beware\">\n";
    auto beware = warnings(overview, about);
    if (beware.empty()) beware.emplace_back("Nothing was left out, flagged or undefined in this task.");
    out += bullets(beware) + "</div>\n<h3>The tests</h3>\n" + bullets(family_lines(overview, part.task));
    if (const Exhibit* const rates = starting_with(part.exhibits, "rates-")) {
        out += "<h3>Every rate</h3>\n" + exhibit_part(*rates);
    }
    return out + "</section>\n";
}

/// One sentence a task for the top of the page.
std::vector<std::string> headlines(const ReportData& data) {
    std::vector<std::string> out;
    for (const TaskFacts& task : data.tasks) {
        const std::string panel = panel_sentences(data.overview, task.id);
        std::string text = task.label + ": " + panel.substr(0, panel.find(". ") + 1);
        if (text.ends_with(": ")) text += panel;  // one sentence
        const store::ResultTable& rows = data.overview.task_rows;
        std::int64_t positives = 0, few = 0;
        for (const std::size_t i : rows_of(rows, task.id)) {
            if (texts(rows, "level")[i] != "micro") continue;
            positives = std::max(positives, integers(rows, "queries")[i]);
            few += integers(rows, "few_patients")[i];
        }
        text += " Asked: " + counted(positives, "positive", "positives") +
                (few > 0 ? ", of fewer than 10 patients: too few to lean on." : ".");
        out.push_back(std::move(text));
    }
    return out;
}

}  // namespace

std::vector<std::string> separation_sentences(const ReportData& data, const std::string& task) {
    const store::ResultTable& table = data.overview.findings;
    std::int64_t below = 0, above = 0, open = 0, untested = 0;
    std::optional<std::size_t> lowest, highest;
    std::set<std::string> tests;
    const auto rows = rows_of(table, task);
    for (const std::size_t i : rows) {
        const std::string found = verdict(table, i);
        ++(found == "below chance"   ? below
           : found == "above chance" ? above
           : found == "not tested"   ? untested
                                     : open);
        const double shown = rate_of(table, i).shown;
        if (std::isnan(shown)) continue;
        tests.insert(texts(table, "test")[i]);
        if (!lowest || shown < rate_of(table, *lowest).shown) lowest = i;
        if (!highest || shown > rate_of(table, *highest).shown) highest = i;
    }
    std::vector<std::string> out{panel_sentences(data.overview, task)};
    if (!lowest) return out;
    const std::string test = join_text(std::vector(tests.begin(), tests.end()), ", ");
    std::string text = "Of " + counted(std::ssize(rows), "pair", "pairs") + " of an encoder and a finding, " +
                       std::to_string(below) + " lie significantly below chance, " + std::to_string(above) +
                       " above, and " + std::to_string(open) + " are not told from it (q at most " +
                       significant(data.alpha, 3) + ", test: " + test + ")";
    if (untested > 0) text += "; " + std::to_string(untested) + " could not be tested";
    text += ".";
    if (tests.contains("bootstrap"))
        text +=
            " The bootstrap test rejects a true null more often than its level says: take it as a screening.";
    out.push_back(text);
    const auto one = [&](std::size_t i) {
        const Rate rate = rate_of(table, i);
        const std::string points = format_fixed(std::fabs(50 - 100 * rate.shown), 1);
        return data.encoder(texts(table, "encoder")[i]) + " on " + texts(table, "finding")[i] + " at " +
               with_interval(rate.shown, rate.low, rate.high) + " over " +
               counted(integers(table, "queries")[i], "positive", "positives") + ", " + points + " points " +
               (rate.shown <= 0.5 ? "below" : "above") + " chance";
    };
    if (*lowest != *highest)
        out.push_back("The lowest rate is that of " + one(*lowest) + "; the highest that of " +
                      one(*highest) + ".");
    const std::string distance = distance_sentence(data.overview.across.distances, task);
    if (!distance.empty()) out.push_back(distance);
    return out;
}

std::vector<std::string> unseparated_sentences(const ReportData& data, const std::string& task) {
    const store::ResultTable& table = data.overview.findings;
    const auto rows = rows_of(table, task);
    std::vector<std::string> out;
    std::int64_t findings = 0;
    for (const std::string& finding : data.task(task).findings) {
        bool any = false, below = false;
        std::int64_t margins = 0, encoders = 0;
        std::optional<std::size_t> lowest;
        for (const std::size_t i : rows) {
            if (texts(table, "finding")[i] != finding) continue;
            any = true;
            ++encoders;
            below = below || verdict(table, i) == "below chance";
            margins += integers(table, "margin_reject")[i] != 0 && reals(table, "margin_auroc")[i] > 0.5;
            const double shown = rate_of(table, i).shown;
            if (!std::isnan(shown) && (!lowest || shown < rate_of(table, *lowest).shown)) lowest = i;
        }
        if (!any) {
            out.push_back(finding + ": not scored under any encoder, so nothing is known of it.");
            continue;
        }
        ++findings;
        if (below || !lowest) continue;
        const Rate rate = rate_of(table, *lowest);
        out.push_back(finding + ": no encoder is significantly below chance; the lowest is " +
                      data.encoder(texts(table, "encoder")[*lowest]) + " at " +
                      with_interval(rate.shown, rate.low, rate.high) + " over " +
                      counted(integers(table, "queries")[*lowest], "positive", "positives") +
                      ". By the margin AUROC " + std::to_string(margins) + " of " +
                      counted(encoders, "encoder", "encoders") + (margins == 1 ? " is" : " are") +
                      " significantly above chance.");
    }
    if (out.empty()) {
        out.push_back("Each of the " + counted(findings, "finding", "findings") +
                      " has an encoder whose rate is significantly below chance.");
    } else {
        out.emplace_back(
            "Not significantly below chance is no proof of chance: with few positives the interval is wide.");
    }
    return out;
}

std::string inline_svg(const std::string& svg, const std::string& prefix) {
    const std::size_t start = svg.find("<svg");
    if (start == std::string::npos) return {};
    std::string out;
    bool tag = false;
    for (std::size_t i = start; i < svg.size(); ++i) {
        const std::string_view rest = std::string_view(svg).substr(i);
        if (svg[i] == '<') tag = true;
        if (svg[i] == '>') tag = false;
        std::size_t length = 0;
        // What names an id or refers to one; only within tags, for names of the user stand between them.
        if (tag) {
            for (const std::string_view lead : {" id='", " id=\"", "href='#", "href=\"#", "url(#"}) {
                if (rest.starts_with(lead)) length = lead.size();
            }
        }
        if (length == 0) {
            out += svg[i];
            continue;
        }
        out += rest.substr(0, length);
        out += prefix + "-";
        i += length - 1;
    }
    return out;
}

std::string html_page(const ReportData& data, const Page& page) {
    const std::string title = data.overview.run.substr(0, data.overview.run.find(", seed "));
    std::string out =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
        "content=\"width=device-width, initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" "
        "content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>" +
        html_text(title) + "</title>\n<style>" + style + "</style>\n</head>\n<body>\n" +
        "<a class=\"skip\" href=\"#main\">To the results</a>\n<header>\n<h1>" + html_text(title) + "</h1>\n" +
        paragraph(data.overview.run + ".");
    out += "<nav aria-label=\"Contents\"><ul>\n<li><a href=\"#whole\">The whole study</a></li>\n";
    for (std::size_t t = 0; t < page.tasks.size(); ++t) {
        out += "<li><a href=\"#task-" + std::to_string(t + 1) + "\">" +
               html_text(data.task(page.tasks[t].task).label) + "</a></li>\n";
    }
    out +=
        "<li><a href=\"#distrust\">What to distrust</a></li>\n</ul></nav>\n</header>\n<main id=\"main\">\n";
    out += paragraph(
        "D, the discordance rate, is the share of positive images that an encoder places nearer to images "
        "without the finding than to its own kind, among images acquired the same way. At 50 it tells "
        "nothing apart; 0 is perfect. Numbers are percentages with their " +
        significant(100 * data.overview.confidence, 3) + " % intervals over patients in brackets.");
    out += "<section aria-labelledby=\"whole\">\n<h2 id=\"whole\">The whole study</h2>\n" +
           bullets(headlines(data));
    for (const Figure& figure : page.figures) out += figure_html(page, figure);
    for (const Exhibit& exhibit : page.exhibits) out += exhibit_part(exhibit);
    out += bullets(family_lines(data.overview, "")) + "</section>\n";
    for (std::size_t t = 0; t < page.tasks.size(); ++t) out += task_html(data, page, page.tasks[t], t + 1);
    out +=
        "<section aria-labelledby=\"distrust\">\n<h2 id=\"distrust\">What to distrust</h2>\n<div "
        "class=\"beware\">\n";
    for (const OverviewTask& task : data.overview.tasks) {
        const auto texts_of = warnings(data.overview, task);
        if (texts_of.empty()) continue;
        out += "<h3>" + html_text(data.task(task.id).label) + "</h3>\n" + bullets(texts_of);
    }
    out += bullets(
        {"Intervals describe the queries given the drawn candidates; another draw of candidates would move "
         "the rates further than the intervals say.",
         "An interval that does not hold 50 is a reading aid, not a test; the tests are those listed with "
         "their families.",
         "Two encoders that share geometry confuse the same images even when the finding is independent "
         "of everything: a significant overlap says that they fail together, not that the evidence is at "
         "fault.",
         "A rate of 0 under few patients says little: read the bound in the table cells."});
    out += "</div>\n";
    if (!page.absent.empty()) out += "<h3>What this report does not show</h3>\n" + bullets(page.absent);
    out += "</section>\n</main>\n<footer>" +
           paragraph("Made by candor report from " + data.overview.file + ".") + "</footer>\n<script>" +
           script + "</script>\n</body>\n</html>\n";
    return out;
}

}  // namespace candor::report
