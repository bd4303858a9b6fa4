"""Driving one X display: pointer, keyboard, text, pixels, windows and clipboard."""
