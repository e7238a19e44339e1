import bisect
import random
import re


class RisingPrices(VerifiableEnvironment):
    prompt_template = (
        "The price of a share on {n} days in a row was: {prices}.\n"
        "Pick some of the days (not necessarily neighbours) so that from each picked day to the next the price gets "
        "strictly higher. How many days can you pick at most?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 7 + 3 * difficulty
        prices = [rng.randint(1, 6 + 2 * difficulty) for _ in range(n)]
        tails = []
        for price in prices:
            place = bisect.bisect_left(tails, price)
            if place == len(tails):
                tails.append(price)
            else:
                tails[place] = price
        return {"prices": prices}, len(tails)

    def _prompt_generate(self, z):
        return self.prompt_template.format(n=len(z["prices"]), prices=", ".join(map(str, z["prices"])))

    def _process(self, y):
        match = re.fullmatch(r"\s*(-?\d{1,30})\s*", y)
        if match is None:
            return None
        return int(match.group(1))

    def scorer(self, y, z, a):
        value = self._process(y)
        if value is None:
            return 0.0
        return float(value == a)
