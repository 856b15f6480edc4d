"""Run scikit-learn's own tests on our methods, and compare failures with the known differences.

``expected.csv`` holds the known differences, each with its reason. A test that fails and is not
there, or is there and passes, is told, and the run ends with 1: either we changed, or the peer did.
``--update`` writes the file anew; new rows have the reason ``?`` where no rule of ``REASONS`` fits.
"""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import sklearn

HERE = Path(__file__).parent
EXPECTED = HERE / "expected.csv"
#: The release that ``expected.csv`` is about.
RELEASE = "1.9"
SUITES = (
    "cluster.tests.test_k_means",
    "cluster.tests.test_hierarchical",
    "cluster.tests.test_spectral",
    "mixture.tests.test_gaussian_mixture",
    "manifold.tests.test_isomap",
    "manifold.tests.test_locally_linear",
    "manifold.tests.test_spectral_embedding",
    "decomposition.tests.test_kernel_pca",
    "semi_supervised.tests.test_label_propagation",
    "semi_supervised.tests.test_self_training",
    "metrics.cluster.tests.test_supervised",
)
#: Reasons by what a failure says; the first that fits.
REASONS = (
    (r"unexpected keyword argument '(\w+)'", "no parameter {}"),
    (r"Invalid parameter '(\w+)'", "no parameter {}"),
    (r"has no attribute '(\w+)'", "no attribute {}"),
    (r"DID NOT RAISE", "accepted here"),
    (r"DID NOT WARN", "no such warning here"),
    (r"Regex pattern did not match", "said in other words"),
    (r"InvalidParameter: (\w+) ", "{} takes other values"),
)


def run(suite: str) -> dict[str, str]:
    """Return what each test of a suite ended with: nothing, or the failure."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "outcomes.json"
        root = str(HERE.parents[1])
        environment = os.environ | {
            "PEER_OUTCOMES": str(told),
            "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")]),
        }
        options = ["-q", "-p", "tests.peers.shim", "-p", "no:cacheprovider", "-W", "ignore"]
        command = [sys.executable, "-m", "pytest", *options, "--pyargs", f"sklearn.{suite}"]
        finished = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True
        )
        if not told.exists():
            raise SystemExit(f"{suite} did not run:\n{finished.stdout[-2000:]}{finished.stderr}")
        found: dict[str, str] = json.loads(told.read_text(encoding="utf-8"))
        return found


def function_of(test: str) -> str:
    """Return the name of a test without its parameters."""
    return test.partition("[")[0]


def failing(outcomes: dict[str, str]) -> dict[str, str]:
    """Return the failures, one for all parameters of a test where all of them fail."""
    by_function = defaultdict(list)
    for test, failure in outcomes.items():
        by_function[function_of(test)].append((test, failure))
    found = {}
    for function, ended in by_function.items():
        if all(failure for _, failure in ended):
            found[function] = ended[0][1]
        else:
            found |= {test: failure for test, failure in ended if failure}
    return found


def reason(failure: str) -> str:
    """Return why a test fails, as far as its failure says."""
    for pattern, text in REASONS:
        if match := re.search(pattern, failure):
            return text.format(*match.groups())
    return "?"


def expected() -> dict[tuple[str, str], str]:
    """Return the known differences: reasons by suite and test."""
    with EXPECTED.open(encoding="utf-8", newline="") as file:
        return {(row["suite"], row["test"]): row["reason"] for row in csv.DictReader(file)}


def write(rows: dict[tuple[str, str], str]) -> None:
    """Write the known differences."""
    with EXPECTED.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("suite", "test", "reason"))
        writer.writerows((*key, why) for key, why in rows.items())


def main(arguments: list[str]) -> int:
    """Run all suites, or those that are named, and tell what is not as expected."""
    update = "--update" in arguments
    chosen = [suite for suite in SUITES if suite in arguments] or list(SUITES)
    known = expected() if EXPECTED.exists() else {}
    if not sklearn.__version__.startswith(RELEASE):
        print(f"Known differences are those from {RELEASE}; this is {sklearn.__version__}.")
    rows = {key: why for key, why in known.items() if key[0] not in chosen}
    surprises, n_run, n_passed = [], 0, 0
    for suite in chosen:
        outcomes = run(suite)
        passed = sum(not failure for failure in outcomes.values())
        n_run, n_passed = n_run + len(outcomes), n_passed + passed
        print(f"{suite:<50} {passed:>4} of {len(outcomes):>4} pass", flush=True)
        found = failing(outcomes)
        for test, failure in sorted(found.items()):
            rows[suite, test] = known.get((suite, test)) or reason(failure)
            if (suite, test) not in known:
                surprises.append(f"{suite}::{test} fails: {failure.splitlines()[0]}")
        gone = [test for place, test in known if place == suite and test not in found]
        surprises += [f"{suite}::{test} does not fail any more" for test in gone]
    print(f"{'together':<50} {n_passed:>4} of {n_run:>4} pass")
    if update:
        write(rows)
        return 0
    print("\n".join(surprises) or "All as expected.")
    return bool(surprises)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
