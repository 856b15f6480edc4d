"""k-anonymity and l-diversity of small tables of numbers.

``python -m experiments.privacy.anonymity [--quick]``

Chapter 16 of the book has no experiments. The programme here is that of the specification:
dispersion against the number of classes c for both ways of choosing it (as many classes as the
conditions allow, and a range of given numbers), and the class of a row as its sensitive value.
"""

from __future__ import annotations

from typing import Any

from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from experiments.harness import Section, Verdict, main
from sidelight.exceptions import SidelightError
from sidelight.privacy import Anonymizer, dispersion

TITLE = "Tables in which every row is like k others"

SETS = {"wine": load_wine, "breast cancer": load_breast_cancer, "diabetes": load_diabetes}
KS = (2, 5, 10, 20)
MODELS = ("distinct", "entropy", "recursive")

VERDICTS = {
    "Dispersion against the number of classes": Verdict(
        "no published figure",
        "within a given k the loss falls with c up to the number that the search chooses itself, "
        "which is lowest or near it",
    ),
    "Diversity of the class of a row": Verdict(
        "no published figure",
        "the more a model asks for, the fewer classes and the higher the loss; the entropy of a "
        "table bounds what it can have",
    ),
}


def run(runs: int, quick: bool) -> list[Section]:
    """All tables; ``quick`` has two values of k."""
    ks = KS[1:3] if quick else KS
    return [numbers_of_classes(ks), diversities(ks[-1:] if quick else (2, 5, 10))]


def numbers_of_classes(ks: tuple[int, ...]) -> Section:
    """Loss for as many classes as possible, and for given parts of that number."""
    rows = []
    for name, load in SETS.items():
        X = load().data
        for k in ks:
            free = Anonymizer(k, random_state=0).fit(X)
            bound = len(X) // k
            rows.append([name, str(k), "auto", *_figures(free, X)])
            for c in sorted({max(1, round(bound * part)) for part in (0.1, 0.25, 0.5, 1.0)}):
                fixed = Anonymizer(k, n_clusters=c, random_state=0).fit(X)
                rows.append([name, str(k), str(c), *_figures(fixed, X)])
    return Section(
        "Dispersion against the number of classes",
        "c = auto chooses as many classes as k allows, by growth; a number is the most that may "
        "be, reached by splits; floor(n/k) is the bound. DISP is that of standardized columns.",
        ("table", "k", "c asked for", "classes", "DISP", "NCP"),
        rows,
    )


def _figures(model: Any, X: Any) -> list[str]:
    lost = dispersion(X, model.published_)
    return [str(len(model.cluster_sizes_)), f"{lost:.1f}", f"{model.loss_['ncp']:.4f}"]


def diversities(ks: tuple[int, ...]) -> Section:
    """Loss with the class of a row as its sensitive value."""
    rows = []
    for name in ("wine", "breast cancer"):
        data = SETS[name]()
        for k in ks:
            plain = Anonymizer(k, random_state=0).fit(data.data, sensitive=data.target)
            rows.append([name, str(k), "none", "1", *_figures(plain, data.data), _closeness(plain)])
            for model in MODELS:
                for least in (2, 3):
                    rows.append([name, str(k), model, str(least), *_diverse(data, k, model, least)])
    return Section(
        "Diversity of the class of a row",
        "The class is the sensitive value; c = 3 of the recursive model. The last column is the "
        "largest distance of the classes in an equivalence class to those of the table.",
        ("table", "k", "model", "l", "classes", "DISP", "NCP", "t"),
        rows,
    )


def _diverse(data: Any, k: int, model: str, least: int) -> list[str]:
    estimator = Anonymizer(k, l=least, diversity=model, random_state=0)
    try:
        estimator.fit(data.data, sensitive=[f"class {one}" for one in data.target])
    except SidelightError:
        return ["impossible", "", "", ""]
    return [*_figures(estimator, data.data), _closeness(estimator)]


def _closeness(model: Any) -> str:
    return f"{max(model.t_closeness_.values()):.2f}"


if __name__ == "__main__":
    main("anonymity")
