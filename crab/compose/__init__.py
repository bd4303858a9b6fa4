"""From task documents to tasks: reading, checking and composing. Pure: no device is touched."""
