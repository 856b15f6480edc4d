"""Answers that grow and shrink, against the closure of what is left, computed anew."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidelight import Constraints
from sidelight.active import Answers
from sidelight.exceptions import InconsistentConstraints, SidelightError, UnknownIds

N = 7
ROW = st.integers(0, N - 1)
PAIR = st.tuples(ROW, ROW).filter(lambda pair: pair[0] != pair[1])
STEP = st.one_of(
    st.tuples(st.just("add"), PAIR, st.booleans()),
    st.tuples(st.just("add"), PAIR, st.booleans()),
    st.tuples(st.just("infer"), PAIR, st.booleans()),
    st.tuples(st.just("skip"), PAIR, st.none()),
    st.tuples(st.just("undo"), st.none(), st.none()),
)


def together_and_apart(links, known: Constraints | None = None):
    """Reachability by powers of the matrix of links; apart through it."""
    same, other = np.eye(N, dtype=bool), np.zeros((N, N), bool)
    if known is not None:
        links = [
            *links,
            *((i, j, True) for i, j in known.closure().must_link_pairs()),
            *((i, j, False) for i, j in known.closure().cannot_link_pairs()),
        ]
    for i, j, together in links:
        (same if together else other)[[i, j], [j, i]] = True
    for _ in range(N):
        same = same @ same
    return same, same @ other @ same


def truth_of(links, known=None):
    same, apart = together_and_apart(links, known)
    return np.where(same, 1, np.where(apart, -1, 0))


def told_by(answers):
    code = {True: 1, False: -1, None: 0}
    return np.array([[code[answers.entailed(i, j)] for j in range(N)] for i in range(N)])


def links_of(entries):
    return [(i, j, same) for i, j, same, _ in entries if same is not None]


def play(answers, steps, known=None):
    """Do the steps; what remains said is kept in a plain list beside it."""
    said: list[tuple[int, int, bool | None, bool]] = []
    for do, pair, same in steps:
        if do == "undo":
            undone = answers.undo()
            while said and said[-1][3] and undone is not None:
                said.pop()
            expected = said.pop() if undone is not None else None
            assert undone is None or (undone.i, undone.j, undone.same, False) == expected
            assert undone is not None or all(entry[3] for entry in said)
        elif do == "skip":
            answers.skip(*pair)
            said.append((*pair, None, False))
        else:
            before = truth_of(links_of(said), known)[pair]
            if before == (-1 if same else 1):
                with pytest.raises(InconsistentConstraints):
                    answers.add(*pair, same)
            else:
                answers.add(*pair, same, inferred=do == "infer")
                said.append((*pair, same, do == "infer"))
        yield said


@given(st.lists(STEP, max_size=25))
def test_what_follows_is_the_closure_of_what_was_said_at_every_moment(steps):
    answers = Answers(N)
    for said in play(answers, steps):
        truth = truth_of(links_of(said))
        np.testing.assert_array_equal(told_by(answers), truth)
        upper = truth[np.triu_indices(N, k=1)]
        assert answers.n_open == np.count_nonzero(upper == 0)
        component = answers.components()
        np.testing.assert_array_equal(component[:, None] == component, truth == 1)
        given_links = [entry for entry in said if entry[2] is not None and not entry[3]]
        assert answers.n_answers == len(given_links)
        assert answers.n_skipped == sum(entry[2] is None for entry in said)
        skipped = {frozenset(entry[:2]) for entry in said if entry[2] is None}
        assert all(answers.was_skipped(*pair) for pair in skipped)


@given(st.lists(STEP, max_size=20))
def test_constraints_are_valid_at_every_moment(steps):
    answers = Answers(N)
    for said in play(answers, steps):
        links = links_of(said)
        expected = Constraints(
            [(i, j) for i, j, same in links if same],
            [(i, j) for i, j, same in links if not same],
            n_samples=N,
        )
        assert answers.constraints == expected
        assert answers.constraints.contradiction() is None


@given(st.lists(STEP, max_size=15), st.lists(st.sampled_from([-1, 0, 1]), min_size=N, max_size=N))
def test_prior_knowledge_counts_like_answers_that_nobody_can_undo(steps, labels):
    known = Constraints(labels=labels, groups=[0, 0, *[-1] * (N - 2)], n_samples=N)
    if known.contradiction() is not None:
        with pytest.raises(InconsistentConstraints):
            Answers(known=known)
        return
    answers = Answers(known=known)
    for said in play(answers, steps, known):
        np.testing.assert_array_equal(told_by(answers), truth_of(links_of(said), known))
    while answers.undo() is not None:
        pass
    assert answers.n_saved >= 0
    assert answers.constraints - known == Constraints(n_samples=N) or any(
        entry.inferred for entry in answers
    )


@given(st.lists(STEP, max_size=25))
def test_the_chain_leads_from_one_row_to_the_other_by_what_was_said(steps):
    answers = Answers(N)
    said: list = []
    for remaining in play(answers, steps):
        said = remaining
    stated = {(frozenset((i, j)), same) for i, j, same in links_of(said)}
    for i in range(N):
        for j in range(i):
            chain = answers.chain(i, j)
            follows = answers.entailed(i, j)
            assert bool(chain) == (follows is not None)
            if not chain:
                continue
            assert (chain[0].i, chain[-1].j) == (i, j)
            assert all(a.j == b.i for a, b in pairwise(chain))
            assert all((frozenset((link.i, link.j)), link.same) in stated for link in chain)
            assert sum(not link.same for link in chain) == (0 if follows else 1)


def test_a_contradiction_is_refused_with_its_chain_by_ids_and_changes_nothing(tmp_path):
    path = tmp_path / "answers.jsonl"
    with Answers.open(path, ["ann", "bob", "cid", "dan"]) as answers:
        answers.add(0, 1, True)
        answers.skip(0, 3)
        answers.add(1, 2, True)
        before = (path.read_bytes(), answers.revision, answers.entries)
        with pytest.raises(InconsistentConstraints) as caught:
            answers.add(2, 0, False)
        assert (path.read_bytes(), answers.revision, answers.entries) == before
    assert caught.value.pair == (2, 0)
    assert caught.value.chain == (2, 1, 0)
    message = str(caught.value)
    assert message.startswith("'cid' and 'ann' cannot be different: ")
    assert "'cid' is the same as 'bob' (answer 2), 'bob' is the same as 'ann' (answer 1)" in message


def test_the_shortest_chain_is_shown():
    answers = Answers(6)
    for i in range(5):
        answers.add(i, i + 1, True)
    answers.add(0, 4, True)  # follows, and is a short cut
    assert [(link.i, link.j, link.source) for link in answers.chain(0, 5)] == [
        (0, 4, "answer 6"),
        (4, 5, "answer 5"),
    ]


def test_the_source_of_a_link_is_told():
    answers = Answers(known=Constraints([(0, 1)], n_samples=5))
    answers.add(1, 2, True, inferred=True)
    answers.add(2, 3, False)
    sources = [link.source for link in answers.chain(0, 3)]
    assert sources == ["known before", "number of clusters", "answer 1"]


def test_undo_takes_back_what_was_inferred_since():
    answers = Answers(4)
    answers.add(0, 1, False)
    answers.add(0, 2, True, inferred=True)
    answers.add(0, 3, True, inferred=True)
    assert answers.undo().j == 1
    assert len(answers) == 0
    assert answers.undo() is None


def test_saved_questions_are_the_pairs_that_follow():
    answers = Answers(5)
    answers.add(0, 1, True)
    answers.add(1, 2, True)  # 0-2 follows
    answers.add(2, 3, False)  # 0-3 and 1-3 follow
    assert (answers.n_answers, answers.n_saved) == (3, 3)
    answers.add(0, 2, True)  # said although it follows: it saved nothing, and cost nothing
    assert (answers.n_answers, answers.n_saved) == (4, 3)


@pytest.mark.parametrize("pair", [(0, 9), (-1, 0)])
def test_rows_that_do_not_exist_are_refused(pair):
    with pytest.raises(UnknownIds, match="There is no row"):
        Answers(5).add(*pair, True)


def test_a_row_is_not_compared_with_itself():
    with pytest.raises(SidelightError, match="'b' is named twice"):
        Answers(ids=["a", "b"]).add(1, 1, True)


def test_large_knowledge_is_followed_quickly():
    rng = np.random.default_rng(0)
    n = 200_000
    labels = np.where(rng.random(n) < 0.1, rng.integers(0, 5, n), -1)
    answers = Answers(known=Constraints(labels=labels, n_samples=n))
    labeled = np.flatnonzero(labels >= 0)
    for row in range(2000):
        other = int(labeled[row])
        if labels[row] < 0 and answers.entailed(row, other) is None:
            answers.add(row, other, True)
            alike = bool(labels[other] == labels[labeled[0]])
            assert answers.entailed(row, int(labeled[0])) is alike


# ------------------------------------------------------------------ the file


@settings(max_examples=30)
@given(st.lists(STEP, max_size=20))
def test_reading_the_file_gives_the_same_answers(tmp_path_factory, steps):
    path = tmp_path_factory.mktemp("answers") / "answers.jsonl"
    with Answers.open(path, n_samples=N) as answers:
        for _ in play(answers, steps):
            pass
    with Answers.open(path, n_samples=N) as again:
        assert again.entries == answers.entries
        assert again.constraints == answers.constraints
        np.testing.assert_array_equal(told_by(again), told_by(answers))
        assert again.n_saved == answers.n_saved


def test_a_file_cut_off_anywhere_loses_only_what_was_not_written_completely(tmp_path):
    path = tmp_path / "answers.jsonl"
    ids = ["ann", "böb", "cid", "dan", "eve"]
    with Answers.open(path, ids) as answers:
        for i, j in [(0, 1), (1, 2), (3, 4)]:
            answers.add(i, j, True)
        answers.undo()
        answers.skip(0, 4)
    content = path.read_bytes()
    ends = [at for at in range(len(content) + 1) if b"\n" in content[at - 1 : at + 2]]
    for cut in sorted({*range(0, len(content), 7), *ends, len(content)}):
        path.write_bytes(content[:cut])
        # A line counts when all of it but its end is there.
        complete = sum(
            1 for at in range(1, len(content) + 1) if content[at - 1 : at] == b"}" and at <= cut
        )
        with Answers.open(path, ids) as again:
            expected = [0, 0, 1, 2, 3, 2, 3][complete]
            assert len(again) == expected, cut
            again.add(2, 4, False)  # and the file can be continued
        lines = path.read_text(encoding="utf-8").splitlines()
        assert len([json.loads(line) for line in lines]) == max(complete, 1) + 1


def test_ids_in_the_file_survive_another_order_of_the_rows(tmp_path):
    path = tmp_path / "answers.jsonl"
    with Answers.open(path, [30, 10, 20]) as answers:
        answers.add(0, 2, True)
    with Answers.open(path, [20, 30, 10]) as again:
        assert again.entailed(0, 1) is True
        assert again.entailed(0, 2) is None


def test_ids_that_a_file_cannot_hold_are_refused_before_anything_changes(tmp_path):
    with Answers.open(tmp_path / "a.jsonl", [("a", 1), ("a", 2), ("b", 1)]) as answers:
        with pytest.raises(SidelightError, match="words or numbers"):
            answers.add(0, 1, True)
        assert answers.entailed(0, 1) is None


def test_two_at_once_are_refused(tmp_path):
    with (
        Answers.open(tmp_path / "a.jsonl", n_samples=3),
        pytest.raises(SidelightError, match="is in use"),
    ):
        Answers.open(tmp_path / "a.jsonl", n_samples=3)
    Answers.open(tmp_path / "a.jsonl", n_samples=3).close()


@pytest.mark.parametrize(
    ("line", "trouble"),
    [
        ("nonsense", "Line 3 of .* is damaged"),
        ('{"do": "answer", "i": "ann", "same": true}', "'j' is missing"),
        ('{"do": "answer", "i": "ann", "j": "zoe", "same": true}', "'zoe'"),
        ('{"do": "answer", "i": "ann", "j": "bob", "same": false}', "Line 3 .* cannot be differ"),
    ],
)
def test_a_damaged_file_is_named_with_its_line(tmp_path, line, trouble):
    path = tmp_path / "answers.jsonl"
    ids = ["ann", "bob", "cid"]
    with Answers.open(path, ids) as answers:
        answers.add(0, 1, True)
    with path.open("a") as file:
        file.write(f'{line}\n{{"do": "undo"}}\n')
    with pytest.raises(SidelightError, match=trouble):
        Answers.open(path, ids)
    path.write_text(path.read_text().replace(line, '{"do": "skip", "i": "ann", "j": "cid"}'))
    with Answers.open(path, ids) as again:  # the lock is gone with the error
        assert len(again) == 1


def test_a_file_that_is_refused_is_left_as_it_is(tmp_path):
    path = tmp_path / "answers.jsonl"
    with Answers.open(path, ["ann", "bob", "cid"]) as answers:
        answers.add(0, 1, True)
    whole = path.read_bytes()
    for second in (b"nonsense\n", b'{"do": "skip", "i": "ann", "j": "zoe"}\n'):
        damaged = whole + second + b'{"do": "answer", "i": "b'
        path.write_bytes(damaged)
        with pytest.raises(SidelightError, match="Line 3"):
            Answers.open(path, ["ann", "bob", "cid"])
        assert path.read_bytes() == damaged
    # Neither does opening alone cut off what is torn; the next line does.
    path.write_bytes(whole + b'{"do": "answer", "i": "b')
    with Answers.open(path, ["ann", "bob", "cid"]) as answers:
        assert path.read_bytes() == whole + b'{"do": "answer", "i": "b'
        answers.add(1, 2, False)
    assert path.read_bytes().startswith(whole + b'{"do": "answer", "i": "bob"')
    with Answers.open(path, ["ann", "bob", "cid"]) as again:
        assert again.entailed(0, 2) is False


def test_no_room_for_the_first_line_leaves_no_file(tmp_path, monkeypatch):
    def full(handle, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.write", full)
    with pytest.raises(OSError, match="No space left"):
        Answers.open(tmp_path / "answers.jsonl", n_samples=3)
    assert list(tmp_path.iterdir()) == []


def test_files_about_other_rows_are_refused(tmp_path):
    path = tmp_path / "answers.jsonl"
    Answers.open(path, n_samples=3).close()
    with pytest.raises(SidelightError, match="about 3 rows without ids, but there are 4"):
        Answers.open(path, n_samples=4)
    with pytest.raises(SidelightError, match="names rows by their positions"):
        Answers.open(path, ["a", "b", "c"])
    path.write_text("i,j,kind\n")
    with pytest.raises(SidelightError, match="is damaged"):
        Answers.open(path, n_samples=3)
    path.write_text('{"rows": 3}\n')
    with pytest.raises(SidelightError, match="not a file of answers"):
        Answers.open(path, n_samples=3)


def test_a_full_disk_refuses_the_answer_and_leaves_the_file_whole(tmp_path, monkeypatch):
    path = tmp_path / "answers.jsonl"
    with Answers.open(path, n_samples=3) as answers:
        answers.add(0, 1, True)
        before = path.read_bytes()

        def full(handle):
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr("os.fsync", full)
            with pytest.raises(OSError, match="No space left"):
                answers.add(1, 2, True)
        assert path.read_bytes() == before
        assert answers.entailed(1, 2) is None
        answers.add(1, 2, False)
    with Answers.open(path, n_samples=3) as again:
        assert again.entailed(0, 2) is False
