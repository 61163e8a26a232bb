"""`report.html`: one file that shows a run, readable offline, printable, without scripts.

Guaranteed: nothing is loaded from anywhere and nothing in it can run (all text is escaped by construction,
and the page's own content policy forbids scripts and requests besides); an interrupted or partial run
gives a report of what there is and says what is missing. Not guaranteed: that every conversation is in
it; the file is kept below about 2 MB, and `conversations.jsonl` has them all.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from string import Template

from coding_framework.monitoring import report_conversations, report_facts, report_plots, report_table
from coding_framework.monitoring.markup import text
from coding_framework.monitoring.run_folder import RunFolder
from coding_framework.monitoring.run_history import read_history
from coding_framework.monitoring.storage import write_whole


def write_report(run: RunFolder) -> Path:
    """Writes the report anew from what the run folder holds, and returns its path."""
    config, state, history = report_facts.read_config(run), run.state(), read_history(run)
    evaluation, missing = report_table.evaluation_of(run)
    page = _template().substitute(
        title=text(run.path.name),
        notices=report_facts.notices(run, config, history, missing),
        headline=report_facts.headline(evaluation, history),
        facts=report_facts.facts(config, state, evaluation),
        phases=report_facts.phases(config, state, history),
        table=report_table.before_after(evaluation),
        plots=report_plots.plots(history),
        metrics=report_plots.metric_table(history),
        conversations=report_conversations.conversations(history),
        config=report_facts.config_listing(run),
    )
    write_whole(run.report_file, page)
    return run.report_file


def page_style() -> str:
    """What every page of ours looks like; it loads nothing."""
    source = _template().template
    return source[source.index("<style>") : source.index("</style>") + len("</style>")]


def _template() -> Template:
    source = resources.files("coding_framework.monitoring").joinpath("report_template.html")
    return Template(source.read_text(encoding="utf-8"))
