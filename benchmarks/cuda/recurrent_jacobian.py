"""Sensitivity of a recurrent forecaster to its first input, by forward mode."""

import torch
from torch import nn
from torch.func import jacfwd

device = "cuda"


class Forecaster(nn.Module):
    def __init__(self, channels=3, hidden=24):
        super().__init__()
        self.rnn = nn.LSTM(channels, hidden, num_layers=2, batch_first=True)
        self.head = nn.Linear(hidden, channels)

    def forward(self, series):
        states, _ = self.rnn(series)
        return self.head(states[:, -1])


torch.manual_seed(1)
model = Forecaster().to(device).eval()
series = torch.randn(1, 10, 3, device=device)
past = series[:, 1:]


def forecast(first):
    return model(torch.cat([first.view(1, 1, 3), past], dim=1)).squeeze(0)


jacobian = jacfwd(forecast)(series[0, 0])
print("sensitivity", torch.linalg.matrix_norm(jacobian).item())
