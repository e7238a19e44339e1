# expect: L1.no-code
# The file holds remarks but not a line of Python.

# TODO: an environment about scheduling trains on a single track.
# Idea: difficulty sets the number of trains; the answer is the last arrival.
