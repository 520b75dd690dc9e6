"""Seeds come first, after what must stand before them."""

from __future__ import annotations

from shrinkrepro.core.seeding import seeded


def test_seeds_follow_the_docstring_and_futures() -> None:
    source = "'''doc'''\nfrom __future__ import annotations\nimport numpy as np\nfrom random import random\nx = 1"
    assert seeded(source, 3).splitlines() == [
        '"""doc"""',
        "from __future__ import annotations",
        "import torch",
        "torch.manual_seed(3)",
        "import random",
        "random.seed(3)",
        "import numpy",
        "numpy.random.seed(3)",
        "import numpy as np",
        "from random import random",
        "x = 1",
    ]


def test_only_torch_is_seeded_when_nothing_else_is_imported() -> None:
    assert seeded("x = 1", 0) == "import torch\ntorch.manual_seed(0)\nx = 1\n"
