"""The demo: which attributes predict an income above 50 K, asked of real people's rows with differential privacy.

`run` is the whole story in one function and uses only the public names of the package: copy it and put your data in.
"""

import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from dpsparse import PrivateSparseClassifier, SparseClassifier
from dpsparse.datasets import load_adult

EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)

DEFAULT_PICTURE = Path("dpsparse-demo.png")

#: Radius of the l1 ball that the private fit searches, in scaled units: features run over [-1, 1] there.
RADIUS = 10.0

#: The same ball in the user's units: a feature in [0, 1] is half as wide as one in [-1, 1], so its coefficient is twice
#: as large. The gap between the two models is then the price of privacy, not of a tighter constraint.
EXACT_RADIUS = 2 * RADIUS

_PICTURE_FEATURES = 15


@dataclass(frozen=True)
class Coefficient:
    """A feature that the private model selected, with its coefficient in both models (positive favours ``>50K``).

    It compares a level of an attribute with the attribute's reference level.
    """

    attribute: str
    level: str
    reference: str
    private: float
    exact: float


@dataclass(frozen=True)
class DemoResult:
    """The numbers that the demo prints.

    Attributes
    ----------
    n_train, n_test, n_features : int
        Rows to fit on, rows held out, and features.
    majority_class : str
        The more frequent label of the rows to fit on.
    majority_accuracy, exact_accuracy, private_accuracy : float
        Accuracy on the held-out rows. None of them is private: they are counted on those rows without noise.
    exact_support : int
        Number of features that the exact model selected.
    epsilon, delta : float
        What the private fit spent.
    coefficients : tuple of Coefficient
        The features that the private model selected, by attribute, the strongest first.
    certificate : str
        The private fit's certificate in words.
    verified : bool
        Whether the certificate's guarantee follows from its events when recomputed.
    secure : bool
        Whether the randomness came from the operating system; a seeded run is not private.
    accuracy_by_epsilon : dict
        Held-out accuracy of one private fit for each epsilon.
    total_epsilon, total_delta : float
        What all the private fits of this run spent together, by addition.
    picture : Path or None
        Where the picture was saved.
    """

    n_train: int
    n_test: int
    n_features: int
    majority_class: str
    majority_accuracy: float
    exact_accuracy: float
    private_accuracy: float
    exact_support: int
    epsilon: float
    delta: float
    coefficients: tuple[Coefficient, ...]
    certificate: str
    verified: bool
    secure: bool
    accuracy_by_epsilon: dict[float, float]
    total_epsilon: float
    total_delta: float
    picture: Path | None


