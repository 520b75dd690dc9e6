# /// script
# requires-python = ">=3.10"
# dependencies = ["torch>=2.0"]
#
# [tool.shrinkrepro]
# format = 1
# title = "The CPU LSTM has no forward-mode formula"
# failure = "NotImplementedError: Trying to use forward AD with mkldnn_rnn_layer that does not support it because it has not been implemented yet, raised in forward (torch/nn/modules/rnn.py), under jvp"
# expected = "fails"
# match = "signature"
# control = "primal-strict"
# device = "cpu"
# origin = "https://github.com/pytorch/pytorch/issues/174355"
# program = "sha256:7e6603bf38695f942225c7ee6482b65a1b705c48f9c50137671c961b8ac672ea"
#
# [tool.shrinkrepro.signature]
# kind = "exception"
# type = "NotImplementedError"
# sentence = "Trying to use forward AD with mkldnn_rnn_layer that does not support it because it has not been implemented yet"
# where = {file = "torch/nn/modules/rnn.py", function = "forward"}
# levels = ["jvp"]
#
# [tool.shrinkrepro.first-seen]
# torch = "2.13.0+cpu"
# python = "3.11.7"
# platform = "linux x86_64"
#
# [tool.shrinkrepro.reduction]
# original = "ad05_lstm_gauss_newton.py"
# tokens-before = 1092
# tokens-after = 39
# queries = 119
# ///

import torch

x = torch.zeros(1, 1)
torch.func.jvp(torch.nn.LSTM(1, 1), (x,), (x,))
