"""Shrink Ray with its Python grammar, which it would download at its first run.

Decision: where that download is not possible the grammar comes from the package ``tree-sitter-python``, because without
it Shrink Ray is slower and its results are larger, and that would be no fair comparison.
"""

from __future__ import annotations

import tree_sitter
import tree_sitter_language_pack as pack
import tree_sitter_python
from shrinkray.__main__ import main

python = tree_sitter.Language(tree_sitter_python.language())
pack.get_language = lambda name: python
pack.downloaded_languages = lambda: ["python"]
main()