def run(
    output: Path | None = None,
    *,
    epsilon: float = 1.0,
    seed: int | None = None,
    plot: bool = True,
    epsilons: Sequence[float] = EPSILONS,
) -> DemoResult:
    """Fit the Adult census rows privately, print what was learnt and at what price, and draw it.

    Parameters
    ----------
    output : Path, optional
        Where to save the picture; ``dpsparse-demo.png`` in the current directory by default.
    epsilon : float, default=1.0
        Privacy budget of the fit that the report is about.
    seed : int, optional
        Make the run reproducible, and therefore not private.
    plot : bool, default=True
        Save a picture when matplotlib is installed.
    epsilons : sequence of float
        Budgets of the fits that show accuracy against epsilon; each spends its own.

    Returns
    -------
    DemoResult
        The numbers of the report.
    """
    further = sorted(set(epsilons) - {epsilon})
    with _progress(n_stages=3 + len(further)) as stage:
        stage("reading the Adult census rows")
        adult = load_adult()
        # By position alone: a split balanced on the labels would depend on every label.
        table, table_test, y, y_test = train_test_split(adult.frame(), adult.y, test_size=0.2, random_state=0)
        terms = adult.schema.terms
        delta = 1 / len(y) ** 2

        def fit_private(epsilon: float) -> PrivateSparseClassifier:
            model = PrivateSparseClassifier(
                epsilon=epsilon,
                delta=delta,
                radius=RADIUS,
                schema=adult.schema,
                classes=adult.classes,
                random_state=seed,
            )
            return model.fit(table, y)

        stage(f"fitting privately, epsilon = {epsilon:g}")
        private = fit_private(epsilon)
        accuracy_by_epsilon = {epsilon: float(private.score(table_test, y_test))}

        stage("fitting exactly, for comparison")
        X, X_test = adult.schema.encode(table), adult.schema.encode(table_test)
        exact = SparseClassifier(loss="logistic", radius=EXACT_RADIUS).fit(X, y)
        majority_class = max(adult.classes, key=lambda label: np.count_nonzero(y == label))

        for other in further:
            stage(f"fitting privately, epsilon = {other:g}")
            accuracy_by_epsilon[other] = float(fit_private(other).score(table_test, y_test))

        certificate = private.certificate_
        # Strongest attribute first, then strongest feature: a stable sort by the second key, then by the first.
        weight: Counter[str] = Counter()
        for term, coefficient in zip(terms, private.coef_[0], strict=True):
            weight[term.attribute] += abs(coefficient)
        chosen = sorted(private.support_, key=lambda j: -abs(private.coef_[0, j]))
        chosen.sort(key=lambda j: -weight[terms[j].attribute])
        result = DemoResult(
            n_train=len(y),
            n_test=len(y_test),
            n_features=len(terms),
            majority_class=majority_class,
            majority_accuracy=float(np.mean(y_test == majority_class)),
            exact_accuracy=float(exact.score(X_test, y_test)),
            private_accuracy=accuracy_by_epsilon[epsilon],
            exact_support=int(np.count_nonzero(exact.coef_)),
            epsilon=epsilon,
            delta=delta,
            coefficients=tuple(
                Coefficient(
                    attribute=terms[j].attribute,
                    level=terms[j].level or "",
                    reference=terms[j].reference or "",
                    private=float(private.coef_[0, j]),
                    exact=float(exact.coef_[0, j]),
                )
                for j in chosen
            ),
            certificate=repr(certificate),
            verified=certificate.verify(),
            secure=certificate.secure,
            accuracy_by_epsilon=dict(sorted(accuracy_by_epsilon.items())),
            total_epsilon=sum(accuracy_by_epsilon),
            total_delta=delta * len(accuracy_by_epsilon),
            picture=(output or DEFAULT_PICTURE) if plot and _has_matplotlib() else None,
        )

    print(report(result))
    if result.picture:
        save_picture(result, result.picture)
        print(f"Picture saved: {result.picture.resolve()}")
    elif plot:
        print("No picture: matplotlib is not installed. Get it with: pip install matplotlib")
    return result


def report(result: DemoResult) -> str:
    """Lay out the numbers of a demo run as text.

    Parameters
    ----------
    result : DemoResult
        What `run` returned.

    Returns
    -------
    str
        The report, without a final line break.
    """
    n_selected = len(result.coefficients)
    n_attributes = len({coefficient.attribute for coefficient in result.coefficients})
    n_rows = result.n_train + result.n_test
    lines = [
        "Which attributes predict an income above 50 K?",
        f"UCI Adult (Becker & Kohavi 1996, CC BY 4.0): {n_rows:,} people of the 1994 census,",
        f"{result.n_features} features of 0 or 1: public levels and bins against a reference of each attribute.",
        f"{result.n_train:,} rows to fit on, {result.n_test:,} held out.",
        "",
        "Accuracy on the held-out rows",
        f"  majority class ({result.majority_class})       {result.majority_accuracy:.3f}",
        f"  private, epsilon = {result.epsilon:<8g}  {result.private_accuracy:.3f}   {n_selected} features",
        f"  exact, not private           {result.exact_accuracy:.3f}   {result.exact_support} features, same l1 ball",
        "",
        f"Selected privately: {n_selected} features of {n_attributes} attributes (+ favours >50K)",
        f"  {'attribute':<16}{'level':<24}{'private':>8}{'exact':>9}   against",
    ]
    previous = None
    for row in result.coefficients:
        attribute = "" if row.attribute == previous else row.attribute
        against = "" if row.attribute == previous else f"   {row.reference}"
        lines.append(f"  {attribute:<16}{row.level:<24}{row.private:>+8.2f}{row.exact:>+z9.2f}{against}")
        previous = row.attribute
    lines.append("  The private choice is random: where the two columns disagree, suspect noise.")

    lines += ["", "Certificate of the private fit", textwrap.indent(result.certificate, "  ")]
    if result.secure:
        lines.append(f"  Recomputed from its events: {'it holds' if result.verified else 'IT DOES NOT HOLD'}.")
    else:
        lines.append("  Seeded run: reproducible, and therefore not private.")
    lines += [
        "  It covers the coefficients. The accuracies and the exact model are computed without noise, which is fine",
        "  for a public set; on your own data each would be a release of its own.",
        "",
        "Accuracy against epsilon, one fit each",
        "  epsilon  " + "".join(f"{epsilon:>8g}" for epsilon in result.accuracy_by_epsilon),
        "  accuracy " + "".join(f"{accuracy:>8.3f}" for accuracy in result.accuracy_by_epsilon.values()),
        "  Each fit spends its own epsilon. All private fits of this run together spent the sum:",
        f"  epsilon {result.total_epsilon:g}, delta {result.total_delta:.2g}. It is an illustration, on a public set;",
        "  on your own data, choose one epsilon and fit once.",
        "",
    ]
    return "\n".join(lines)


