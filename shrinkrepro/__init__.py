"""shrinkrepro: reduce a failing PyTorch transform script to the smallest program with the same failure."""
