"""Generators: sizes, moments and formulas of the specifications."""

from itertools import product

import numpy as np
import pytest
from experiments.recipes.clouds import (
    make_crossing_gaussians,
    make_elongated_gaussians,
    make_gap_clouds,
    make_wide_gaussians,
)
from experiments.recipes.documents import make_two_factor_documents
from experiments.recipes.expression import make_cyclic_expression, make_expression_curves
from experiments.recipes.images import gabor_filter, make_mondrian, make_texture_mosaic
from experiments.recipes.waveform import make_waveform, triangles
from scipy import sparse
from scipy.spatial.distance import pdist

from sidelight.datasets import make_corner_gaussians, make_four_gaussians, make_rings
from sidelight.evaluation import adjusted_rand_index, rand_index

RANDOM = [
    make_corner_gaussians,
    make_crossing_gaussians,
    make_elongated_gaussians,
    make_expression_curves,
    make_four_gaussians,
    make_gap_clouds,
    make_mondrian,
    make_rings,
    make_texture_mosaic,
    make_two_factor_documents,
    make_waveform,
    make_wide_gaussians,
]


def small(generator, **settings):
    sizes = {make_mondrian: {"side": 96, "n_sites": 20}, make_waveform: {"n_samples": 200}}
    return generator(**sizes.get(generator, {}), **settings)


def dense(data):
    return data.toarray() if sparse.issparse(data) else data


@pytest.mark.parametrize("generator", [*RANDOM, make_cyclic_expression])
def test_every_set_has_the_same_shape_of_answer(generator):
    made = generator() if generator is make_cyclic_expression else small(generator, random_state=0)
    n, d = made.data.shape
    assert made.target.shape == (n,)
    assert made.target.dtype == np.int64
    assert len(made.feature_names) == d == len(set(made.feature_names))
    assert set(made.target) == set(range(len(made.target_names)))
    assert np.isfinite(dense(made.data)).all()
    assert f"{n} rows" in repr(made)


@pytest.mark.parametrize("generator", RANDOM)
def test_the_seed_decides(generator):
    first, again, other = (small(generator, random_state=seed) for seed in (3, 3, 4))
    assert np.array_equal(dense(first.data), dense(again.data))
    assert np.array_equal(first.target, again.target)
    assert not np.array_equal(dense(first.data), dense(other.data))


def check_moments(points, mean, variances):
    """Mean and variances within five standard errors."""
    n = len(points)
    variances = np.asarray(variances)
    assert np.all(np.abs(points.mean(axis=0) - mean) < 5 * np.sqrt(variances / n))
    assert np.all(np.abs(points.var(axis=0) - variances) < 5 * variances * np.sqrt(2 / n))


@pytest.mark.parametrize(
    ("generator", "half_width", "half_height", "scale", "size"),
    [
        (make_four_gaussians, 2, 8, 1, 100),
        (make_gap_clouds, 1, 1.5, 0.35, 50),
        (make_corner_gaussians, 1, 1, 0.4, 50),
    ],
)
def test_clouds_in_four_corners(generator, half_width, half_height, scale, size):
    made = generator(random_state=0)
    cloud = made.extras["cloud"]
    assert np.bincount(cloud).tolist() == [size] * 4
    corners = set()
    for number in range(4):
        points = made.data[cloud == number]
        corner = np.sign(points.mean(axis=0))
        corners.add(tuple(corner))
        check_moments(points, corner * [half_width, half_height], [scale**2] * 2)
        assert set(made.target[cloud == number]) == {int(corner[0] > 0)}
    assert corners == set(product((-1.0, 1.0), repeat=2))


@pytest.mark.parametrize("seed", range(5))
def test_four_gaussians_links_join_top_and_bottom_of_one_side(seed):
    made = make_four_gaussians(random_state=seed)
    assert len(made.constraints.cannot_link) == 0
    sides = set()
    for i, j in made.constraints.must_link:
        (xi, yi), (xj, yj) = made.data[[i, j]]
        assert yi * yj < 0
        assert xi * xj > 0
        assert made.target[i] == made.target[j] == (xi > 0)
        sides.add(xi > 0)
    assert sides == {True, False}


def test_obvious_clusters_are_not_the_classes():
    from sklearn.cluster import KMeans

    for generator in (make_four_gaussians, make_gap_clouds):
        made = generator(random_state=0)
        clusters = KMeans(2, n_init=10, random_state=0).fit_predict(made.data)
        assert adjusted_rand_index(made.data[:, 1] > 0, clusters) > 0.9
        assert adjusted_rand_index(made.target, clusters) < 0.1


def test_wide_gaussians():
    made = make_wide_gaussians(random_state=0)
    for number, height in enumerate((-1.5, 1.5)):
        check_moments(made.data[made.extras["component"] == number], [0, height], [9, 0.25])
    assert np.array_equal(made.target, made.data[:, 0] > 0)


