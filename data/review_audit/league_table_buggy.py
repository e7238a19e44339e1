import random


class LeagueTable(VerifiableEnvironment):
    """Rank of a team in a league."""

    prompt_template = (
        "Points of the teams in a league: {points}. Teams with equally many points share a rank, and the ranks after them "
        "are left out accordingly (1, 2, 2, 4). Which rank does {team} have?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        names = ["Ants", "Bees", "Cats", "Dogs", "Elks", "Fish", "Gulls", "Hawks", "Ibex", "Jays", "Kites", "Lynx", "Moles", "Newts"]
        teams = rng.sample(names, min(6 + difficulty, len(names)))
        points = [rng.randint(1, 6 + difficulty) for _ in teams]
        team = rng.choice(teams)
        own = points[teams.index(team)]
        rank = 1 + len({other for other in points if other > own})
        return {"teams": teams, "points": points, "team": team}, rank

    def _prompt_generate(self, z):
        points = ", ".join(f"{team} {p}" for team, p in zip(z["teams"], z["points"]))
        return self.prompt_template.format(points=points, team=z["team"])

    def _process(self, y):
        """The answer as an integer, or None when it is not one."""
        text = y.strip().replace(",", "")
        try:
            return int(text)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        parsed = self._process(y)
        return 1.0 if parsed is not None and parsed == a else 0.0
