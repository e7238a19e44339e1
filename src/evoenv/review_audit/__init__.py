"""The review audit: labelled environments, the reviewer and the mechanical checks on them, and how far they agree.

    found = read_set("shipped")                     # or a folder with labels, or "corpus"
    with Journal(path, identity) as kept, Sandbox() as sandbox:
        check_mechanically(found, sandbox, kept)
        review_all(found, sandbox, policy, config, kept)
    audit = summarise(found, kept, reviews=3)

The shipped set is in `data/review_audit` of the repository, and installed as `share/evoenv/review_audit`: sources to
be read and to be run in the sandbox, not modules to import.
"""
