"""Categories from labeled text: a stand-in for chapter 7 of the book.

``python -m experiments.cluster.text_categories [--runs 10] [--quick]``

The chapter tidied a part of the Yahoo! taxonomy (167,193 pages of 1,500 classes), which is not to
be had, and asked people about 141 pages. Here the true topics are known: documents are drawn from
topics, some filed under a related topic and some topics under two classes. The settings were fixed
on other draws of the generator.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import pkgutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from experiments.harness import Section, Verdict, main, mean_and_error
from sidelight.cluster import TextCategories
from sidelight.datasets import Dataset, make_category_corpus
from sidelight.evaluation import purity
from sidelight.feature_selection import GiniScore

TITLE = "Categories from labeled text"

#: Corpora that differ in what makes the task hard.
CORPORA: dict[str, dict[str, Any]] = {
    "related pairs": {},
    "related fours": {"n_related": 4},
    "short documents": {"mean_length": 25.0},
    "weak topics": {"topic_share": 0.15, "group_share": 0.3},
    "bursty words": {"burstiness": 0.5},
}
N_TOPICS, PER_TOPIC = 20, 200
#: Share of the words that is kept, about that of the source (77,000 of 87,000).
KEPT = 0.9
#: Least number of documents of a word, that of the source.
MIN_DF = 7
#: Packages whose docstrings are texts with a class, and whether the rule of moves was chosen on
#: them; of the last ones only the rows are reported.
PACKAGES: dict[str, tuple[tuple[str, ...], bool]] = {
    "numpy, scipy, sklearn, pandas": (("numpy", "scipy", "sklearn", "pandas"), True),
    "matplotlib, networkx": (("matplotlib", "networkx"), False),
    "docutils, jinja2, PIL, rich, sphinx": (("docutils", "jinja2", "PIL", "rich", "sphinx"), False),
    "the standard library": (
        (
            *("os", "asyncio", "typing", "logging", "unittest", "email", "http", "decimal"),
            *("ssl", "threading", "multiprocessing", "tkinter", "statistics", "tarfile"),
            *("inspect", "doctest", "difflib", "turtle", "imaplib", "ftplib", "smtplib"),
        ),
        False,
    ),
}
#: Shortest docstring, and least number of docstrings of a class.
SHORTEST, LEAST = 150, 25
#: Makes documents of a fit new ones with the same cosines: known ones stand where they are filed.
AS_NEW = 4.0
#: Shares of wrong classes.
MISFILED = (0.0, 0.1, 0.2, 0.3, 0.4)

#: The method as printed, and with the held-out check.
VARIANTS = ("published", "default")
SHOWN = ("published", "checked")
OUTCOMES = ("categories", "put right", "put wrong")

VERDICTS = {
    "Documents in the wrong class": Verdict(
        "agrees",
        "in kind: most misfiled documents reach their topic and few others leave it; the source "
        "asked people, who found 9 % of the new places better, 10 % worse and 77 % as good. Drawn "
        "topics are what the published method assumes, and it finds more of them than the cautious "
        "default; real texts are below",
    ),
    "Clean classes": Verdict(
        "no published figure",
        "as published at most 2 % of the documents leave their classes; by the held-out check none",
    ),
    "Double classes": Verdict(
        "agrees",
        "in kind: 1,500 classes became 1,167 categories there; at the published threshold 0.95 two "
        "classes of one topic need some hundred documents each to be alike enough, at 0.85 fifty "
        "are enough here. Documents stay in their classes (default)",
    ),
    "Words that the Gini index drops": Verdict(
        "agrees", "in kind: nearly all dropped words are those that all topics share"
    ),
    "Re-ranking": Verdict(
        "differs",
        "8 to 9 % of the results changed in the text; topics that are drawn share fewer words than "
        "classes of a taxonomy, and come nearer where two categories are about the same",
    ),
    "Damped documents": Verdict(
        "better",
        "comparing damped counts, not plain ones as in the text, puts more documents right",
    ),
    "Docstrings": Verdict(
        "no published figure",
        "as published the method moves 9 to 40 % of texts whose classes are right; by the held-out "
        "check 0 to 0.3 %, and 4 % in one set of modules whose docstrings repeat each other. With "
        "10 to 20 % wrong classes the checked categories have more texts right than the given "
        "classes, naive Bayes and the published method, but for that set with 10 %",
    ),
}


def run(runs: int, quick: bool) -> list[Section]:
    """All tables; ``quick`` leaves the docstrings out."""
    sections = [
        misfiled(runs),
        clean(runs),
        doubled(runs),
        dropped(runs),
        reranked(runs),
        damped(runs),
    ]
    return sections if quick else [*sections, docstrings(runs)]


def draw(seed: int, **options: Any) -> Dataset:
    chosen = {"n_topics": N_TOPICS, "n_words": 4000, **options}
    return make_category_corpus(N_TOPICS * PER_TOPIC, random_state=1000 + seed, **chosen)


def frequent(corpus: Dataset) -> tuple[Any, np.ndarray]:
    """Counts of the words in at least ``MIN_DF`` documents, and which they are."""
    kept = np.flatnonzero((corpus.data > 0).sum(axis=0) >= MIN_DF)
    return corpus.data[:, kept], kept


def fitted(corpus: Dataset, **options: Any) -> tuple[TextCategories, Any]:
    """Categories after the filter of words, and the counts that they were made of."""
    labels = corpus.extras["labels"]
    X = GiniScore(KEPT).fit_transform(frequent(corpus)[0], labels)
    return TextCategories(**options).fit(X, labels), X


def outcome(corpus: Dataset, model: TextCategories) -> dict[str, float]:
    """Purities, and what became of documents in the wrong and in the right class."""
    labels, wrong = corpus.extras["labels"], corpus.extras["mislabeled"]
    topic_of = corpus.extras["class_topic"]
    main_topic = np.full(len(model.category_names_), -1)
    for label, category in enumerate(model.class_category_):
        if category >= 0:
            main_topic[category] = topic_of[label]
    placed = np.where(model.labels_ >= 0, main_topic[model.labels_], -1)
    right = placed == corpus.target
    return {
        "given": purity(corpus.target, labels),
        "found": purity(corpus.target, model.labels_),
        "wrong to right": float(right[wrong].mean()) if wrong.any() else float("nan"),
        "right to wrong": float((~right[~wrong]).mean()),
        "categories": float(len(model.category_names_)),
    }


def _row(name: str, found: list[Mapping[str, float]], *keys: str) -> list[str]:
    return [name, *(mean_and_error([one[key] for one in found]) for key in keys)]


def misfiled(runs: int) -> Section:
    keys = ("found", "wrong to right", "right to wrong")
    rows = []
    for name, options in CORPORA.items():
        for share in (0.1, 0.2):
            drawn = [draw(seed, mislabeled=share, **options) for seed in range(runs)]
            sides = [
                [outcome(one, fitted(one, variant=variant)[0]) for one in drawn]
                for variant in VARIANTS
            ]
            given = _row(f"{name}, {share:.0%} misfiled", sides[0], "given")
            rows.append([*given, *(cell for side in sides for cell in _row("", side, *keys)[1:])])
    return Section(
        "Documents in the wrong class",
        f"{N_TOPICS} topics of {PER_TOPIC} documents. Purity by the true topic of the given "
        "classes and of the categories, as published and with the held-out check (default); share "
        "of the misfiled documents that reach their topic, and of the others that leave it.",
        ("corpus", "classes", *(f"{what}, {v}" for v in SHOWN for what in OUTCOMES)),
        rows,
    )


def clean(runs: int) -> Section:
    rows = []
    for name, options in CORPORA.items():
        drawn = [draw(seed, mislabeled=0.0, **options) for seed in range(runs)]
        cells = [name]
        for variant in VARIANTS:
            found = [outcome(one, fitted(one, variant=variant)[0]) for one in drawn]
            cells += _row("", found, "found", "right to wrong")[1:]
        rows.append(cells)
    return Section(
        "Clean classes",
        f"The same without misfiled documents: {N_TOPICS} classes, all right.",
        ("corpus", *(f"{what}, {v}" for v in SHOWN for what in ("purity", "put wrong"))),
        rows,
    )


def doubled(runs: int) -> Section:
    rows = []
    for per_class in (50, 100, 200, 400):
        cells: list[list[float]] = [[], [], [], []]
        for seed in range(runs):
            corpus = make_category_corpus(
                20 * per_class, n_topics=10, n_duplicated=10, n_words=2000, random_state=seed
            )
            for place, threshold in enumerate((0.95, 0.85)):
                model, _ = fitted(corpus, merge_threshold=threshold)
                first, second = model.class_category_[:10], model.class_category_[10:]
                cells[2 * place].append(float(np.mean((first == second) & (first >= 0))))
                cells[2 * place + 1].append(outcome(corpus, model)["found"])
        rows.append([str(per_class), *map(mean_and_error, cells)])
    return Section(
        "Double classes",
        "10 topics, each filed under two classes at random, 15 % misfiled besides: share of the "
        "pairs that become one category and purity, by the number of documents of a class and the "
        "cosine from which seeds are merged.",
        ("documents", "merged at 0.95", "purity", "merged at 0.85", "purity at 0.85"),
        rows,
    )


def dropped(runs: int) -> Section:
    rows = []
    for keep in (0.95, 0.9, 0.85):
        among, lost = [], []
        for seed in range(runs):
            corpus = draw(seed)
            X, kept = frequent(corpus)
            gone = ~GiniScore(keep).fit(X, corpus.extras["labels"]).get_support()
            shared = corpus.extras["shared_words"][kept]
            among.append(float(shared[gone].mean()))
            lost.append(float(gone[~shared].mean()))
        rows.append([f"{1 - keep:.0%}", mean_and_error(among), mean_and_error(lost)])
    return Section(
        "Words that the Gini index drops",
        "A fifth of the vocabulary is shared by all topics. Of the words in at least 7 documents, "
        "the most evenly spread ones are dropped; in the text about 11 %.",
        ("dropped", "of which shared by all", "share of the telling words lost"),
        rows,
    )


def reranked(runs: int) -> Section:
    rows = [["web pages, published", "8 to 9 %"]]
    doubles = {"double classes, not merged": {"n_duplicated": N_TOPICS}}
    for name, options in (CORPORA | doubles).items():
        shares = []
        for seed in range(runs):
            model, X = fitted(draw(seed, **options), variant="published")
            shares.append(100 * float(model.rank(AS_NEW * X, 3).reranked.mean()))
        rows.append([name, f"{mean_and_error(shares)} %"])
    X, truth = corpus_of(collected(next(iter(PACKAGES.values()))[0], by=1))
    X = GiniScore(KEPT).fit_transform(X, truth)
    share = (
        100 * TextCategories(variant="published").fit(X, truth).rank(AS_NEW * X, 3).reranked.mean()
    )
    rows.append(["docstrings of Python packages", f"{share:.3f} %"])
    return Section(
        "Re-ranking",
        "Share of the documents whose first category is not that of the largest cosine, with the "
        "threshold 0.025 and three candidates; documents and method as published.",
        ("corpus", "changed"),
        rows,
    )


def damped(runs: int) -> Section:
    rows = []
    for name, options in CORPORA.items():
        cells = [name]
        for both in (False, True):
            found = [
                outcome(corpus, fitted(corpus, damp_documents=both, variant="published")[0])[
                    "found"
                ]
                for corpus in (draw(seed, **options) for seed in range(runs))
            ]
            cells.append(mean_and_error(found))
        rows.append(cells)
    return Section(
        "Damped documents",
        "Purity of the categories of the published method, 15 % misfiled: documents compared with "
        "the seeds by plain counts, and by the square roots that the seeds are sums of.",
        ("corpus", "plain counts (text)", "damped (default)"),
        rows,
    )


def docstrings(runs: int) -> Section:
    rows = []
    for name, (packages, chosen_on) in PACKAGES.items():
        for by, classes in ((1, "package"), (2, "module")):
            texts = collected(packages, by)
            X, truth = corpus_of(texts)
            if len(np.unique(truth)) < 3 or (by == 2 and name == "the standard library"):
                continue
            shown = f"{name} by {classes}{'' if chosen_on else ' (held back)'}"
            rows += [
                [f"{shown}, {len(truth):,} texts, {share:.0%}", *_judged(X, truth, share, runs)]
                for share in MISFILED
            ]
    return Section(
        "Docstrings",
        "Docstrings of Python packages, filed by package or module, a share of them under another "
        "class at random. Share of the texts in the right class: as given, as naive Bayes places "
        "them that has seen all others, in the categories as published and with the held-out check "
        "(default). Share of the texts that this moves, of the moves that are right, and the "
        "estimated share of misfiled texts. The rule of moves was chosen on the first corpora and "
        "on drawn ones, with other misfiled texts; those that are held back were looked at once.",
        (
            *("texts, misfiled", "given", "naive Bayes", "published", "checked (default)"),
            *("moved", "of which right", "misfiled by estimate"),
        ),
        rows,
    )


def _judged(X: Any, truth: np.ndarray, share: float, runs: int) -> list[str]:
    """Right shares and moves for a share of wrong classes."""
    found: dict[str, list[float]] = {name: [] for name in ("given", "bayes", *VARIANTS)}
    moves: dict[str, list[float]] = {name: [] for name in ("moved", "right", "estimate")}
    for seed in range(runs if share else 1):
        rng = np.random.default_rng(seed)
        others = (truth + rng.integers(1, truth.max() + 1, len(truth))) % (truth.max() + 1)
        labels = np.where(rng.uniform(size=len(truth)) < share, others, truth)
        words = GiniScore(KEPT).fit_transform(X, labels)
        for variant in VARIANTS:
            model = TextCategories(variant=variant).fit(words, labels)
            own = np.where(model.class_category_ >= 0, model.class_category_, -2)[truth]
            found[variant].append(float(np.mean(model.labels_ == own)))
        found["given"].append(float(np.mean(labels == truth)))
        found["bayes"].append(float(np.mean(model.held_out_ == own)))
        right = (model.labels_ == own)[model.moved_]
        moves["moved"].append(len(model.moved_) / len(truth))
        moves["right"].append(float(right.mean()) if len(right) else float("nan"))
        moves["estimate"].append(model.wrong_share_)
    return [mean_and_error(values) for values in (found | moves).values()]


def corpus_of(texts: Mapping[str, str]) -> tuple[Any, np.ndarray]:
    """Counts of words, and codes of the classes that have enough texts."""
    names = np.array(list(texts.values()))
    _, codes, sizes = np.unique(names, return_inverse=True, return_counts=True)
    kept = np.flatnonzero(sizes[codes] >= LEAST)
    words = CountVectorizer(
        min_df=MIN_DF, max_df=0.5, token_pattern=r"(?u)\b\w+\b", dtype=np.float64
    )
    X = words.fit_transform(np.array(list(texts), dtype=object)[kept])
    return X, np.unique(codes[kept], return_inverse=True)[1]


def collected(packages: Sequence[str], by: int) -> dict[str, str]:
    """Docstrings of public functions, classes and methods, and the first parts of their module."""
    texts: dict[str, str] = {}
    for package in packages:
        for module in _modules(package):
            name = ".".join(module.__name__.split(".")[:by])
            for text in _docstrings(module, package):
                texts.setdefault(text, name)
    return texts


def _modules(package: str) -> Iterator[Any]:
    """A package and its public modules that can be imported."""
    try:
        root = importlib.import_module(package)
    except ImportError:
        print(f"{package} is left out: it is not installed")
        return
    yield root
    for one in pkgutil.iter_modules(getattr(root, "__path__", ())):
        if one.name.startswith("_") or "test" in one.name:
            continue
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                module = importlib.import_module(f"{package}.{one.name}")
            except Exception:  # it needs something that is not installed
                continue
        yield module


def _docstrings(module: Any, package: str) -> Iterator[str]:
    for key, one in sorted(vars(module).items()):
        home = str(getattr(one, "__module__", None) or module.__name__)
        if key.startswith("_") or inspect.ismodule(one) or home.split(".")[0] != package:
            continue
        members = vars(one).items() if inspect.isclass(one) else ()
        for what in (one, *(value for inner, value in sorted(members) if inner[0] != "_")):
            text = inspect.getdoc(what)
            if isinstance(text, str) and len(text) >= SHORTEST:
                yield text


if __name__ == "__main__":
    main("text_categories")
