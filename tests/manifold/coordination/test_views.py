"""Maps of several views: limits, exact identities, links, tables with missing blocks, bad input."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.manifold import LocallyLinearEmbedding
from tests.common import not_in_memory
from tests.manifold.coordination.cases import explained, s_curve

from sidelight.constraints import Correspondences
from sidelight.exceptions import EmbeddingWarning, SidelightError
from sidelight.manifold import Charting, CorrespondenceCharting, CorrespondenceLLE
from sidelight.manifold._reconstruction import reconstruction_weights

BOTH = pytest.mark.parametrize(
    "make",
    [
        lambda d=1, **params: CorrespondenceLLE(d, **params),
        lambda d=1, **params: CorrespondenceCharting(d, random_state=0, **params),
    ],
    ids=["lle", "charting"],
)


def curves(n: int = 150, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two curves of one parameter, the second in another order of the rows."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(size=n)
    first = np.column_stack([np.cos(4 * t), np.sin(4 * t)])
    second = np.column_stack([t, t**2, np.sin(3 * t)])[::-1]
    return t, first + 0.005 * rng.normal(size=first.shape), second


def linked(n: int = 150, every: int = 5) -> Correspondences:
    rows = np.arange(0, n, every)
    return Correspondences(np.column_stack([rows, n - 1 - rows]), [n, n])


@BOTH
def test_unlinked_rows_of_two_views_meet(make):
    t, first, second = curves()
    model = make().fit([first, second], correspondences=linked())
    one, other = model.embeddings_[0], model.embeddings_[1][::-1]
    assert np.mean((one - other) ** 2) < 0.01
    assert abs(np.corrcoef(one[:, 0], t)[0, 1]) > 0.95
    assert model.embedding_.shape == (linked().n_objects, 1)


@BOTH
def test_new_rows_of_either_view(make):
    _, first, second = curves()
    model = make().fit([first, second], correspondences=linked())
    np.testing.assert_allclose(model.transform(first, view=0), model.embeddings_[0], atol=1e-8)
    np.testing.assert_allclose(model.transform(second, view=1), model.embeddings_[1], atol=1e-8)
    with pytest.raises(SidelightError, match=r"Rows are a dask\.array of two dimensions"):
        model.transform(not_in_memory.Array(second), view=1)
    between = np.linspace(0.1, 0.9, 20)
    left = model.transform(np.column_stack([np.cos(4 * between), np.sin(4 * between)]), view=0)
    columns = [between, between**2, np.sin(3 * between)]
    right = model.transform(np.column_stack(columns), view=1)
    assert np.mean((left - right) ** 2) < 0.02


@BOTH
def test_a_table_with_missing_blocks_is_a_list_of_views(make):
    _, first, second = curves()
    known = linked()
    table, columns = known.stack([first, second])
    one = make().fit([first, second], correspondences=known)
    other = make(views=columns).fit(table)
    # Charts are drawn from the rows in their order, which the table changes.
    close = 1e-6 if isinstance(one, CorrespondenceLLE) else 0.2
    signs = np.sign(np.sum(one.embedding_ * other.embedding_))
    np.testing.assert_allclose(other.embedding_ * signs, one.embedding_, atol=close)
    np.testing.assert_allclose(other.transform(table), other.embedding_, atol=1e-6)
    assert [len(rows) for rows in other.embeddings_] == [150, 150]


@BOTH
def test_exchanged_views_give_the_same_map(make):
    _, first, second = curves()
    known = linked()
    turned = Correspondences(known.links[:, [3, 1]], [150, 150])
    one = make().fit([first, second], correspondences=known)
    other = make().fit([second, first], correspondences=turned)
    signs = np.sign(np.sum(one.embeddings_[0] * other.embeddings_[1]))
    for mine, its in zip(one.embeddings_, other.embeddings_[::-1], strict=True):
        np.testing.assert_allclose(its * signs, mine, atol=1e-4)


@BOTH
def test_three_views_in_a_chain(make):
    """The first and the last view share no link of their own."""
    t, first, second = curves()
    third = np.column_stack([np.exp(t), np.cos(2 * t)])
    rows = np.arange(0, 150, 5)
    links = [(0, i, 1, 149 - i) for i in rows] + [(1, 149 - i, 2, i) for i in rows + 2]
    known = Correspondences(links, [150, 150, 150])
    model = make().fit([first, second, third], correspondences=known)
    assert np.mean((model.embeddings_[0] - model.embeddings_[2]) ** 2) < 0.02


@BOTH
@pytest.mark.parametrize("number", [0, 1, 2])
def test_too_few_links_are_told(make, number):
    _, first, second = curves()
    known = Correspondences([(i, 149 - i) for i in range(number)], [150, 150])
    with pytest.raises(SidelightError, match=rf"{number} links? .*2-dim.*at least 3 are needed"):
        make(2).fit([first, second], correspondences=known)


@BOTH
def test_a_view_that_no_other_joins_is_named(make):
    _, first, second = curves()
    known = Correspondences([(0, i, 1, 149 - i) for i in range(0, 150, 5)], [150, 150, 150])
    with pytest.raises(SidelightError, match="View 2 is joined by 0 links"):
        make().fit([first, second, second], correspondences=known)


@BOTH
@pytest.mark.parametrize(
    ("views", "message"),
    [
        ([[0, 1], [1, 2]], "belongs to two views"),
        ([[0], [9]], "names the column 9"),
        ([["a"], [1]], "names the column 'a'"),
    ],
)
def test_wrong_columns_are_told(make, views, message):
    table = curves()[2]
    with pytest.raises(SidelightError, match=message):
        make(views=views).fit(table)


@BOTH
def test_misunderstandings_are_told(make):
    _, first, second = curves()
    with pytest.raises(SidelightError, match="need correspondences="):
        make().fit([first, second])
    with pytest.raises(SidelightError, match="pass a list"):
        make().fit(first, correspondences=linked())
    with pytest.raises(SidelightError, match="View 1 has the shape"):
        make().fit([first, second[:5]], correspondences=linked())
    with pytest.raises(SidelightError, match="about the rows of one table"):
        make().fit([first, second], np.zeros(150), correspondences=linked())
    holes = second.copy()
    holes[3] = np.inf
    with pytest.raises(SidelightError, match="View 1"):
        make().fit([first, holes], correspondences=linked())
    model = make().fit([first, second], correspondences=linked())
    with pytest.raises(SidelightError, match="no view 2"):
        model.transform(first, view=2)
    with pytest.raises(SidelightError, match="View 1 has 3 columns"):
        model.transform(first, view=1)
    with pytest.raises(SidelightError, match="Row 1 has no view"):
        model.transform([[0.0, 1.0, 0.0, 0.0, 0.0], [np.nan] * 5])


@BOTH
def test_maps_beyond_the_links_are_told(make):
    """Only one end of the curve is linked: the other end of each view is an extrapolation."""
    t, first, second = curves()
    order = np.argsort(t)
    rows = order[:12]
    known = Correspondences(np.column_stack([rows, 149 - rows]), [150, 150])
    with pytest.warns(EmbeddingWarning, match="extend .* times as far"):
        make().fit([first, second], correspondences=known)


class TestCharting:
    def test_one_view_is_charting(self):
        X, _ = s_curve(200)
        one = CorrespondenceCharting(2, random_state=0).fit(X)
        other = Charting(2, random_state=0).fit(X)
        np.testing.assert_allclose(one.embedding_, other.embedding_, atol=1e-9)
        np.testing.assert_allclose(one.eigenvalues_, other.eigenvalues_, atol=1e-12)
        assert one.entropy_ == pytest.approx(other.entropy_)

    def test_eigenvalues_are_the_printed_cost(self):
        """E1 + E2 + w Σ ‖g - g'‖² over the variance (Verbeek 2004, 5.77)."""
        _, first, second = curves(seed=1)
        known = linked()
        model = CorrespondenceCharting(1, penalty=3.0, random_state=0)
        model.fit([first, second], correspondences=known)
        cost = 0.0
        for view, rows in enumerate((first, second)):
            resp, local = model._charts[view].coordinates(rows)
            by_chart = model._coefficients[view].reshape(resp.shape[1], -1, 1)
            own = by_chart[:, 0] + np.einsum("nkh,khd->nkd", local, by_chart[:, 1:])
            mean = np.einsum("nk,nkd->nd", resp, own)
            cost += np.sum(resp[:, :, None] * (own - mean[:, None]) ** 2)
        _, i, _, j = known.links.T
        cost += 3.0 * np.sum((model.embeddings_[0][i] - model.embeddings_[1][j]) ** 2)
        assert cost / 300 == pytest.approx(model.eigenvalues_[0], rel=1e-6)
        everything = np.concatenate(model.embeddings_)
        assert everything.mean() == pytest.approx(0.0, abs=1e-8)
        assert everything.var() == pytest.approx(1.0, abs=1e-8)

    def test_heavier_links_draw_rows_nearer(self):
        _, first, second = curves()
        known = linked(every=3)
        _, i, _, j = known.links.T
        apart = []
        for weight in (0.01, 1.0, 1e4):
            model = CorrespondenceCharting(1, penalty=weight, random_state=0)
            model.fit([first, second], correspondences=known)
            apart.append(np.mean((model.embeddings_[0][i] - model.embeddings_[1][j]) ** 2))
        assert apart[0] > apart[1] > apart[2]
        auto = CorrespondenceCharting(1, random_state=0)
        assert auto.fit([first, second], correspondences=known).penalty_ == 300 / 50

    def test_single_missing_values(self):
        t, first, second = curves()
        table, columns = linked().stack([first, second])
        table[::30, 3] = np.nan
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmbeddingWarning)
            model = CorrespondenceCharting(1, views=columns, random_state=0).fit(table)
        assert explained(model.embeddings_[0], t[:, None])[0] > 0.8
        assert np.isfinite(model.transform(table)).all()