def test_crossing_gaussians():
    made = make_crossing_gaussians(random_state=0)
    check_moments(made.data[made.target == 0], [0, 0], [9, 0.1])
    check_moments(made.data[made.target == 1], [0, 0], [0.1, 9])
    assert np.bincount(made.target).tolist() == [500, 500]


def test_elongated_gaussians_lie_side_by_side():
    made = make_elongated_gaussians(n_classes=3, gap=4.0, angle=30.0, random_state=0)
    along = np.array([np.cos(np.pi / 6), np.sin(np.pi / 6)])
    across = np.array([-along[1], along[0]])
    for number in range(3):
        points = made.data[made.target == number]
        rotated = np.column_stack([points @ along, points @ across])
        check_moments(rotated, [0, 4.0 * (number - 1)], [9, 0.1])


def test_rings():
    made = make_rings(500, radii=(1.0, 2.0), noise=0.15, near_distance=None, random_state=0)
    radius = np.linalg.norm(made.data, axis=1)
    for number, expected in enumerate((1.0, 2.0)):
        check_moments(radius[made.target == number, None], [expected], [0.15**2])
    angle = np.arctan2(*made.data.T)
    assert np.abs(np.exp(1j * angle).mean()) < 5 / np.sqrt(1000)


def test_rings_are_scaled_to_the_width_of_the_kernel():
    made = make_rings(random_state=0)
    assert np.percentile(pdist(made.data), 20) == pytest.approx(0.2)
    radius = np.linalg.norm(made.data, axis=1)
    ratio = np.median(radius[made.target == 1]) / np.median(radius[made.target == 0])
    assert ratio == pytest.approx(2, rel=0.05)


class TestWaveform:
    def test_base_waves(self):
        h = triangles()
        place = np.arange(1, 22)
        assert h[0].tolist() == [max(6 - abs(i - 11), 0) for i in place]
        # h2(i) = h1(i - 4), h3(i) = h1(i + 4)
        assert np.array_equal(h[1, 4:], h[0, :-4])
        assert np.array_equal(h[2, :-4], h[0, 4:])
        assert h[1, 14] == h[2, 6] == h[0, 10] == 6

    def test_moments_of_the_classes(self):
        """E x = (h_a + h_b) / 2; Var x = (h_a - h_b)^2 / 12 + 1."""
        made = make_waveform(30_000, random_state=0)
        h = triangles()
        for number, (a, b) in enumerate(((0, 1), (0, 2), (1, 2))):
            points = made.data[made.target == number]
            assert len(points) == pytest.approx(10_000, abs=500)
            assert np.abs(points.mean(axis=0) - (h[a] + h[b]) / 2).max() < 0.08
            assert np.abs(points.var(axis=0) - (h[a] - h[b]) ** 2 / 12 - 1).max() < 0.15

    def test_without_noise_rows_are_mixtures_of_two_waves(self):
        made = make_waveform(100, noise=0.0, random_state=0)
        h = triangles()
        for row, number in zip(made.data, made.target, strict=True):
            a, b = ((0, 1), (0, 2), (1, 2))[number]
            weights, residual, *_ = np.linalg.lstsq(h[[a, b]].T, row, rcond=None)
            assert residual == pytest.approx(0, abs=1e-18)
            assert weights.sum() == pytest.approx(1)
            assert 0 <= weights[0] <= 1


class TestDocuments:
    def test_shares_of_the_lists(self):
        made = make_two_factor_documents(2000, random_state=0)
        counts = made.data.toarray()
        names = np.array(made.feature_names)
        length = counts.sum(axis=1)
        assert length.mean() == pytest.approx(80, abs=1)
        assert length.var() > 60
        for factor, target, words in (
            (("aviation", "autos"), made.target, made.target_names),
            (("real", "simulator"), made.extras["mode"], made.extras["mode_names"]),
        ):
            assert words == factor
            for number, word in enumerate(factor):
                listed = np.array([name.startswith(word) for name in names])
                assert listed.sum() == 40
                inside = counts[target == number][:, listed].sum() / length[target == number].sum()
                outside = counts[target != number][:, listed].sum() / length[target != number].sum()
                # Besides the list itself, its words may occur in the background.
                assert inside - outside == pytest.approx(0.1, abs=0.01)

    def test_the_two_targets_are_orthogonal(self):
        made = make_two_factor_documents(400, random_state=0)
        assert np.bincount(2 * made.target + made.extras["mode"]).tolist() == [100] * 4
        assert adjusted_rand_index(made.target, made.extras["mode"]) < 0.01


