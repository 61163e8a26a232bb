"""Tasks from elsewhere: archives, a user's own problems, tasks made by a user's own code.

`protocol.py` is what a source is, `opening.py` finds one by its name in `tasks.sources`, `book.py` is what
all of them give together, `keeping.py` writes that into a run folder and reads it back in every process.
"""
