"""How large a program is: lexical tokens.

Decision: a token is what ``tokenize`` yields without comments, layout and end markers, and an f-string
counts as one on every Python version (3.12 began to split them). This count is the benchmark's own,
so that a fault in the product's count shows as a difference.
"""

from __future__ import annotations

import io
import tokenize

_NOT_COUNTED = {"COMMENT", "NL", "NEWLINE", "INDENT", "DEDENT", "ENCODING", "ENDMARKER"}
_OPENS = {"FSTRING_START", "TSTRING_START"}
_CLOSES = {"FSTRING_END", "TSTRING_END"}


def count(source: str) -> int:
    """The number of tokens. Raises ``SyntaxError`` or ``tokenize.TokenError`` for what is no Python."""
    total = depth = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        name = tokenize.tok_name[token.type]
        if name in _OPENS:
            total += depth == 0
            depth += 1
        elif name in _CLOSES:
            depth -= 1
        elif depth == 0 and name not in _NOT_COUNTED:
            total += 1
    return total
