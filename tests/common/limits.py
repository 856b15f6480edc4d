"""Limits in which a method equals something simpler: one row for each.

Both sides are functions of the shared rows that return arrays, which have to be the same. A method
without links is the one without constraints, a distance learned from everything is a known scaling,
and so on: the cheapest test of the mathematics there is, and the first that a new method gets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from scipy.spatial.distance import pdist
from sklearn import semi_supervised as peer
from sklearn.decomposition import PCA
from sklearn.feature_selection import f_classif
from sklearn.manifold import LocallyLinearEmbedding
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler
from tests.common.models import K

from sidelight import Constraints, manifold
from sidelight.catalog import command_name
from sidelight.cluster import (
    CDKMeans,
    CondEns,
    ConditionalInformationBottleneck,
    ConstrainedKMeans,
    COPKMeans,
    InformationBottleneck,
    InformationCoclustering,
    KMeans,
    PCKMeans,
    SeededKMeans,
    SphericalKMeans,
    TextCategories,
    mine_concepts,
)
from sidelight.constraints import Conditions
from sidelight.evaluation import cocluster_information
from sidelight.feature_selection import FisherScore, VarianceScore
from sidelight.manifold import (
    AutoassociativeNetwork,
    Charting,
    CoordinatedFactorAnalysis,
    CoordinatedViews,
    CorrespondenceCharting,
    CorrespondenceLLE,
    GlobalCoordination,
    IncrementalIsomap,
    LocallyLinearCoordination,
    SammonMapping,
)
from sidelight.metric import RCA
from sidelight.mixture import (
    GenerativeTopographicMap,
    KohonenMap,
    ProbabilisticMap,
    SelfOrganizingMixture,
    SoftTopographicMap,
)
from sidelight.privacy import Anonymizer, ExistentialKMeans
from sidelight.semi_supervised import LabelSpreadingClassifier, SelfTrainingClassifier

Side = Callable[[np.ndarray, np.ndarray], Any]


@dataclass(frozen=True)
class Limit:
    """A method, the words for its limit, and the two sides, functions of rows and classes."""

    method: str
    words: str
    side: Side
    other: Side


LIMITS: list[Limit] = []


def limit(method: type, words: str, side: Side, other: Side) -> None:
    """Add a row."""
    LIMITS.append(Limit(command_name(method.__name__), words, side, other))


def labels_of(model: Any, X: np.ndarray, known: Constraints | None = None) -> np.ndarray:
    return np.asarray(model.fit(X, constraints=known).labels_)


def plain_labels(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return labels_of(KMeans(K, random_state=0), X)


limit(
    COPKMeans,
    "without constraints it is k-means",
    lambda X, y: labels_of(COPKMeans(K, n_init=5, random_state=0), X),
    plain_labels,
)
limit(
    PCKMeans,
    "without constraints it is k-means",
    lambda X, y: labels_of(PCKMeans(K, n_init=5, random_state=0), X),
    plain_labels,
)
limit(
    ExistentialKMeans,
    "without conditions it is k-means",
    lambda X, y: labels_of(ExistentialKMeans(K, n_init=5, random_state=0), X),
    plain_labels,
)
limit(
    ExistentialKMeans,
    "with a condition that k-means meets it is k-means from the same start",
    lambda X, y: (
        ExistentialKMeans(K, init=X[:K], tol=0)
        .fit(X, conditions=Conditions(n_samples=len(X)).at_least(1))
        .labels_
    ),
    lambda X, y: labels_of(KMeans(K, init=X[:K], tol=0), X),
)
limit(
    SeededKMeans,
    "with a label for every row it is k-means from the class means",
    lambda X, y: labels_of(SeededKMeans(K), X, Constraints.from_labels(y)),
    lambda X, y: labels_of(KMeans(K, init=np.array([X[y == c].mean(axis=0) for c in range(K)])), X),
)
limit(
    ConstrainedKMeans,
    "with a label for every row it gives the labels",
    lambda X, y: labels_of(ConstrainedKMeans(K), X, Constraints.from_labels(y)),
    lambda X, y: y,
)
limit(
    InformationBottleneck,
    "of squared distances it keeps as much variance as k-means",
    lambda X, y: np.array(
        InformationBottleneck(K, features="gaussian", random_state=0).fit(X).information_
    ),
    lambda X, y: np.array(
        np.sum(X.var(axis=0)) - KMeans(K, n_init=20, random_state=0).fit(X).objective_ / len(X)
    ),
)
limit(
    ConditionalInformationBottleneck,
    "without known splits it is the information bottleneck",
    lambda X, y: labels_of(
        ConditionalInformationBottleneck(K, coordination=1.0, random_state=0), X
    ),
    lambda X, y: labels_of(InformationBottleneck(K, features="gaussian", random_state=0), X),
)
limit(
    RCA,
    "of one group it is whitening",
    lambda X, y: np.cov(
        RCA(shrinkage=0.0).fit_transform(
            X, constraints=Constraints.from_groups(np.zeros(len(X), dtype=int))
        ),
        rowvar=False,
        bias=True,
    ),
    lambda X, y: np.eye(X.shape[1]),
)
limit(
    VarianceScore,
    "it is the variance",
    lambda X, y: VarianceScore().fit(X).scores_,
    lambda X, y: StandardScaler().fit(X).var_,
)
limit(
    FisherScore,
    "with a label for every row it is the F of an analysis of variance, scaled",
    lambda X, y: FisherScore().fit(X, y).scores_,
    lambda X, y: f_classif(X, y)[0] * (K - 1) / (len(X) - K),
)


def means_of_one_node(model: Any, X: np.ndarray) -> np.ndarray:
    return np.asarray(model.fit(X).means_)


for one_node in (
    SelfOrganizingMixture((1,)),
    KohonenMap((1,)),
    SoftTopographicMap((1,)),
    GenerativeTopographicMap((1,), alpha=0.0),
    ProbabilisticMap((1,)),
):
    limit(
        type(one_node),
        "of one node it is the mean",
        lambda X, y, one_node=one_node: means_of_one_node(one_node, X),
        lambda X, y: X.mean(axis=0)[None],
    )


def map_distances(model: Any, X: np.ndarray) -> np.ndarray:
    """Distances on a map, which do not change when it is turned."""
    return pdist(np.asarray(model.fit_transform(X)))


for one_chart in (
    LocallyLinearCoordination(5, n_charts=1),
    Charting(5, n_charts=1, n_mixtures=1),
    CorrespondenceCharting(5, n_charts=1, n_mixtures=1),
):
    limit(
        type(one_chart),
        "of one chart with all dimensions it is whitening",
        lambda X, y, one_chart=one_chart: map_distances(one_chart, X),
        lambda X, y: pdist(X, "mahalanobis", VI=np.linalg.inv(np.cov(X, rowvar=False, bias=True))),
    )
limit(
    GlobalCoordination,
    "of one chart with isotropic noise it is the plane of the principal components",
    lambda X, y: map_distances(GlobalCoordination(n_charts=1, chart="ppca"), X),
    lambda X, y: pdist(PCA(2, whiten=True).fit_transform(X)) * np.sqrt(len(X) / (len(X) - 1)),
)
limit(
    CorrespondenceLLE,
    "of one view it is locally linear embedding, with the same error",
    lambda X, y: 1e3 * CorrespondenceLLE().fit(X).eigenvalues_.sum(),
    lambda X, y: (
        1e3
        * LocallyLinearEmbedding(n_neighbors=10, eigen_solver="dense")
        .fit(X - X.mean(axis=0))
        .reconstruction_error_
    ),
)
limit(
    SammonMapping,
    "with a coordinate for every feature it keeps all distances",
    lambda X, y: map_distances(SammonMapping(5), X),
    lambda X, y: pdist(X),
)
limit(
    AutoassociativeNetwork,
    "with linear units its error is that of principal components",
    lambda X, y: (
        AutoassociativeNetwork(activation="identity", alpha=0.0, random_state=0)
        .fit(X)
        .reconstruction_error_
    ),
    lambda X, y: np.sum((X - (p := PCA(2).fit(X)).inverse_transform(p.transform(X))) ** 2) / len(X),
)
limit(
    manifold.ClassicalScaling,
    "of Euclidean distances it is PCA",
    lambda X, y: map_distances(manifold.ClassicalScaling(3), X),
    lambda X, y: pdist(PCA(3).fit_transform(X)),
)
limit(
    manifold.KernelPCA,
    "with the linear kernel it is PCA",
    lambda X, y: map_distances(manifold.KernelPCA(3, kernel="linear"), X),
    lambda X, y: pdist(PCA(3).fit_transform(X)),
)
limit(
    manifold.Isomap,
    "with all rows as neighbors it is classical scaling",
    lambda X, y: map_distances(manifold.Isomap(n_neighbors=len(X) - 1), X),
    lambda X, y: map_distances(manifold.ClassicalScaling(), X),
)
limit(
    manifold.LandmarkIsomap,
    "with all rows as landmarks it is Isomap",
    lambda X, y: map_distances(manifold.LandmarkIsomap(n_landmarks=len(X)), X),
    lambda X, y: map_distances(manifold.Isomap(), X),
)
limit(
    manifold.LocallyLinearEmbedding,
    "without knowledge it has the error of scikit-learn's",
    lambda X, y: 1e3 * manifold.LocallyLinearEmbedding().fit(X).eigenvalues_.sum(),
    lambda X, y: (
        1e3
        * LocallyLinearEmbedding(n_neighbors=10, eigen_solver="dense").fit(X).reconstruction_error_
    ),
)


def eigenvalues_of_graph(graph: Any) -> np.ndarray:
    """Smallest eigenvalues of ``L u = λ D u``."""
    degrees = np.diag(graph.sum(axis=1))
    return linalg.eigh(degrees - graph.toarray(), degrees, eigvals_only=True)[1:3]


limit(
    manifold.LaplacianEigenmap,
    "it solves the generalized eigenproblem of its graph",
    lambda X, y: manifold.LaplacianEigenmap().fit(X).eigenvalues_,
    lambda X, y: eigenvalues_of_graph(manifold.LaplacianEigenmap().fit(X).graph_),
)


def factor_regression(X: np.ndarray) -> np.ndarray:
    """Expected factors of the one Gaussian of a single chart, with its matrices as they are."""
    model = CoordinatedFactorAnalysis(n_charts=1, init="pca").fit(X)
    B, G = model.loadings_[0], model.spreads_[0]
    gain = G @ B.T @ np.linalg.inv(B @ G @ B.T + np.diag(model.noise_variances_[0]))
    return np.asarray(model.offsets_[0] + (X - model.means_[0]) @ gain.T)


limit(
    CoordinatedFactorAnalysis,
    "with one chart its places are the factors of factor analysis, regressed on the rows",
    lambda X, y: CoordinatedFactorAnalysis(n_charts=1, init="pca").fit(X).embedding_,
    lambda X, y: factor_regression(X),
)
limit(
    CoordinatedViews,
    "of one view it is coordinated factor analysis",
    lambda X, y: CoordinatedViews(random_state=0).fit(X).embedding_,
    lambda X, y: CoordinatedFactorAnalysis(random_state=0).fit(X).embedding_,
)


def grown_from_halves(X: np.ndarray) -> np.ndarray:
    """Places by a stream in which every row is a neighbor of all others."""
    model = IncrementalIsomap(n_neighbors=len(X) - 1).partial_fit(X[:90]).partial_fit(X[90:])
    return np.asarray(model.refine().embedding_)


limit(
    IncrementalIsomap,
    "with all rows as neighbors the stream ends with the distances of principal components",
    lambda X, y: pdist(grown_from_halves(X)),
    lambda X, y: pdist(PCA(2).fit_transform(X)),
)


def spherical_labels(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Spherical k-means from the mean directions of the classes."""
    start = np.array([X[y == group].sum(axis=0) for group in range(K)])
    return labels_of(SphericalKMeans(K, init=start, n_init=1, tol=0.0), X)


