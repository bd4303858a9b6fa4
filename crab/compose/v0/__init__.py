"""Task files of CRAB v0: read with a report of every fault, and written."""
