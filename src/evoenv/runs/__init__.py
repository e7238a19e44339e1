"""A run read back: one definition of every figure, for the report, the summary, the live view, comparison and exchange.

    with RunView.open(directory) as view:
        view.progress(), view.total_funnel(), view.series("solver/score")
        view.candidates(CandidateQuery(fate="too-hard"), limit=50)

`view` is the way in. `funnel` says what becomes of candidates and counts it, `candidates` pages through them and tells
all that happened to one, `environments` follows the pool: lineage, use, who entered and left. Nothing here writes.
"""
