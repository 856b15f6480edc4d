"""The map of the rows: clusters in color, statements as lines, the violated ones in red."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from sidelight.constraints import Constraints
from sidelight.display._display import Display
from sidelight.pictures import Points
from sidelight.pictures.inner import cluster_map, run_of, run_of_labels


class ClusterDisplay(Display, kind=Points):
    """Map of the rows: clusters in color, must-links solid, cannot-links dashed, violated ones red.

    Make it by :meth:`from_estimator` or :meth:`from_labels`. Two features are drawn as they are,
    one as a strip with random heights, more on their first two principal components. Of many rows
    4,000 are drawn, those that statements mention first; the title says so.

    Lines and marks have the names of what was stated: ``"must-link"``, ``"cannot-link"``,
    ``"violated must-link"``, ``"violated cannot-link"``, ``"known label"``, ``"group member"``,
    and ``"wrong"`` for rows that a violated statement mentions.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sidelight import Constraints
    >>> from sidelight.cluster import PCKMeans
    >>> from sidelight.display import ClusterDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> known = Constraints.sample(y, 30, random_state=0)
    >>> model = PCKMeans(3, random_state=0).fit(X, constraints=known)
    >>> display = ClusterDisplay.from_estimator(model, X, constraints=known)
    >>> display.ax_.get_xlabel()
    '1st component (92%)'
    >>> display.figure_.savefig("iris.png")  # doctest: +SKIP
    """

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        constraints: Constraints | None = None,
        feature_names: Sequence[str] | None = None,
        features: Sequence[Any] | None = None,
        like: Any = None,
        regions: bool = False,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the clusters that a fitted estimator found.

        Parameters
        ----------
        estimator : fitted clusterer
            Anything with ``labels_``: a clusterer or mixture of Sidelight or scikit-learn, a
            search, a pipeline (centers are drawn where the estimator saw the rows as given).
        regions : bool, default=False
            Whether to shade where new rows would go; of two features only.
        """
        run = run_of(estimator, X, constraints, feature_names)
        picture = cluster_map(
            run,
            type(estimator).__name__,
            like=getattr(like, "picture", like),
            features=features,
            regions=(estimator, X) if regions else None,
        )
        return cls(picture).plot(ax, **options)

    @classmethod
    def from_labels(
        cls,
        X: Any,
        labels: Any,
        *,
        constraints: Constraints | None = None,
        feature_names: Sequence[str] | None = None,
        features: Sequence[Any] | None = None,
        like: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw rows with labels from anywhere.

        Parameters
        ----------
        X : array, CSR matrix, data frame or RowSource of shape (n_samples, n_features)
            The rows; missing values are filled with means.
        """
        run = run_of_labels(X, labels, constraints, feature_names)
        like = getattr(like, "picture", like)
        return cls(cluster_map(run, like=like, features=features)).plot(ax, **options)
