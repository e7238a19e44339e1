import random
import re


class SecretMessage(VerifiableEnvironment):
    """Caesar cipher with a running shift."""

    prompt_template = (
        "To encrypt a message, replace its first letter by the letter {shift} places later in the alphabet, the second by "
        "the letter {second} places later, and so on: the shift grows by {step} from letter to letter. After Z comes A. "
        "Encrypt {message}."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        message = "".join(rng.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZ") for _ in range(4 + 2 * difficulty))
        shift, step = rng.randint(1, 9), rng.randint(1, 3 + difficulty)
        letters = [chr((ord(letter) - 65 + shift + i * step) % 26 + 65) for i, letter in enumerate(message)]
        return {"message": message, "shift": shift, "step": step}, "".join(letters)

    def _prompt_generate(self, z):
        return self.prompt_template.format(
            shift=z["shift"], second=z["shift"] + z["step"], step=z["step"], message=z["message"]
        )

    def _process(self, y):
        text = y.strip()
        return text if re.fullmatch(r"[A-Za-z]{1,200}", text) else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
