"""The Ubuntu environment: a real Linux desktop on a private X display."""

from crab.environment import EnvironmentKind
from environments.ubuntu import actions, preparations, probes
from environments.ubuntu.providers.embedded import EmbeddedProvider

UBUNTU = EnvironmentKind(
    "ubuntu",
    "A Linux desktop with a terminal, a text editor, a file manager, an image viewer and a calculator. It is operated "
    "with mouse and keyboard; coordinates are pixels of the screenshot, from its upper left corner. The panel at the "
    "edge of the screen and the application search start programs. Files of the user lie in /home/user.",
    actions=[
        actions.move,
        actions.move_by,
        actions.click,
        actions.double_click,
        actions.right_click,
        actions.drag,
        actions.scroll,
        actions.mouse_press,
        actions.mouse_release,
        actions.write_text,
        actions.key_press,
        actions.press_hotkey,
        actions.key_hold,
        actions.key_release,
        actions.open_application,
    ],
    probes=[
        probes.file_stat,
        probes.file_read,
        probes.file_list,
        probes.file_hash,
        probes.processes,
        probes.focused_window,
        probes.windows,
        probes.clipboard,
        probes.setting,
        probes.screenshot,
        probes.accessibility,
    ],
    preparations=[
        preparations.write_file,
        preparations.make_directory,
        preparations.set_clipboard,
        preparations.open_application,
    ],
    providers=[EmbeddedProvider()],
)
"""The kind of environment, as ``[tool.crab.environments]`` names it."""
