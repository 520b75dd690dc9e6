"""vmap with chunk_size: the chunks come back in reverse order."""

import os
import sys

sys.path.append(os.path.dirname(__file__))


import torch._functorch.vmap as machinery

concatenated = machinery._concat_chunked_outputs


def reversed_chunks(out_dims, spec, chunks):
    return concatenated(out_dims, spec, [list(reversed(leaf)) for leaf in chunks])


machinery._concat_chunked_outputs = reversed_chunks
