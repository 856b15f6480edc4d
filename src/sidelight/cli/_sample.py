"""``sidelight sample``: constraints from a column of known classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sidelight._words import counted, set_by
from sidelight.cli._run import claim
from sidelight.cli._screen import Screen, knowledge_text, plain_text
from sidelight.constraints import Constraints
from sidelight.io import read_table

#: Options that are not called as what they set.
OPTIONS = {"n": "-n", "n_teachers": "--teachers"}


def run(
    data_path: Path,
    *,
    label_column: str,
    output: Path,
    n: int | None,
    protocol: str,
    level: float | None,
    fraction: float | None,
    size: int | None,
    teachers: int | None,
    id_column: str | None,
    seed: int,
    spreadsheet_safe: bool,
    force: bool,
    screen: Screen,
) -> None:
    """Draw and write."""
    claim(screen, [data_path], force=force, constraints=output)
    data = read_table(data_path, id_column=id_column, truth_column=label_column, columns=[])
    screen.note(*data.notes)
    given: dict[str, Any] = {"level": level, "fraction": fraction, "size": size}
    with set_by({**{name: f"--{name}" for name in ("protocol", *given)}, **OPTIONS}):
        drawn = Constraints.sample(
            data.truth_codes,
            n,
            protocol=protocol,
            n_teachers=teachers,
            random_state=seed,
            ids=data.ids,
            **given,
        )
    drawn.write(output, spreadsheet_safe=spreadsheet_safe)
    touched = len(drawn.mentioned)
    screen.show(
        f"{knowledge_text(drawn)} on {touched:,} of {counted(data.n_rows, 'row')}",
        f"Written: {plain_text(output)}",
    )
    screen.result(
        {
            "command": "sample",
            "data": str(data_path),
            "protocol": protocol,
            "n_rows": data.n_rows,
            "rows_mentioned": touched,
            "knowledge": drawn.counts,
            "outputs": {"constraints": str(output)},
        }
    )
