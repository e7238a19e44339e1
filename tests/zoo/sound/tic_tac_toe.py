# expect: sound
import random
from functools import lru_cache

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


def winner(board):
    for i, j, k in LINES:
        if board[i] != "." and board[i] == board[j] == board[k]:
            return board[i]
    return None


@lru_cache(maxsize=None)
def outcome(board, player):
    """Result of best play with `player` to move: X, O or draw."""
    won = winner(board)
    if won:
        return won
    if "." not in board:
        return "draw"
    other = "O" if player == "X" else "X"
    results = {outcome(board[:i] + player + board[i + 1 :], other) for i in range(9) if board[i] == "."}
    return player if player in results else "draw" if "draw" in results else other


class TicTacToe(VerifiableEnvironment):
    """A game with three outcomes; the level says how many marks are missing."""

    prompt_template = (
        "Tic-tac-toe, {player} to move:\n{board}\nWho wins if both sides play perfectly? Answer X, O or draw."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        marks = max(2, 6 - difficulty // 2)
        want = rng.choice(("X", "O", "draw"))
        for _ in range(60):
            board, player = ".........", "X"
            while board.count(".") > 9 - marks:
                i = rng.choice([i for i in range(9) if board[i] == "."])
                board = board[:i] + player + board[i + 1 :]
                player = "O" if player == "X" else "X"
            if winner(board) is None and outcome(board, player) == want:
                break
        else:
            board, player = "X...O....", "X"
        return {"board": board, "player": player}, outcome(board, player)

    def _prompt_generate(self, z):
        rows = "\n".join(z["board"][i : i + 3] for i in (0, 3, 6))
        return self.prompt_template.format(player=z["player"], board=rows)

    def _process(self, y):
        word = y.strip().lower()
        return {"x": "X", "o": "O", "draw": "draw"}.get(word)

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