def save_picture(result: DemoResult, path: Path) -> None:
    """Draw the coefficients, and the accuracy against epsilon, into a file.

    Parameters
    ----------
    result : DemoResult
        What to draw.
    path : Path
        Where to save it; the suffix names the format (.png, .pdf, .svg).
    """
    # The object interface, not pyplot: it leaves the user's backend and open figures alone.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 5.5), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    _plot_coefficients(left, result)
    _plot_accuracy(right, result)
    figure.savefig(path, dpi=150)


def _plot_coefficients(ax: Any, result: DemoResult) -> None:
    strongest = sorted(result.coefficients, key=lambda row: -abs(row.private))[:_PICTURE_FEATURES]
    position = np.arange(len(strongest))
    ax.barh(position - 0.2, [row.private for row in strongest], 0.4, label=f"private, epsilon = {result.epsilon:g}")
    ax.barh(position + 0.2, [row.exact for row in strongest], 0.4, label="exact, not private", color="0.75")
    ax.set_yticks(position, [f"{row.attribute}: {row.level}" for row in strongest])
    ax.invert_yaxis()
    ax.axvline(0, color="0.3", linewidth=0.8)
    ax.set_xlabel("coefficient (positive favours an income above 50 K)")
    ax.set_title("Strongest features of the private model")
    ax.legend()


def _plot_accuracy(ax: Any, result: DemoResult) -> None:
    ax.axhline(result.exact_accuracy, color="0.5", label="exact, not private")
    ax.axhline(result.majority_accuracy, color="0.5", linestyle=":", label="majority class")
    epsilons, accuracies = zip(*result.accuracy_by_epsilon.items(), strict=True)
    ax.plot(epsilons, accuracies, "o-", label="private, one fit each")
    ax.set_xscale("log")
    ax.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    ax.minorticks_off()
    ax.set_xlabel(f"epsilon (each point spends its own: {result.total_epsilon:g} in all)")
    ax.set_ylabel("accuracy on held-out rows")
    ax.set_title("Accuracy against epsilon")
    ax.legend(loc="lower right")


def _has_matplotlib() -> bool:
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        return False
    return True


@contextmanager
def _progress(n_stages: int) -> Iterator[Callable[[str], None]]:
    """Give a function that announces the next stage, on stderr so that the report can be piped."""
    try:
        from tqdm import tqdm
    except ImportError:
        begun = 0

        def announce(stage: str) -> None:
            nonlocal begun
            begun += 1
            print(f"[{begun}/{n_stages}] {stage}", file=sys.stderr, flush=True)

        yield announce
        return

    with tqdm(total=n_stages, leave=False, bar_format="{n_fmt}/{total_fmt} |{bar:20}| {desc}") as bar:

        def advance(stage: str) -> None:
            bar.set_description_str(stage, refresh=False)
            bar.update()
            bar.refresh()

        yield advance
