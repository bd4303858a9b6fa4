"""The light and the dark look: one set of colours each, used by every part of the desktop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Theme = Literal["light", "dark"]

COLOURS: Mapping[Theme, Mapping[str, str]] = {
    "light": {
        "gtk_theme": "Arc-Lighter",
        "icon_theme": "Papirus",
        "prefer_dark": "0",
        "color_scheme": "prefer-light",
        "accent": "#5294e2",
        "frame": "#c3c8d2",
        "title_background": "#e7e8eb",
        "title_text": "#4b5162",
        "title_text_inactive": "#9aa1b0",
        "hover": "#d3d6de",
        "surface": "#ffffff",
        "field": "#f5f6f7",
        "text": "#3b4252",
        "desktop": "#7fb2d9",
        "panel": "#e7e8eb",
        "panel_text": "#3b4252",
        "panel_hover": "#d3d6de",
        "panel_active": "#ffffff",
        "terminal_background": "#fbfbfc",
        "terminal_text": "#2e3440",
        "terminal_black": "#2e3440",
        "terminal_green": "#2f8f46",
        "terminal_blue": "#2f6fbf",
    },
    "dark": {
        "gtk_theme": "Arc-Dark",
        "icon_theme": "Papirus-Dark",
        "prefer_dark": "1",
        "color_scheme": "prefer-dark",
        "accent": "#5294e2",
        "frame": "#1f232c",
        "title_background": "#2f343f",
        "title_text": "#d3dae3",
        "title_text_inactive": "#7c8494",
        "hover": "#454c5c",
        "surface": "#383c4a",
        "field": "#404552",
        "text": "#d3dae3",
        "desktop": "#1c2541",
        "panel": "#2f343f",
        "panel_text": "#d3dae3",
        "panel_hover": "#454c5c",
        "panel_active": "#404552",
        "terminal_background": "#23272f",
        "terminal_text": "#d8dee9",
        "terminal_black": "#3b4252",
        "terminal_green": "#7fc48c",
        "terminal_blue": "#6aa6ee",
    },
}
