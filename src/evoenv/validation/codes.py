"""Every finding that validation can make: the stable code, what it means, how to mend it.

`docs/findings.md` is this table as a page; a test keeps the two equal.
"""

from __future__ import annotations

from evoenv.records import Finding, Replay

CODES: dict[str, tuple[str, str]] = {
    # ------------------------------------------------------------------ L1: the source
    "L1.no-code": (
        "There is no Python to look at.",
        "Put one environment class in the file, or in one ```python block of the response.",
    ),
    "L1.not-text": ("The file is not UTF-8 text.", "Save it as UTF-8 Python source."),
    "L1.too-large": (
        "The source is larger than any environment needs to be.",
        "Generate data from the seed instead of storing it.",
    ),
    "L1.syntax": ("The source does not parse as Python.", "Fix the line that is named."),
    "L1.no-class": (
        "No class has the methods of an environment.",
        "Write one class with _generate, _prompt_generate, _process and scorer.",
    ),
    "L1.several-classes": ("The file has more than one environment class.", "Keep one environment per file."),
    "L1.missing-method": ("The environment class lacks a required method.", "Add the method that is named."),
    "L1.signature": (
        "The methods' arguments fit none of the three dialects.",
        "Use _generate(self, seed, difficulty), _prompt_generate(self, z), _process(self, y), scorer(self, y, z, a).",
    ),
    "L1.import": (
        "An import is not on the allow-list.",
        (
            "Use only random, math, collections, itertools, heapq, bisect, functools, re and typing; allowed, too, are "
            "abc, array, copy, dataclasses, decimal, enum, fractions, operator, queue, statistics and string."
        ),
    ),
    "L1.forbidden-name": (
        "The source uses a name that no environment needs.",
        "Parse answers with int(), split() or re; never evaluate text, open files or reach for the interpreter.",
    ),
    "L1.dunder": ("The source reaches for a double-underscore attribute.", "Use the public operation instead."),
    "L1.private-access": ("The source reaches for a private part of a module.", "Use the module's public names."),
    # ------------------------------------------------------------------ L2: it runs
    "L2.load": ("The file cannot be loaded.", "Make the module importable: no work and no errors at module level."),
    "L2.needs-parameters": (
        "An RLVE-Gym environment needs knobs for each difficulty level.",
        "Pass --controller FILE (a ParameterController) or --parameters '[{...}, ...]'.",
    ),
    "L2.raises": ("A method raised an error.", "Make it work for every seed and every difficulty level from 0 up."),
    "L2.rare-crash": (
        "Some seeds crash.",
        "Look at what is special about the seed that is named: an empty list, a zero, a disconnected graph.",
    ),
    "L2.too-slow": (
        "A call took longer than the limit.",
        "Use a faster oracle or grow more slowly with difficulty: high levels must stay cheap to generate.",
    ),
    "L2.memory": ("A call used more memory than the limit.", "Generate smaller instances."),
    "L2.killed": ("The process was ended by the sandbox.", "Compute only: no files, network, processes or exits."),
    "L2.bad-result": (
        "A method returned something of the wrong shape.",
        "Return (z, a) from _generate, text from _prompt_generate, a float from scorer.",
    ),
    "L2.empty-prompt": ("A prompt is empty.", "Render the whole task in _prompt_generate."),
    "L2.no-answer": ("A reference answer is None.", "Compute the answer in _generate and return it as a."),
    "L2.score-range": ("A score is outside [0, 1].", "Return a finite float from 0.0 (wrong) to 1.0 (fully right)."),
    "L2.not-serialisable": (
        "An instance or answer cannot be stored and read back.",
        "Keep z and a to numbers, text, lists, tuples, dicts and sets.",
    ),
    "L2.roundtrip": (
        "An instance renders or scores differently after being stored and read back.",
        "Do not rely on object identity or on types that JSON-like storage loses.",
    ),
    # ------------------------------------------------------------------ L3: it is deterministic
    "L3.instance-unstable": (
        "The same seed gave another instance.",
        "Draw all randomness from random.Random(seed); never from the global random, the clock, hash() or id().",
    ),
    "L3.answer-unstable": (
        "The same seed gave another reference answer.",
        "Make the oracle deterministic: sort sets before you iterate over them.",
    ),
    "L3.prompt-unstable": (
        "The same seed gave another prompt.",
        "Render from z alone: no random choice and no iteration over sets in _prompt_generate.",
    ),
    "L3.hash-order": (
        "The result depends on the order of a set or on hash values.",
        "Sort sets (and anything keyed by hash or id) before iterating.",
    ),
    "L3.hidden-state": (
        "The result depends on what was generated before.",
        "Keep nothing on self, the class or the module between calls: everything must follow from the arguments.",
    ),
    # ------------------------------------------------------------------ L4: it is a task
    "L4.constant-prompt": (
        "All seeds give the same prompt.",
        "Use the seed: random.Random(seed) must shape the instance.",
    ),
    "L4.few-prompts": ("Only a handful of different prompts exist.", "Draw instances from a larger space."),
    "L4.constant-answer": ("All instances have the same answer.", "Make the answer depend on the instance."),
    "L4.answer-nearly-constant": (
        "One answer is right almost always.",
        "Balance the instances so that guessing the usual answer does not pay.",
    ),
    "L4.small-space": (
        "There are so few different instances that their answers can be learnt by heart.",
        "Draw instances from a larger space: more values, sizes or combinations at some level.",
    ),
    "L4.difficulty-ignored": (
        "Difficulty changes neither the size nor the content of instances.",
        "Let the level set the size, the range of values or the depth of the task.",
    ),
    "L4.count-contradicted": (
        "The prompt says another number of things than it shows.",
        "Write the number from the instance into the prompt, as in {n}: it changes with the level.",
    ),
    "L4.ambiguous-prompt": (
        "Two equal prompts have different answers.",
        "Show everything that the answer depends on in the prompt.",
    ),
    "L4.hidden-latent": (
        "The answer depends on a value that the prompt never shows.",
        "Render every value that the oracle uses, or stop using it.",
    ),
    # ------------------------------------------------------------------ L5: the scorer can be trusted
    "L5.no-reference": (
        "No written answer is known to score 1.",
        "Store a full reference answer (self.parameter['reference_answer']), not only its value.",
    ),
    "L5.reference-rejected": (
        "The reference answer does not score 1.",
        "Make _process read the form that the prompt asks for, and scorer accept the reference.",
    ),
    "L5.perturbed-accepted": (
        "A changed reference still scores 1 (words behind the answer that the scorer forgives are no change).",
        "Compare the whole answer exactly; drop tolerances, prefixes and substring tests.",
    ),
    "L5.tolerance": (
        "The tolerance is as wide as the answers of different instances lie apart.",
        "Compare at the precision that the prompt asks for.",
    ),
    "L5.several-options": (
        "Several of the few possible answers score 1.",
        "Accept only the right option, or say in the prompt that several are right.",
    ),
    "L5.not-unique": (
        "The prompt promises one solution, but another one scores 1 as well.",
        "Generate only instances with one solution, or do not promise it.",
    ),
    "L5.reference-beaten": (
        "An answer is better than the reference.",
        "Make the oracle exact: check it against all answers of small instances.",
    ),
    "L5.not-a-number": (
        "An answer with nan or inf in place of numbers earns something.",
        "Refuse what math.isfinite refuses before you compare.",
    ),
    "L5.question-as-answer": (
        "The question, given back without working it out, counts as its answer.",
        "Accept only evaluated answers, and expressions that use the given numbers.",
    ),
    "L5.permissive": (
        "Most wrong answers score 1.",
        "Verify every condition that the prompt states, including that the answer is complete.",
    ),
    "L5.consolation": (
        "Every wrong answer earns the same credit.",
        "Grade by how right an answer is, or return 0.0 for wrong ones.",
    ),
    "L5.malformed-rewarded": (
        "A malformed answer earns something.",
        "Return None from _process and 0.0 from scorer for anything that is not an answer.",
    ),
    "L5.empty-rewarded": ("An empty answer earns something.", "Treat an empty answer as malformed; beware of all([])."),
    "L5.flood-rewarded": (
        "An answer that lists many possibilities earns what only the right one should.",
        "Accept exactly one answer: reject extra elements, repeated answers and lists of options.",
    ),
    "L5.scorer-raises": (
        "The scorer raised an error on an answer.",
        "Catch ValueError and IndexError in _process and return None; check lengths before indexing.",
    ),
    "L5.scorer-slow": (
        "The scorer took too long on an answer.",
        "Bound the answer's length and values before using them; avoid nested quantifiers in regular expressions.",
    ),
    "L5.scorer-died": (
        "The scorer was ended by the sandbox.",
        "Bound the answer's values before allocating or looping.",
    ),
    "L5.score-range": ("A score is outside [0, 1].", "Clip to [0, 1]; never return NaN."),
    "L5.parser-memory": (
        "The score of an answer depends on what was parsed or scored before.",
        "Keep nothing on self, the class or the module in _process and scorer.",
    ),
    "L5.parser-leaks": (
        "_process turns garbage into the reference answer.",
        "Parse the text alone; never fall back to a stored answer.",
    ),
    "L5.answer-in-prompt": ("The prompt shows the answer.", "Remove the answer from what _prompt_generate renders."),
    "L5.shortcut": (
        "A trivial rule solves the task.",
        "Ask for something that needs the computation: not the first, last or largest number, a count or a sum.",
    ),
}


def finding(code: str, message: str, replay: Replay | None = None) -> Finding:
    """Make a finding with its code's hint; the message says what was seen and what was expected."""
    return Finding(code, message, CODES[code][1], replay)
