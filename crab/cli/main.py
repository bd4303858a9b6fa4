"""``crab``: every command, and the one place where errors become a line and an exit status."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from crab.errors import CrabError, InfrastructureError

EXIT_USAGE = 2
"""What was asked for cannot be done as asked."""

EXIT_INFRASTRUCTURE = 3
"""The machinery failed; nothing is known about any agent."""

EXIT_FINDINGS = 1
"""The command worked, and what it looked at is not all right."""

EXIT_INTERRUPTED = 130
"""Interrupted by the person; a run can be continued."""

app = typer.Typer(
    help="CRAB: benchmark agents that operate several devices at once.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
tasks_app = typer.Typer(help="List, show, make and export tasks.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(tasks_app, name="tasks")

ProjectOption = Annotated[
    Path | None, typer.Option("--project", help="Folder with the pyproject.toml that has [tool.crab].", metavar="DIR")
]


@app.command()
def run(
    agent: Annotated[str, typer.Option(help="Agent ids, or import strings, separated by commas.")],
    out: Annotated[Path, typer.Option(help="Run directory; an existing one is continued.")],
    tasks: Annotated[str | None, typer.Option(help="all (the default), or task ids or files with commas.")] = None,
    suite: Annotated[Path | None, typer.Option(help="TOML file with a list `tasks`, instead of --tasks.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds each task is tried with: 0, 1, …")] = 1,
    jobs: Annotated[int, typer.Option(min=1, help="How many trials run at the same time.")] = 1,
    max_actions: Annotated[int, typer.Option(min=1, help="Executed actions after which a trial ends.")] = 30,
    max_seconds: Annotated[float, typer.Option(min=1, help="Seconds after which a trial ends.")] = 600.0,
    max_invalid: Annotated[
        int, typer.Option(min=0, help="Invalid calls in a row after which a trial ends; 0 ends at the first.")
    ] = 5,
    provider: Annotated[
        list[str] | None, typer.Option(help="ROLE=NAME or KIND=NAME: which provider starts the device.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="ROLE.KEY=VALUE or KIND.KEY=VALUE: an option of the provider.")
    ] = None,
    agent_option: Annotated[
        list[str] | None, typer.Option(help="AGENT.KEY=VALUE: a setting of the agent, for example single.model=NAME.")
    ] = None,
    accessibility: Annotated[
        bool, typer.Option("--accessibility", help="Show the accessibility tree (a privileged track).")
    ] = False,
    frames_per_second: Annotated[
        float | None,
        typer.Option("--fps", min=0.1, max=10, help="Also show frames between two turns, this many a second."),
    ] = None,
    report: Annotated[bool, typer.Option(help="Write the HTML report at the end.")] = True,
    project: ProjectOption = None,
) -> None:
    """Run agents on tasks, and continue a run that was interrupted."""
    from crab.cli.run import RunRequest, run_command

    request = RunRequest(
        agents=agent.split(","),
        tasks=None if tasks is None else tasks.split(","),
        suite=suite,
        seeds=seeds,
        jobs=jobs,
        out=out,
        max_actions=max_actions,
        max_seconds=max_seconds,
        max_invalid=max_invalid,
        providers=provider or [],
        options=option or [],
        agent_options=agent_option or [],
        accessibility=accessibility,
        frames_per_second=frames_per_second,
        report=report,
        project=project,
    )
    raise typer.Exit(run_command(request))


@app.command("exec-trial", hidden=True)
def exec_trial(spec: Path, directory: Path, parent: int) -> None:
    """Run one trial as a child process of a driver."""
    from crab.run.trial import exec_trial as execute

    raise typer.Exit(execute(spec, directory, parent))


@tasks_app.command("list")
def tasks_list(
    project: ProjectOption = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line instead of a table.")] = False,
) -> None:
    """List all tasks of the project."""
    from crab.cli.tasks import list_tasks

    list_tasks(project, as_json=json)


@tasks_app.command("show")
def tasks_show(task: str, project: ProjectOption = None) -> None:
    """Show one task: description, subtasks, set-up, checkpoints."""
    from crab.cli.tasks import show_task

    show_task(task, project)


@tasks_app.command("graph")
def tasks_graph(
    task: str,
    project: ProjectOption = None,
    format: Annotated[str, typer.Option(help="text, mermaid or json.")] = "text",
) -> None:
    """Print the checkpoint graph of one task."""
    from crab.cli.tasks import graph_task

    graph_task(task, project, format)


@tasks_app.command("generate")
def tasks_generate(
    template: Annotated[
        list[str], typer.Option(help="Subtasks with commas, one after another; or a task document, for its structure.")
    ],
    seeds: Annotated[str, typer.Option(help="A count (10), a range (10-19), or several with commas.")],
    out: Annotated[Path, typer.Option(help="Folder the documents are written to.")],
    author: Annotated[str, typer.Option(help="Who stands for the documents.")] = "",
    project: ProjectOption = None,
) -> None:
    """Make task documents from templates, with values from many seeds."""
    from crab.cli.datasets import generate_command

    generate_command(template, seeds, out, author, project)


@tasks_app.command("export")
def tasks_export(
    tasks: Annotated[list[str] | None, typer.Argument(help="Task ids or files; all of the project.")] = None,
    to: Annotated[str, typer.Option(help="dir, jsonl, or v0 (the form of CRAB v0).")] = "dir",
    out: Annotated[Path | None, typer.Option(help="Folder; a file for jsonl.")] = None,
    project: ProjectOption = None,
) -> None:
    """Write tasks as single files, as JSON lines, or in the form of CRAB v0."""
    from crab.cli.datasets import export_command

    export_command(tasks or [], to, out, project)


@tasks_app.command("import")
def tasks_import(
    files: Annotated[list[Path], typer.Argument(help="Task files, or folders of them.")],
    out: Annotated[Path, typer.Option(help="Folder the documents are written to.")],
    form: Annotated[str, typer.Option("--from", help="v0: task files of CRAB v0.")] = "v0",
    report: Annotated[Path | None, typer.Option(help="Also write the report to this file, as JSON.")] = None,
    project: ProjectOption = None,
) -> None:
    """Make task documents of foreign task files, and report every fault in them."""
    from crab.cli.importing import import_command

    raise typer.Exit(import_command(form, files, out, report, project))


@app.command("compose")
def compose_task(
    subtasks: Annotated[str | None, typer.Option(help="Subtasks with commas, each ID=SUBTASK or SUBTASK.")] = None,
    link: Annotated[list[str] | None, typer.Option(help="B.PARAMETER=A: B takes what A leaves.")] = None,
    after: Annotated[list[str] | None, typer.Option(help="B=A: B comes after A.")] = None,
    value: Annotated[list[str] | None, typer.Option(help="A.PARAMETER=VALUE; drawn from the seed otherwise.")] = None,
    role: Annotated[list[str] | None, typer.Option(help="A.ROLE=NAME: which device of the task A is about.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the values that are drawn.")] = 0,
    id: Annotated[str, typer.Option(help="Of the task; made of its subtasks otherwise.")] = "",
    description: Annotated[str, typer.Option(help="Own words; joined from the templates otherwise.")] = "",
    describer: Annotated[
        str | None, typer.Option(help="Import string of what drafts the description.", metavar="MODULE:OBJECT")
    ] = None,
    author: Annotated[str, typer.Option(help="Who stands for the document.")] = "",
    family: Annotated[str, typer.Option(help="Cluster for statistics; the last subtask otherwise.")] = "",
    out: Annotated[Path | None, typer.Option(help="Folder or .json file; printed otherwise.")] = None,
    project: ProjectOption = None,
) -> None:
    """Compose a task document from subtasks; without flags on a terminal, by questions."""
    from crab.cli.compose import ComposeRequest, compose_command

    request = ComposeRequest(
        subtasks=subtasks,
        links=link or [],
        after=after or [],
        values=value or [],
        roles=role or [],
        seed=seed,
        id=id,
        description=description,
        describer=describer,
        author=author,
        family=family,
        out=out,
        project=project,
    )
    compose_command(request)


@app.command()
def validate(
    paths: Annotated[list[Path] | None, typer.Argument(help="Task documents or folders; all of the project.")] = None,
    prove: Annotated[bool, typer.Option("--prove", help="Also prove each task on real devices.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="How many tasks are proven at the same time.")] = 1,
    state: Annotated[
        Path | None, typer.Option(help="File of earlier proofs; .crab/validated.json of the project by default.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Prove again what has not changed.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the proofs.")] = 0,
    project: ProjectOption = None,
) -> None:
    """Check task documents: form, composition, description; with --prove also solvable and not cheatable."""
    from crab.cli.validate import ValidateRequest, validate_command

    raise typer.Exit(validate_command(ValidateRequest(paths or [], prove, jobs, state, fresh, seed, project)))


@app.command()
def new(
    kind: Annotated[str, typer.Argument(help="environment, subtask, task or agent.")],
    name: Annotated[str, typer.Argument(help="Of the project; lower-case letters, digits and hyphens.")],
    folder: Annotated[Path | None, typer.Option("--dir", help="Where it goes; ./NAME by default.")] = None,
) -> None:
    """Start a project of your own: an example, and the tests of its contract."""
    from crab.cli.new import new_command

    new_command(kind, name, folder)


@app.command()
def report(directory: Annotated[Path, typer.Argument(help="A run directory.")]) -> None:
    """Print the table of a run and write its HTML report."""
    from crab.cli.report import report_command

    report_command(directory)


@app.command()
def doctor(project: ProjectOption = None) -> None:
    """Look at everything the project's devices need on this machine, and say how to get what is missing."""
    from crab.cli.doctor import doctor_command

    raise typer.Exit(doctor_command(project))