class TestPictures:
    def test_mosaic_blocks_are_the_picture(self):
        made = make_texture_mosaic(6, block=7, random_state=0)
        image = made.extras["image"]
        assert image.shape == (42, 42)
        assert np.array_equal(made.data[6 * 2 + 5].reshape(7, 7), image[14:21, 35:42])
        quadrant = made.target.reshape(6, 6)
        assert [
            set(quadrant[r, c].ravel()) for r, c in product((slice(3), slice(3, 6)), repeat=2)
        ] == [
            {0},
            {1},
            {2},
            {3},
        ]

    def test_mosaic_neighbors(self):
        made = make_texture_mosaic(6, random_state=0)
        i, j = made.extras["neighbors"].T
        step = {tuple(pair) for pair in np.abs(np.array(np.divmod(i, 6)) - np.divmod(j, 6)).T}
        assert step == {(0, 1), (1, 0)}
        assert len(i) == 2 * 6 * 5
        assert made.extras["q"] == np.mean(made.target[i] != made.target[j]) == 12 / 60

    def test_mosaic_without_noise_is_stripes(self):
        made = make_texture_mosaic(4, wavelength=4.0, noise=0.0, random_state=0)
        quarter = made.extras["image"][:14, :14]
        assert np.allclose(quarter[:, :-4], quarter[:, 4:])
        assert np.allclose(quarter[:-1], quarter[1:])

    def test_mosaic_needs_an_even_number_of_blocks(self):
        with pytest.raises(ValueError, match="even"):
            make_texture_mosaic(5)

    def test_mondrian_features(self):
        made = make_mondrian(random_state=0)
        assert made.data.shape == (101 * 101, 24)
        histogram, gabor = made.data[:, :12], made.data[:, 12:]
        assert np.allclose(histogram.sum(axis=1), 1)
        assert np.all(gabor >= 0)
        # The strongest filter of each texture is the one of its own direction and wavelength.
        texture = {1: "gabor 90 deg / 8 px", 3: "gabor 0 deg / 4 px"}
        for number, name in texture.items():
            strongest = gabor[made.target == number].mean(axis=0).argmax()
            assert made.feature_names[12 + strongest] == name
        assert np.bincount(made.target).min() > 1000

    def test_mondrian_can_be_told_apart(self):
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

        made = make_mondrian(192, n_sites=30, random_state=0)
        model = LinearDiscriminantAnalysis().fit(made.data, made.target)
        assert model.score(made.data, made.target) > 0.9

    def test_mondrian_sizes_must_fit(self):
        with pytest.raises(ValueError, match="do not fit"):
            make_mondrian(8, window=12)

    def test_gabor_filters_ignore_flat_grey(self):
        for wavelength, angle in product((2.0, 4.0, 8.0), (0.0, 45.0, 90.0, 135.0)):
            assert abs(gabor_filter(wavelength, angle).sum()) < 1e-12


class TestExpression:
    def test_cyclic_matrix(self):
        made = make_cyclic_expression()
        for gene in range(20):
            start = round(5.25 * gene)
            on = {(start + step) % 105 for step in range(39)}
            assert set(np.flatnonzero(made.data[:, gene])) == on

    def test_the_two_partitions_of_the_cycle(self):
        made = make_cyclic_expression()
        rotated = made.extras["rotated"]
        assert np.bincount(made.target).tolist() == np.bincount(rotated).tolist() == [35, 35, 35]
        # Objects 22 to 35 move; the last 14 join the first period.
        moved = np.flatnonzero(made.target != rotated) + 1
        assert moved.tolist() == [*range(22, 36), *range(57, 71), *range(92, 106)]
        assert rotated[0] == rotated[104] == 0
        assert rand_index(made.target, rotated) < 0.8
        assert len(set(made.extras["gene_target"])) == 3

    def test_number_of_concepts_of_the_stand_in(self):
        """The specification counts 160 non-trivial formal concepts for width 39."""
        on = make_cyclic_expression().data.astype(bool)
        # Every concept's set of properties is an intersection of rows: close under intersection.
        closed = {frozenset(np.flatnonzero(row)) for row in on}
        frontier = set(closed)
        while frontier:
            frontier = {a & b for a in frontier for b in closed} - closed
            closed |= frontier
        with_objects = [genes for genes in closed if on[:, list(genes)].all(axis=1).any()]
        assert sum(len(genes) > 0 for genes in with_objects) == 160

    def test_width_must_fit(self):
        with pytest.raises(ValueError, match="width"):
            make_cyclic_expression(10, width=11)

    def test_curves_are_thresholded_by_gene(self):
        made = make_expression_curves(threshold=0.35, random_state=0)
        expression = made.extras["expression"]
        for gene in range(0, 300, 50):
            level = 0.35 * expression[:, gene].max()
            assert np.array_equal(made.data[:, gene], expression[:, gene] > level)
        assert np.array_equal(made.target, np.repeat([0, 1, 2], 15))
        assert np.array_equal(made.extras["gene_target"], made.extras["peak"] // 15)

    def test_curves_drop_out(self):
        lost = make_expression_curves(dropout=1.0, random_state=0)
        assert not lost.data.any()
        sure = make_expression_curves(dropout=0.0, noise=0.0, random_state=0)
        assert np.all(sure.extras["expression"].argmax(axis=0) - sure.extras["peak"].round() <= 1)
