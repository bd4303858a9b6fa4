"""Work in the file manager: sorting files into a new folder."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterable, Mapping

from crab.graph import CheckpointGraph, chain, checkpoint
from crab.observation import AccessibilityNode, Observations
from crab.task import NearMiss, Needs, Output, Parameter, SetupCall, Solution, Solve, Subtask, Values
from subtasks.types import FILE_EXTENSION, FOLDER_PATH
from subtasks.ubuntu import pools
from subtasks.ubuntu.checks import application_in_front, folder_exists, folder_holds_exactly, folder_still_holds
from subtasks.ubuntu.gestures import (
    DESKTOP,
    Gesture,
    await_found,
    do,
    element,
    field_holding,
    focused_field,
    in_front,
    middle,
    open_application,
    tree,
    window_in_front,
)
from subtasks.ubuntu.mutations import look_alike

_STEMS = ("agenda", "Küche", "route 7", "minutes", "Ruth's plan", "harvest", "numbers", "żagle")
_WANTED = 3


def wanted_files(source: str, extension: str) -> dict[str, str]:
    """Returns name and text of the files to copy; they follow from the parameters."""
    generator = random.Random(f"wanted:{source}:{extension}")
    names = [f"{stem}.{extension}" for stem in generator.sample(_STEMS, _WANTED)]
    return {name: f"{line}\n" for name, line in zip(names, pools.lines(generator, _WANTED), strict=True)}


def _decoys(source: str, extension: str) -> dict[str, str]:
    """Returns path below the folder and text of the files that stay out."""
    first = next(iter(wanted_files(source, extension))).removesuffix(f".{extension}")
    names = (
        f"{first} 2.{extension.upper()}",
        f"{first}.{extension}.bak",
        f"{first}.{extension}2",
        f"{first} {extension}",
        f".{first}.{extension}",
        f"folder.{extension}/inner.{extension}",
    )
    return {name: f"decoy {number}\n" for number, name in enumerate(names)}


def _setup(values: Values) -> tuple[SetupCall, ...]:
    source, extension = values["source"], values["extension"]
    files = {**_decoys(source, extension), **wanted_files(source, extension)}
    return tuple(
        SetupCall(DESKTOP, "write_file", {"path": f"{source}/{name}", "content": text}) for name, text in files.items()
    )


def _digests(files: Mapping[str, str]) -> dict[str, str]:
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}


def _graph(values: Values) -> CheckpointGraph:
    files = _digests(wanted_files(values["source"], values["extension"]))
    copied = folder_holds_exactly.bind(path=values["target"], files=files).on(DESKTOP)
    kept = folder_still_holds.bind(path=values["source"], files=files).on(DESKTOP)
    return chain(
        checkpoint("files_in_front", application_in_front.bind(role="file_manager").on(DESKTOP), transient=True),
        checkpoint("folder_created", folder_exists.bind(path=values["target"]).on(DESKTOP)),
        checkpoint("files_copied", copied & kept),
    )


def _icons(root: AccessibilityNode) -> dict[str, AccessibilityNode]:
    """Returns the icons of the folder in front by their label."""
    window = window_in_front(root)
    nodes = window.find_all(role="icon") if window is not None else ()
    return {node.text: node for node in nodes if node.text and node.bounds is not None}


def _shows_folder(path: str, names: Iterable[str] = ()) -> Callable[[AccessibilityNode], bool]:
    """Returns a search that is true once a folder is in front with these names in it, and keys go to its files."""
    title = path.rpartition("/")[2]

    def search(root: AccessibilityNode) -> bool:
        return (
            in_front(title)(root) is not None
            and element("text", text=path)(root) is not None
            and focused_field(root) is None
            and set(names) <= _icons(root).keys()
        )

    return search


def _go_to(seen: Observations, path: str, names: Iterable[str] = ()) -> Gesture:
    yield do("press_hotkey", keys=["ctrl", "l"])
    seen = yield do("write_text", text=f"{path}\n")
    seen, _ = yield from await_found(seen, _shows_folder(path, names), f"the folder {path}")
    return seen


def _select(seen: Observations, names: Iterable[str]) -> Gesture:
    """Clicks on several icons with the control key held."""
    icons = _icons(tree(seen))
    yield do("key_hold", key="ctrl")
    for name in names:
        x, y = middle(icons[name])
        yield do("click", x=x, y=y)
    seen = yield do("key_release", key="ctrl")
    return seen


def _create_folder(seen: Observations, name: str) -> Gesture:
    seen = yield do("press_hotkey", keys=["ctrl", "shift", "n"])
    seen, _ = yield from await_found(seen, in_front("Creating New Folder"), "the dialog for a new folder")
    # The name it proposes is selected, so typing replaces it.
    seen = yield do("write_text", text=name)
    seen, _ = yield from await_found(seen, field_holding(name), "the name of the new folder")
    seen = yield do("key_press", key="enter")
    return seen


def copy_files(source: str, names: Iterable[str], target: str, *, key: str = "c", paste: bool = True) -> Solution:
    """Selects and copies files (or with ``x`` cuts them), creates a folder, and pastes them there."""
    names = tuple(names)
    above, _, name = target.rpartition("/")
    seen = yield from open_application("file_manager", _shows_folder(pools.HOME))
    seen = yield from _go_to(seen, source, names)
    seen = yield from _select(seen, names)
    yield do("press_hotkey", keys=["ctrl", key])
    seen = yield from _go_to(seen, above)
    seen = yield from _create_folder(seen, name)
    seen, _ = yield from await_found(seen, _shows_folder(above, [name]), "the new folder")
    seen = yield from _go_to(seen, target)
    if paste:
        seen = yield do("press_hotkey", keys=["ctrl", "v"])
        yield from await_found(seen, _shows_folder(target, names), "the copies")


def _copy(
    choose: Callable[[list[str]], list[str]] = list,
    *,
    name: Callable[[str], str] = str,
    key: str = "c",
    paste: bool = True,
) -> Solve:
    def solve(values: Values) -> Solution:
        above, _, folder = values["target"].rpartition("/")
        names = choose(sorted(wanted_files(values["source"], values["extension"])))
        return copy_files(values["source"], names, f"{above}/{name(folder)}", key=key, paste=paste)

    return solve


def _copy_with_decoy(number: int) -> Solve:
    def solve(values: Values) -> Solution:
        source, extension = values["source"], values["extension"]
        decoy = list(_decoys(source, extension))[number].partition("/")[0]
        return copy_files(source, [*sorted(wanted_files(source, extension)), decoy], values["target"])

    return solve


COPY_BY_EXTENSION = Subtask(
    id="copy_by_extension",
    version=1,
    description="Create the new folder “{target}” and copy into it every file of the folder “{source}” whose name ends "
    'in ".{extension}", in exactly these letters. Leave out folders, hidden files, and all other files; the originals '
    "stay where they are.",
    environments={DESKTOP: "ubuntu"},
    parameters=(
        Parameter("extension", FILE_EXTENSION, pools.EXTENSIONS, "Lower-case letters."),
        Parameter("source", FOLDER_PATH, pools.source_folder, "A folder that set-up fills."),
        Parameter("target", FOLDER_PATH, pools.target_folder, "A folder that is not there; the one above it is."),
    ),
    checkpoints=_graph,
    solve=_copy(),
    near_misses=(
        NearMiss("one_file_missing", "files_copied", _copy(lambda names: names[:-1])),
        NearMiss("capital_extension_too", "files_copied", _copy_with_decoy(0)),
        NearMiss("folder_too", "files_copied", _copy_with_decoy(5)),
        NearMiss("moved", "files_copied", _copy(key="x")),
        NearMiss("not_pasted", "files_copied", _copy(paste=False)),
        NearMiss("folder_in_look_alike_letters", "folder_created", _copy(name=look_alike)),
    ),
    setup=_setup,
    needs={DESKTOP: Needs(probes=("focused_window", "file_stat", "file_list", "file_hash"), roles=("file_manager",))},
    output=Output(FOLDER_PATH, "the folder {target}", lambda values: values["target"]),
    tags=("file_manager", "files"),
    clause="create the new folder {target} and copy into it every file of {source} whose name ends in a dot and "
    "{extension}, in exactly these letters, while folders, hidden files and all other files stay out and the originals "
    "stay where they are",
)
"""Copy the files with one extension into a new folder.

The file manager comes to the front (way-check), the folder is there, and it holds exactly the wanted files with the
content of their originals, which are still where they were. Beside the three wanted files the folder has one with the
extension in capitals, backups, a name without dot, a hidden file, and a folder with the extension in its name.
"""

SUBTASKS = (COPY_BY_EXTENSION,)
