"""Running trials, in three layers that never call upwards.

``episode`` runs one built trial. ``build`` makes it from names, and touches no device. ``trial`` is the child process
of one trial; ``suite`` is the driver of many.
"""
