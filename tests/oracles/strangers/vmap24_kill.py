import os
import signal

import torch

torch.zeros(1)
os.kill(os.getpid(), signal.SIGSEGV)
