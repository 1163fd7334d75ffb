"""The best rival's figure of each of the 33 cells that ``mechanism="auto"`` is held to.

Measured once, before this bench: of each set and epsilon the best of the rivals below, whose method, feature scaling
and hyper-parameters were picked on the test set. Classification: test accuracy, delta 1/n^2, replace-one. Regression:
test R^2, median of five splits, delta 1e-5, add-remove. GD: noisy gradient descent (with momentum in regression), FW:
exponential-mechanism Frank-Wolfe, DPL: diffprivlib 0.6.6 (pure epsilon), AdaSSP: boosted AdaSSP.
"""

TARGETS: dict[tuple[str, float], tuple[float, str]] = {
    ("cod_rna", 0.1): (0.791, "DPL"),
    ("cod_rna", 0.5): (0.914, "DPL"),
    ("cod_rna", 1.0): (0.938, "DPL"),
    ("cod_rna", 4.0): (0.949, "DPL"),
    ("a9a", 0.1): (0.817, "GD"),
    ("a9a", 0.5): (0.841, "GD"),
    ("a9a", 1.0): (0.847, "GD"),
    ("a9a", 4.0): (0.850, "GD"),
    ("imdb", 0.1): (0.589, "GD"),
    ("imdb", 0.5): (0.697, "GD"),
    ("imdb", 1.0): (0.741, "GD"),
    ("imdb", 4.0): (0.797, "GD"),
    ("news20groups", 0.1): (0.578, "GD"),
    ("news20groups", 0.5): (0.684, "GD"),
    ("news20groups", 1.0): (0.730, "GD"),
    ("news20groups", 4.0): (0.817, "GD"),
    ("dna_splice", 0.1): (0.661, "FW"),
    ("dna_splice", 0.5): (0.857, "FW"),
    ("dna_splice", 1.0): (0.880, "FW"),
    ("dna_splice", 4.0): (0.914, "FW"),
    ("phoneme", 0.1): (0.617, "not named"),
    ("phoneme", 0.5): (0.659, "not named"),
    ("phoneme", 1.0): (0.682, "GD"),
    ("phoneme", 4.0): (0.748, "GD"),
    ("diamonds", 0.1): (0.919, "GD"),
    ("diamonds", 1.0): (0.925, "GD, AdaSSP"),
    ("diamonds", 4.0): (0.929, "AdaSSP"),
    ("california", 0.1): (0.586, "GD"),
    ("california", 1.0): (0.630, "GD"),
    ("california", 4.0): (0.650, "AdaSSP"),
    ("garbage", 0.1): (0.801, "GD"),
    ("garbage", 1.0): (0.899, "GD"),
    ("garbage", 4.0): (0.900, "GD, AdaSSP"),
}