# --- what it is made of ---


class TestLLE:
    def test_two_equal_views_are_locally_linear_embedding(self):
        """Fully linked to itself, a view has the map of one, and twice its eigenvalues."""
        X, _ = s_curve(150)
        known = Correspondences.from_ids(range(150), range(150))
        model = CorrespondenceLLE(2).fit([X, X], correspondences=known)
        one = CorrespondenceLLE(2).fit(X)
        peer = LocallyLinearEmbedding(n_neighbors=10, eigen_solver="dense").fit_transform(X)
        for own in (model.embedding_, one.embedding_):
            signs = np.sign(np.sum(own * peer, axis=0))
            np.testing.assert_allclose(own * signs, peer * np.sqrt(150), atol=1e-4)
        np.testing.assert_allclose(model.eigenvalues_, 2 * one.eigenvalues_, rtol=1e-5)

    def test_it_is_the_block_matrix(self):
        """Linked rows first, then those of either view (Verbeek 2004, section 5.3.2)."""
        rng = np.random.default_rng(0)
        first, second = rng.normal(size=(20, 3)), rng.normal(size=(25, 2))
        c = 8
        known = Correspondences([(i, i) for i in range(c)], [20, 25])
        with pytest.warns(EmbeddingWarning, match="extend"):
            model = CorrespondenceLLE(2, n_neighbors=5).fit([first, second], correspondences=known)
        errors = [np.eye(len(X)) - reconstruction_weights(X, 5).toarray() for X in (first, second)]
        A, B = (error.T @ error for error in errors)
        M = np.zeros((37, 37))
        M[:20, :20] = A
        places = np.r_[:c, 20:37]
        M[np.ix_(places, places)] += B
        np.testing.assert_allclose(M @ np.ones(37), 0.0, atol=1e-12)
        np.testing.assert_allclose(model.eigenvalues_, np.linalg.eigvalsh(M)[1:3], rtol=1e-6)
        G = model.embedding_
        np.testing.assert_allclose(M @ G, G * model.eigenvalues_, atol=1e-8)
        np.testing.assert_allclose(G.T @ G / 37, np.eye(2), atol=1e-8)

    def test_linked_rows_have_one_place(self):
        _, first, second = curves()
        known = linked()
        model = CorrespondenceLLE(1).fit([first, second], correspondences=known)
        _, i, _, j = known.links.T
        np.testing.assert_array_equal(model.embeddings_[0][i], model.embeddings_[1][j])

    def test_several_rows_of_one_object(self):
        _, first, second = curves()
        links = [*linked().links[:, [1, 3]].tolist(), (1, 149 - 0), (3, 149 - 2)]
        known = Correspondences(links, [150, 150])
        model = CorrespondenceLLE(1).fit([first, second], correspondences=known)
        assert known.notes
        np.testing.assert_array_equal(model.embeddings_[0][0], model.embeddings_[0][1])

    def test_half_a_view_is_told(self):
        _, first, second = curves()
        table, columns = linked().stack([first, second])
        table[7, 0] = np.nan
        with pytest.raises(SidelightError, match="Row 7 has some values of view 0 but not all"):
            CorrespondenceLLE(1, views=columns).fit(table)

    def test_views_by_name(self):
        pd = pytest.importorskip("pandas")
        _, first, second = curves()
        table, columns = linked().stack([first, second])
        names = ["a", "b", "c", "d", "e"]
        frame = pd.DataFrame(table, columns=names)
        one = CorrespondenceLLE(1, views=[names[:2], names[2:]]).fit(frame)
        other = CorrespondenceLLE(1, views=columns).fit(table)
        np.testing.assert_array_equal(one.embedding_, other.embedding_)
