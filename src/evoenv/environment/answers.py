r"""Cut the final answer, or the code, out of a model's response.

The framework does this, not the environment, so that every environment meets the same rules:

1. Thinking is dropped: `<think>…</think>` or `<thinking>…</thinking>`. A closing tag that nothing opened
   drops all before it (chat templates often open the block in the prompt); an opening tag that nothing closes
   drops all after it (the response was cut short while thinking). Thinking blocks do not nest.
2. The last `<answer>…</answer>` is the answer. Of nested openers the innermost counts; an opener without a
   closer, or a closer without an opener, is no marker at all.
3. Without such a pair the last `\boxed{…}` (or `\fbox{…}`) with balanced braces is; of nested boxes the
   innermost. `\{` and `\}` are literal braces. A plain number may do without braces: `\boxed 5`.

Tags are matched whatever their case. A box that fills the whole `<answer>` is opened too, a single `\text{…}` or
the like around all that a box holds is taken off, and surrounding whitespace is stripped. If nothing remains there
is no final answer: an earlier marker does not stand in for an empty last one.

Responses are hostile and may be huge: each step is one pass over the text, with patterns that cannot backtrack.
"""

from __future__ import annotations

import re
from array import array

from evoenv.thinking import drop_thinking

_ANSWER_TAG = re.compile(r"<(/?)answer>", re.IGNORECASE | re.ASCII)
_BOX = r"\\(?:boxed|fbox)\s*"
_BOX_TOKEN = re.compile(_BOX + r"(?:(\{)|([-+]?[0-9]+(?:[.,/][0-9]+)*))|\\[{}]|[{}]")
_BOX_NAME = re.compile(_BOX)
_BOX_OPENER = re.compile(_BOX + r"\{")
_STYLE_OPENER = re.compile(r"\\(?:text|textbf|textit|texttt|textrm|mbox|mathrm|mathbf|mathtt|operatorname)\s*\{")
_BRACE = re.compile(r"\\[{}]|[{}]")


def extract_answer(response: str) -> str | None:
    """Return the text of the final answer, or None if the response has none."""
    text = drop_thinking(response)
    answer = _last_tagged(text)
    if answer is None:
        answer = _last_boxed(text)
        if answer is None:
            return None
    elif (inner := _unwrap(answer, _BOX_OPENER)) is not None:
        answer = inner
    else:
        return answer or None  # what stands plainly between the tags is never rewritten
    inner = _unwrap(answer, _STYLE_OPENER)
    return (answer if inner is None else inner) or None


def _last_tagged(text: str) -> str | None:
    span: tuple[int, int] | None = None
    opened: int | None = None
    for tag in _ANSWER_TAG.finditer(text):
        if not tag[1]:
            opened = tag.end()
        elif opened is not None:
            span, opened = (opened, tag.start()), None
    return None if span is None else text[span[0] : span[1]].strip()


def _last_boxed(text: str) -> str | None:
    """Return the content of the complete box that opens last."""
    span: tuple[int, int] | None = None
    # Boxes still open, as content start and brace depth outside. A complete box rules out all that opened before it,
    # so only never-closed boxes pile up, and arrays hold millions of those in little memory.
    starts, depths = array("q"), array("q")
    depth = 0
    first = _BOX_NAME.search(text)  # braces before any box mean nothing
    for token in _BOX_TOKEN.finditer(text, first.start()) if first else ():
        if token[2] is not None:
            span = token.span(2)
            del starts[:], depths[:]
        elif token[1] is not None:
            starts.append(token.end())
            depths.append(depth)
            depth += 1
        elif token[0] == "{":
            depth += 1
        elif token[0] == "}" and depth:
            depth -= 1
            if depths and depths[-1] == depth:
                span = starts[-1], token.start()
                del starts[:], depths[:]
    return None if span is None else text[span[0] : span[1]].strip()


def _unwrap(text: str, opener: re.Pattern[str]) -> str | None:
    """Return what `opener` and its closing brace enclose, if together they are the whole text."""
    start = opener.match(text)
    if start is None:
        return None
    depth = 1
    for brace in _BRACE.finditer(text, start.end()):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if depth == 0:
            return text[start.end() : brace.start()].strip() if brace.end() == len(text) else None
    return None


# --------------------------------------------------------------------------- code

_FENCE = re.compile(r"[ \t]*+(`{3,}+)[ \t]*+([^`\s]*+)[^`]*+$")
_PYTHON = {"", "python", "py", "python3"}


def extract_source(response: str) -> str | None:
    """Cut the longest fenced Python block out of a response (of equals the later one), or return None.

    An unclosed last fence runs to the end. Thinking is dropped first: drafts in it are not the answer.
    """
    text = drop_thinking(response)
    best: str | None = None
    block: list[str] | None = None
    fence, language = "", ""
    for line in [*text.split("\n"), None]:
        mark = _FENCE.match(line.rstrip("\r")) if line is not None and "```" in line else None
        if block is None:
            if mark is not None:
                block, fence, language = [], mark[1], mark[2].lower()
            continue
        closes = mark is not None and not mark[2] and len(mark[1]) >= len(fence)
        if line is not None and not closes:
            block.append(line)
            continue
        source = "\n".join(block)
        if language in _PYTHON and source.strip() and (best is None or len(source) >= len(best)):
            best = source
        block = None
    return best
