import os
import signal

import torch
from torch.func import grad

grad(lambda x: x)(torch.tensor(1.0))
os.kill(os.getpid(), signal.SIGSEGV)
