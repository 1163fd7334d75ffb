"""The tutorial on health records: all of its code runs, and does what its text says."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpsparse import Certificate

PAGE = Path(__file__).resolve().parent.parent / "python/docs/health_table.md"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The names that the page's code leaves behind, in the folder where it ran."""
    folder = tmp_path_factory.mktemp("tutorial")
    names = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
            exec(compile(block, PAGE.name, "exec"), names)
    return folder, names


def test_the_published_table_holds_the_models_ratios(run):
    folder, names = run
    published = pd.read_csv(folder / "odds_ratios.csv", keep_default_na=False)
    model = names["model"]
    assert list(published["attribute"]) == ["(intercept)", "age", "smoker", "smoker", *["exercise"] * 3, "salt"]
    references = published[(published["level"] != "") & (published["level"] == published["reference"])]
    assert list(references["level"]) == ["False", "none"]
    assert list(references["odds_ratio"].astype(float)) == [1.0, 1.0]
    others = published.drop(index=[0, *references.index])
    np.testing.assert_allclose(others["odds_ratio"].astype(float), np.exp(model.coef_[0]))
    lower, upper = (others[f"odds_ratio_{side}"].astype(float) for side in ("lower", "upper"))
    assert ((lower < others["odds_ratio"].astype(float)) & (others["odds_ratio"].astype(float) < upper)).all()
    # The odds are those of high pressure, which age raises: the records were made so, and noise is far smaller.
    assert list(model.classes_) == [False, True]
    age = others.set_index("attribute")["odds_ratio"].astype(float)["age"]
    assert 1.0 < age < np.exp(0.06)


def test_the_certificate_that_is_published_is_the_fits_and_holds(run):
    folder, names = run
    certificate = Certificate.from_json((folder / "certificate.json").read_text())
    assert certificate == names["model"].certificate_
    assert certificate.secure
    assert certificate.certified
    assert certificate.verify()
    assert certificate.claim[0] == 2.0
    assert certificate.n_samples == 20_000


def test_the_curve_falls_and_the_fit_is_on_it(run):
    curve, model = run[1]["curve"], run[1]["model"]
    assert (np.diff(curve.predicted_excess_risk) < 0).all()
    np.testing.assert_allclose(curve.coef_std[2], model.coef_std()[0])