@app.command()
def serve(
    kind: Annotated[str, typer.Argument(help="Kind of environment, for example ubuntu.")],
    provider: Annotated[str | None, typer.Option(help="Provider that starts the device; the default one.")] = None,
    option: Annotated[list[str] | None, typer.Option(help="KEY=VALUE: an option of the provider.")] = None,
    socket: Annotated[Path | None, typer.Option(help="Serve on this Unix socket instead of TCP.")] = None,
    host: Annotated[str, typer.Option(help="Address to bind.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="TCP port; 0 takes a free one.")] = 8642,
    token_file: Annotated[Path | None, typer.Option(help="File with the token; a new token is printed once.")] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Allow an address other machines can reach, without TLS.")
    ] = False,
    project: ProjectOption = None,
) -> None:
    """Serve an environment to CRAB on another machine or in another process."""
    from crab.cli.serve import ServeRequest, serve_command

    serve_command(ServeRequest(kind, provider, option or [], socket, host, port, token_file, insecure, project))


@app.command()
def play(
    task: Annotated[str, typer.Argument(help="Id or file of the task.")],
    open: Annotated[bool, typer.Option("--open", help="Show the checkpoints as they pass; recorded.")] = False,
    out: Annotated[Path, typer.Option(help="Run directory; playing again adds an attempt.")] = Path("runs/play"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="TCP port on this machine; 0 takes a free one.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Of the devices.")] = 0,
    max_actions: Annotated[int, typer.Option(min=1, help="Executed actions after which the trial ends.")] = 1000,
    max_seconds: Annotated[float, typer.Option(min=1, help="Seconds after which the trial ends.")] = 3600.0,
    provider: Annotated[
        list[str] | None, typer.Option(help="ROLE=NAME or KIND=NAME: which provider starts the device.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="ROLE.KEY=VALUE or KIND.KEY=VALUE: an option of the provider.")
    ] = None,
    project: ProjectOption = None,
) -> None:
    """Do a task yourself, on a page in your browser, recorded as a trial of the agent human."""
    from crab.cli.play import PlayRequest, play_command

    request = PlayRequest(task, open, out, port, seed, max_actions, max_seconds, provider or [], option or [], project)
    raise typer.Exit(play_command(request))


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line.

    Args:
        arguments: Without the program's name; those of the process when None.

    Returns:
        The exit status. Errors of CRAB become one line on standard error.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a sign must not end a run that goes well.
            stream.reconfigure(errors="replace")
    command = typer.main.get_command(app)
    try:
        status = command.main(args=arguments, prog_name="crab", standalone_mode=False)
    except CrabError as error:
        _say(str(error))
        return EXIT_INFRASTRUCTURE if isinstance(error, InfrastructureError) else EXIT_USAGE
    except (KeyboardInterrupt, typer.Abort):
        status = EXIT_INTERRUPTED
    except OSError as error:
        return _system_line(error)
    except Exception as error:  # noqa: BLE001  the parser's own errors share no public base; others are raised again
        return _usage_line(error)
    if status == EXIT_INTERRUPTED:
        # The parser makes this status of Ctrl-C without a word.
        _say("interrupted; a run continues where it stopped with the same command")
    return int(status or 0)


def _system_line(error: OSError) -> int:
    """Shows what the system refused: a path that cannot be written, a full disk, a reader that went away."""
    if isinstance(error, BrokenPipeError):
        # Whoever read our output has enough; the interpreter must not try to write the rest at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_USAGE
    where = f"{error.filename}: " if error.filename else ""
    _say(f"{where}{error.strerror or error}; look at the path, its permissions and the free space")
    return EXIT_USAGE


def _usage_line(error: Exception) -> int:
    """Shows what the option parser refused; anything else is a defect of ours and goes on as a traceback."""
    show = getattr(error, "format_message", None)
    if show is None:
        raise error
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "crab"
    _say(f"{show().rstrip('.')}; see `{command} --help`")
    return int(getattr(error, "exit_code", EXIT_USAGE))


def _say(text: str) -> None:
    sys.stderr.write(f"crab: {' '.join(text.split())}\n")


if __name__ == "__main__":
    sys.exit(main())