limit(
    TextCategories,
    "of unit rows, with all words, no merging, no deletion and no damping, it is spherical k-means",
    lambda X, y: (
        TextCategories(
            n_words=X.shape[1],
            shrink=1.0,
            merge_threshold=2.0,
            min_documents=0,
            damping="identity",
            variant="published",
        )
        .fit(X / np.linalg.norm(X, axis=1, keepdims=True), y)
        .labels_
    ),
    lambda X, y: spherical_labels(X / np.linalg.norm(X, axis=1, keepdims=True), y),
)


def matched(labels: np.ndarray) -> np.ndarray:
    """Labels by the order of their first row, whatever the clusters are called."""
    first = np.unique(labels, return_index=True)[1]
    return np.argsort(np.argsort(first))[labels]


limit(
    CondEns,
    "without known splits it is its base",
    lambda X, y: matched(
        CondEns(K, estimator=KMeans(n_init=5), n_init=3, random_state=0).fit(X).labels_
    ),
    lambda X, y: matched(plain_labels(X, y)),
)


def published_ranges(k: int, X: np.ndarray) -> np.ndarray:
    """The published texts of an array."""
    return np.asarray(Anonymizer(k, random_state=0).fit(X).published_)


limit(
    Anonymizer,
    "with k = 1 the table is published as it is",
    lambda X, y: published_ranges(1, X).astype(float),
    lambda X, y: X,
)
limit(
    Anonymizer,
    "with k of all rows it is one class of the largest loss",
    lambda X, y: [
        Anonymizer(len(X)).fit(X).objective_,
        len(np.unique(published_ranges(len(X), X))),
    ],
    lambda X, y: [1.0, X.shape[1]],
)

