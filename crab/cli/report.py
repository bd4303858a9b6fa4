"""``crab report``: the table of a run, and its HTML report."""

from __future__ import annotations

from pathlib import Path

from crab.report.html import write_report
from crab.report.tables import results_table
from crab.run.suite import collect_results


def report_command(directory: Path) -> None:
    """Prints the table and writes the report.

    Raises:
        RecordError: The directory is no run directory, or cannot be read.
    """
    from rich.console import Console

    console = Console()
    path = write_report(directory)
    console.print(results_table(collect_results(directory)))
    console.print(f"report: {path}", soft_wrap=True)
