"""The bundled example: the files are what the generator makes, and the story is true."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from sidelight.datasets import example_paths, load_example
from sidelight.datasets._example import links_csv, orchard_csv
from sidelight.evaluation import adjusted_rand_index, constraint_satisfaction


def test_bundled_files_are_what_the_generator_makes():
    data, links = example_paths()
    assert data.read_text() == orchard_csv()
    assert links.read_text() == links_csv()


def test_contents():
    orchard, tasting = load_example()
    assert orchard.data.shape == (240, 6)
    assert np.bincount(orchard.target).tolist() == [100, 40, 100]
    assert len(set(orchard.ids)) == 240
    assert {name[0] for name in orchard.ids} == {"H", "R"}
    assert tasting.n_samples == 240
    assert (len(tasting.must_link), len(tasting.cannot_link)) == (29, 13)
    assert set(tasting.cannot_link_weight) == {0.5, 1.0}


def test_the_taster_is_right_and_knows_both_orchards():
    orchard, tasting = load_example()
    assert constraint_satisfaction(tasting, orchard.target) == 1
    tasting.closure()
    grown = np.array([name[0] for name in orchard.ids])
    across = grown[tasting.must_link[:, 0]] != grown[tasting.must_link[:, 1]]
    assert across.sum() == 7 + 2 + 7


@pytest.mark.parametrize("standardize", [False, True])
def test_measurements_alone_find_the_orchards(standardize):
    orchard, tasting = load_example()
    X = orchard.data
    X = (X - X.mean(axis=0)) / X.std(axis=0) if standardize else X
    labels = KMeans(3, n_init=20, random_state=0).fit_predict(X)
    assert adjusted_rand_index(orchard.target, labels) < 0.5
    assert constraint_satisfaction(tasting, labels) < 0.9
    # What they find of the two varieties that are alike is where the apples grew.
    alike = orchard.target != orchard.target_names.index("Crimson")
    grown = np.array([name[0] for name in orchard.ids])
    assert adjusted_rand_index(grown[alike], labels[alike]) > 0.9


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("method", ["PCKMeans", "COPKMeans"])
def test_links_bring_the_varieties_out(method, standardize):
    import sidelight.cluster

    orchard, tasting = load_example()
    X = orchard.data
    X = (X - X.mean(axis=0)) / X.std(axis=0) if standardize else X
    model = getattr(sidelight.cluster, method)(n_clusters=3, random_state=0)
    labels = model.fit(X, constraints=tasting).labels_
    assert adjusted_rand_index(orchard.target, labels) > 0.9