limit(
    CDKMeans,
    "with one cluster the weights of rows are their shares of all concepts",
    lambda X, y: CDKMeans(1, variant="published", binarize="mean").fit(X).row_weights_[0],
    lambda X, y: mine_concepts(X.mean(axis=0) < X).rows().mean(axis=0),
)

limit(
    InformationCoclustering,
    "with one cluster on each side all information is lost",
    lambda X, y: InformationCoclustering(1).fit(X).objective_,
    lambda X, y: cocluster_information(X, range(len(X)), range(X.shape[1])),
)


def some(y: np.ndarray) -> np.ndarray:
    """Labels of every fifth row."""
    return np.where(np.arange(len(y)) % 5 == 0, y, -1)


def wide(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A kernel as scikit-learn takes it, of two blocks of rows."""
    return np.asarray(rbf_kernel(A, B, gamma=0.02))


limit(
    LabelSpreadingClassifier,
    "with free shares it is scikit-learn's label spreading on the same graph",
    lambda X, y: (
        LabelSpreadingClassifier(graph=wide, neighbor_share=0.7, class_shares="free")
        .fit(X, some(y))
        .predict_proba(X + 0.1)
    ),
    lambda X, y: (
        peer.LabelSpreading(kernel=wide, alpha=0.7, max_iter=10_000, tol=1e-12)
        .fit(X, some(y))
        .predict_proba(X + 0.1)
    ),
)


def by_both(make: Any, X: np.ndarray, y: np.ndarray) -> list[Any]:
    """Probabilities by the threshold and by the k best."""
    learner = GaussianNB()
    rules = ({"threshold": 0.9}, {"criterion": "k_best", "k_best": 7})
    return [make(learner, **rule).fit(X, some(y)).predict_proba(X) for rule in rules]


limit(
    SelfTrainingClassifier,
    "without constraints it is scikit-learn's self-training",
    lambda X, y: by_both(SelfTrainingClassifier, X, y),
    lambda X, y: by_both(peer.SelfTrainingClassifier, X, y),
)
