"""Small problems, and the objectives written out from their definitions."""

from __future__ import annotations

import numpy as np
from scipy.special import expit
from sklearn.metrics.pairwise import rbf_kernel

from sidelight import Constraints


def problem(n_classes=2, n=40, n_labels=8, n_pairs=14, seed=0, groups=False, weights=True):
    """Rows, partial labels and pairs with weights; of few pairs some are wrong."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, 3)) + 1.5 * np.eye(3)[y % 3]
    X -= X.mean(axis=0)
    known = np.where(np.arange(n) < n_labels, y, -1)
    drawn = rng.permutation([(i, j) for i in range(n) for j in range(i)])[:n_pairs]
    same = (y[drawn[:, 0]] == y[drawn[:, 1]]) ^ (rng.uniform(size=n_pairs) < 0.1 * (n_pairs < 20))
    weight = rng.uniform(0.3, 2.0, n_pairs) if weights else np.ones(n_pairs)
    members = np.full(n, -1)
    if groups:
        members[n_labels : n_labels + 9] = [0, 0, 0, 0, 1, 1, 2, -1, 1]
        members[0] = 0
    constraints = Constraints(
        drawn[same],
        drawn[~same],
        must_link_weight=weight[same],
        cannot_link_weight=weight[~same],
        groups=members if groups else None,
        n_samples=n,
    )
    return X, known, constraints


def L(z):
    """Logistic loss."""
    return np.logaddexp(0, -np.asarray(z, dtype=float))


def hinge(z):
    return np.maximum(0, 1 - z)


def loss(f, labels, known, *, kind, mu, code=1, against_rest=False):
    """Sum of the losses of one machine at the values ``f`` of all rows, term by term."""
    total = 0.0
    for value, label in zip(f, labels, strict=True):
        if label >= 0:
            sign = 1 if label == code else -1
            total += hinge(sign * value) if kind == "svm" else L(sign * value)
    pairs = [
        (f[i], f[j], w, 1)
        for (i, j), w in zip(known.must_link, known.must_link_weight, strict=True)
    ]
    pairs += [
        (f[i], f[j], w, -1)
        for (i, j), w in zip(known.cannot_link, known.cannot_link_weight, strict=True)
    ]
    if known.groups is not None:
        for group in set(known.groups[known.groups >= 0].tolist()):
            rows = np.flatnonzero(known.groups == group)
            if len(rows) > 1:
                pairs += [(f[i], f[rows].mean(), 1.0, 1) for i in rows]
    for a, b, w, c in pairs:
        total += mu * w * pair_loss(a, b, c, kind, against_rest)
    return total


def pair_loss(a, b, c, kind, against_rest):
    """Loss of one pair."""
    if against_rest and c < 0:
        return {
            "convex": L(-a - b),
            "nonconvex": -np.log(1 - expit(a) * expit(b)),
            "svm": hinge(-a - b),
        }[kind]
    b = c * b
    return {
        "convex": L(a - b) + L(b - a),
        "nonconvex": -np.log(expit(a) * expit(b) + expit(-a) * expit(-b)),
        "svm": abs(a - b),
    }[kind]


def values_of(model, X):
    """Values of all machines, one column each."""
    values = model.decision_function(X)
    return values[:, None] if values.ndim == 1 else values


def norms_of(model, X, gamma):
    """``‖f‖²`` of every machine of a Gaussian kernel, or of a linear one."""
    if hasattr(model, "coef_"):
        return (model.coef_**2).sum(axis=1)
    K = rbf_kernel(X[model.support_], gamma=gamma)
    return np.einsum("mi,ij,mj->m", model.dual_coef_, K, model.dual_coef_)


def objective(model, X, labels, known, *, kind, gamma=None):
    """Objective of a fitted model, from its decision values."""
    n_classes = len(model.classes_)
    machines = [1] if n_classes == 2 else range(n_classes)
    return sum(
        loss(f, labels, known, kind=kind, mu=model.penalty_, code=c, against_rest=n_classes > 2)
        + model.alpha_ * norm
        for c, f, norm in zip(
            machines, values_of(model, X).T, norms_of(model, X, gamma), strict=True
        )
    )
