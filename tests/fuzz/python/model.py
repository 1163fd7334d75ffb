"""Model files from outside: loaded or refused as ModelFormatError. What is loaded is written to a document that loads
again, and predicts finite numbers. A certificate that was edited on the way does not verify."""

import json
from functools import cache
from pathlib import Path

import numpy as np

from dpsparse import (
    ModelFormatError,
    PrivateSimplexRegressor,
    PrivateSparseClassifier,
    PrivateSparsePoissonRegressor,
    PrivateSparseRegressor,
    models,
)
from dpsparse.set_functions import GroupCover

from .choices import Choices, edited

_VERSION_1 = Path(__file__).resolve().parents[2] / "reference/model_version_1.json"


@cache
def originals() -> list[dict]:
    x = np.random.default_rng(0).uniform(-1, 1, (400, 3))
    common = {"epsilon": 1.0, "delta": 1e-6, "bounds": (-1, 1)}
    fitted = [
        PrivateSparseClassifier(**common, classes=("no", "yes"), n_iter=3).fit(x, np.where(x[:, 0] > 0, "yes", "no")),
        PrivateSparseClassifier(
            **common, classes=(0, 1, 2), mechanism="noisy-proximal-gradient", norm=GroupCover([[0, 1], [2]])
        ).fit(x, np.digitize(x[:, 0], (-0.5, 0.5))),
        PrivateSparseRegressor(**common, y_bounds=(-1, 1), mechanism="output-perturbation").fit(x, x[:, 0]),
        PrivateSparsePoissonRegressor(**common, y_bounds=(0, 4)).fit(x, np.round(2 + x[:, 0])),
        PrivateSimplexRegressor(**common, y_bounds=(-1, 1)).fit(x, x[:, 0]),
    ]
    documents = [json.loads(models.dumps(model)) for model in fitted]
    assert all(model.certificate_.verify() for model in fitted)
    return [*documents, json.loads(_VERSION_1.read_text())]


def run(data: bytes) -> None:
    choices = Choices(data)
    kind = choices.below(8)
    original = choices.pick(originals())
    if kind == 0:
        source = "{" + choices.rest().decode("utf-8", errors="replace")
    elif kind == 1:
        text = json.dumps(original)
        at = choices.below(len(text))
        source = text[:at] + choices.rest().decode("utf-8", errors="replace") + text[at + choices.below(4) :]
        source = "{" + source.lstrip().removeprefix("{")
    else:
        source = json.dumps(edited(original, choices))
        source = source if source.startswith("{") else "{" + source
    try:
        model = models.load(source)
    except ModelFormatError:
        return
    again = models.dumps(model)
    assert models.dumps(models.load(again)) == again
    written = json.loads(source)["certificate"]
    if model.certificate_.verify() and kind > 1:
        # 2 and 2.0 are one number of JSON
        assert json.loads(model.certificate_.to_json()) == written == original["certificate"]
    if not hasattr(model, "schema_"):
        predicted = model.predict(np.zeros((2, model.n_features_in_)))
        assert predicted.shape == (2,)
        if predicted.dtype.kind == "f":
            assert not np.isnan(predicted).any()
