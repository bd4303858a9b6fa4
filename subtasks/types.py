"""The declared words for what parameters and outputs mean; an output feeds a parameter of the same type."""

from __future__ import annotations

from crab.task import ValueType

TEXT = ValueType("text", "One line of text, without a line break and without white space at its ends.")
FILE_PATH = ValueType("file_path", "Absolute path of a file on a desktop.")
FILE_NAME = ValueType("file_name", "Name of a file with its extension, without a folder.")
FOLDER_PATH = ValueType("folder_path", "Absolute path of a folder on a desktop, without a slash at its end.")
PICTURE_PATH = ValueType("picture_path", "Absolute path of a picture on a desktop.")
FILE_EXTENSION = ValueType("file_extension", "What stands after the last dot of a file name, without the dot.")
