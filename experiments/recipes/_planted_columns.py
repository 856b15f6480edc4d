"""How each mixed table is drawn: what its groups, and what the other split, do to its columns.

Everything is made up. A recipe adds columns in the order of the table; every number in a tuple
belongs to a group, and ``other`` is what is added to it in the second half of the other split.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray

DAY = np.timedelta64(1, "D")

Odds: TypeAlias = Sequence[Sequence[float]] | Array


@dataclass
class Draw:
    """Columns under way, for rows whose groups are drawn already."""

    rng: np.random.RandomState
    group: IntArray
    nuisance: IntArray
    columns: dict[str, Array] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    levels: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def n(self) -> int:
        return len(self.group)

    def add(self, name: str, kind: str, values: Array) -> None:
        self.columns[name], self.kinds[name] = values, kind

    def normal(
        self, means: Sequence[float], spread: float, *, other: float = 0.0, digits: int = 1
    ) -> FloatArray:
        """Gaussian numbers, rounded as an instrument would."""
        middle = np.asarray(means, dtype=float)[self.group] + other * self.nuisance
        values: FloatArray = np.round(middle + spread * self.rng.standard_normal(self.n), digits)
        return values

    def amount(
        self, medians: Sequence[float], spread: float, *, factor: float = 1.0, digits: int = 2
    ) -> FloatArray:
        """Log-normal amounts; ``factor`` is that of the second half of the other split."""
        middle = np.log(np.asarray(medians, dtype=float))[self.group]
        middle += np.log(factor) * self.nuisance
        values: FloatArray = np.exp(middle + spread * self.rng.standard_normal(self.n))
        return np.round(values, digits)

    def one_of(
        self,
        levels: Sequence[str],
        odds: Sequence[Sequence[float]] | Array,
        by: IntArray | None = None,
    ) -> Array:
        """One word per row; ``odds`` of the levels are given for every group."""
        shares = np.asarray(odds, dtype=float)
        bounds = np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1)
        mine = bounds[self.group if by is None else by]
        # The last bound may be below 1 by rounding.
        which = np.sum(self.rng.uniform(size=(self.n, 1)) > mine[:, :-1], axis=1)
        return np.array(levels, dtype=object)[which]

    def yes_no(self, chances: Sequence[float], words: tuple[str, str] = ("no", "yes")) -> Array:
        return self.one_of(words, [(1 - chance, chance) for chance in chances])

    def ordered(
        self, name: str, levels: Sequence[str], means: Sequence[float], spread: float
    ) -> None:
        """Add a column of levels in order; ``means`` are positions among them."""
        place = np.asarray(means)[self.group] + spread * self.rng.standard_normal(self.n)
        which = np.clip(np.round(place), 0, len(levels) - 1).astype(int)
        self.add(name, "ordered", np.array(levels, dtype=object)[which])
        self.levels[name] = tuple(levels)

    def moments(self, days: Array, hours: FloatArray, start: str) -> Array:
        """Dates with times, from days after the start and hours of the day."""
        minutes = np.round((days * 24 + hours % 24) * 60).astype("timedelta64[m]")
        return (np.datetime64(start, "m") + minutes).astype("datetime64[s]")

    def lose(self, name: str, share: float) -> None:
        """Let values of a column be missing at random."""
        values = self.columns[name]
        gone = self.rng.uniform(size=self.n) < share
        if values.dtype.kind == "i":
            values = values.astype(float)
        empty = {"M": np.datetime64("NaT"), "f": np.nan}.get(values.dtype.kind, "")
        self.columns[name] = np.where(gone, np.array(empty, dtype=values.dtype), values)


def customers(draw: Draw) -> None:
    markets = ("Germany", "France", "Austria", "Poland", "Czechia", "Hungary")
    odds: Odds = ((5, 4, 2, 0.2, 0.2, 0.1), (0.3, 0.2, 0.2, 5, 3, 2))
    draw.add("country", "category", draw.one_of(markets, odds, by=draw.nuisance))
    draw.add("income_eur", "number", draw.amount((26e3, 34e3, 47e3), 0.35, factor=0.4, digits=0))
    draw.add("age", "number", draw.normal((31, 42, 50), 7, digits=0))
    draw.add("visits_per_month", "number", draw.amount((6, 3, 1.5), 0.5, digits=1))
    draw.add("basket_eur", "number", draw.amount((18, 65, 110), 0.5, factor=0.6))
    signup = draw.normal((700, 1500, 1100), 300, other=900)
    days = np.clip(signup, 0, 3500).astype(int) * DAY
    draw.add("signup", "date", np.datetime64("2015-01-01") + days)
    draw.add("newsletter", "yes-no", draw.yes_no((0.8, 0.5, 0.15)))
    channels = ("web", "shop", "app", "phone")
    odds = ((3, 1, 6, 0.3), (3, 6, 1, 1), (6, 1, 2, 2))
    draw.add("channel", "category", draw.one_of(channels, odds))
    draw.add("children", "number", draw.rng.poisson(np.array((0.3, 2.0, 0.8))[draw.group]))
    draw.add("currency", "constant", np.full(draw.n, "EUR", dtype=object))
    for name, share in {"income_eur": 0.12, "age": 0.05, "channel": 0.06, "signup": 0.04}.items():
        draw.lose(name, share)


def patients(draw: Draw) -> None:
    draw.add("age", "number", draw.normal((50, 58), 9, digits=0))
    draw.add("sex", "yes-no", draw.one_of(("f", "m"), ((5, 5), (3, 7))))
    draw.add("pressure_mmhg", "number", draw.normal((127, 139), 14, digits=0))
    draw.add("cholesterol_mg_dl", "number", draw.normal((228, 256), 45, digits=0))
    draw.add("max_heart_rate", "number", draw.normal((160, 136), 18, digits=0))
    draw.add("st_depression_mm", "number", draw.amount((0.4, 1.7), 0.7))
    pain = ("non-anginal", "atypical", "typical", "asymptomatic")
    draw.add("chest_pain", "category", draw.one_of(pain, ((5, 4, 1, 2), (2, 1, 1, 8))))
    draw.ordered("breathlessness", ("none", "slight", "marked", "severe"), (0.4, 1.8), 0.8)
    draw.add("exercise_angina", "yes-no", draw.yes_no((0.15, 0.6)))
    draw.add("smoker", "yes-no", draw.yes_no((0.25, 0.5)))
    draw.add("diabetic", "yes-no", draw.yes_no((0.1, 0.25)))
    for name, share in {"cholesterol_mg_dl": 0.1, "diabetic": 0.1}.items():
        draw.lose(name, share)


def loans(draw: Draw) -> None:
    draw.add("amount_eur", "number", draw.amount((9e3, 180e3, 45e3), 0.6, digits=0))
    draw.add("months", "number", np.clip(draw.normal((54, 240, 96), 30, digits=0), 6, None))
    draw.add("rate_percent", "number", draw.normal((6.2, 3.4, 5.1), 1.0, digits=2))
    draw.add("income_eur", "number", draw.amount((31e3, 48e3, 60e3), 0.45, digits=0))
    purposes = [f"purpose {number:02d}" for number in range(1, 31)]
    preferred = np.full((3, 30), 0.3)
    for group in range(3):
        preferred[group, 10 * group : 10 * group + 10] = 1.5
    draw.add("purpose", "category", draw.one_of(purposes, preferred))
    towns = [f"town {number:02d}" for number in range(1, 41)]
    draw.add("town", "category", draw.one_of(towns, np.tile(1 / np.arange(1, 41), (3, 1))))
    jobs = ("under 1 year", "1 to 4 years", "4 to 7 years", "over 7 years")
    draw.ordered("employed", jobs, (1.0, 2.1, 1.6), 0.9)
    draw.add("owner", "yes-no", draw.yes_no((0.25, 0.65, 0.5)))
    securities = ("none", "co-applicant", "guarantor", "property")
    odds = ((8, 2, 1, 0.3), (1, 3, 1, 8), (3, 1, 5, 3))
    draw.add("security", "category", draw.one_of(securities, odds))
    days = draw.rng.randint(0, 2500, draw.n) * DAY
    draw.add("opened", "date", np.datetime64("2016-03-01") + days)
    draw.lose("income_eur", 0.08)


def census(draw: Draw) -> None:
    draw.add("age", "number", draw.normal((35, 45), 10, digits=0))
    work = ("Private", "Self-employed", "Local-gov", "State-gov", "Without-pay")
    draw.add("workclass", "category", draw.one_of(work, ((8, 1, 1, 1, 0.3), (6, 3, 1.5, 1, 0))))
    draw.add("weight", "number", draw.amount((180e3, 180e3), 0.5, digits=0))
    schools = ("Primary", "HS-grad", "Some-college", "Bachelors", "Masters", "Doctorate")
    draw.ordered("education", schools, (1.2, 3.0), 1.0)
    by_sex: Odds = ((7, 3, 0.5), (3, 4, 3))
    marital = ("Married", "Never-married", "Widowed")
    draw.add("marital", "category", draw.one_of(marital, by_sex, by=draw.nuisance))
    jobs = ("Craft", "Sales", "Clerical", "Service", "Machine-op", "Tech", "Prof", "Exec")
    odds = ((4, 3, 3, 4, 3, 1, 1, 0.7), (1.5, 2, 1, 0.5, 0.4, 2, 5, 6))
    draw.add("occupation", "category", draw.one_of(jobs, odds))
    relation = ("Husband", "Wife", "Own-child", "Unmarried")
    by_sex = ((7, 0.2, 2, 2), (0.2, 5, 2, 4))
    draw.add("relationship", "category", draw.one_of(relation, by_sex, by=draw.nuisance))
    sexes = ("Male", "Female")
    draw.add("sex", "yes-no", draw.one_of(sexes, ((0.97, 0.03), (0.03, 0.97)), by=draw.nuisance))
    for name, chances, middle in (("gain", (0.03, 0.3), 7000), ("loss", (0.02, 0.12), 1800)):
        some = draw.rng.uniform(size=draw.n) < np.array(chances)[draw.group]
        amount = draw.amount((middle, middle), 0.6, digits=0)
        draw.add(f"capital_{name}", "number", np.where(some, amount, 0))
    draw.add("hours_per_week", "number", draw.normal((37, 47), 7, other=-5, digits=0))
    lands = ("United-States", *(f"Country-{letter}" for letter in "ABCDEFGHIJKLMNOPQRST"))
    draw.add("native_country", "category", draw.one_of(lands, [(30, *[0.2] * 20)] * 2))
    for name, share in {"workclass": 0.06, "occupation": 0.06, "native_country": 0.02}.items():
        draw.lose(name, share)


def mushrooms(draw: Draw) -> None:
    looks = {  # levels of each column, and how sharply the groups differ in it
        "cap_shape": ("bell convex flat knobbed", 6.0),
        "cap_surface": ("smooth scaly fibrous", 2.0),
        "cap_color": ("brown gray red white yellow pink buff", 4.0),
        "bruises": ("no yes", 4.0),
        "odor": ("none almond anise fishy foul musty", 25.0),
        "gill_size": ("broad narrow", 3.0),
        "gill_color": ("black brown buff gray pink white green red", 8.0),
        "stalk_root": ("bulbous club equal rooted", 5.0),
        "ring_type": ("pendant evanescent large none", 12.0),
        "spore_print": ("black brown white chocolate purple green", 15.0),
    }
    for name, (words, sharpness) in looks.items():
        levels = words.split()
        odds = [
            [1.0 + sharpness * (j % 3 == group) for j in range(len(levels))] for group in range(3)
        ]
        if len(levels) == 2:
            odds = [[1.0, sharpness], [sharpness, 1.0], [1.0, 1.0]]
        draw.add(name, "yes-no" if "yes" in levels else "category", draw.one_of(levels, odds))
    places = {
        "habitat": ("woods grasses leaves meadows paths urban", 12.0),
        "population": ("abundant clustered numerous scattered several solitary", 8.0),
        "stalk_color": ("brown gray red white yellow", 8.0),
    }
    for name, (words, sharpness) in places.items():
        levels = words.split()
        odds = [
            [1.0 + sharpness * (j % 2 == half) for j in range(len(levels))] for half in range(2)
        ]
        draw.add(name, "category", draw.one_of(levels, odds, by=draw.nuisance))
    draw.lose("stalk_root", 0.3)


def events(draw: Draw) -> None:
    """Rides: to work on weekdays, home at night at weekends, sights on summer days."""
    rng, n, group = draw.rng, draw.n, draw.group
    week = rng.randint(0, 50, n)
    weekday = np.where(group == 0, rng.randint(0, 5, n), rng.choice([4, 5, 5, 6], n))
    weekday = np.where(group == 2, rng.randint(0, 7, n), weekday)
    week = np.where(group == 2, np.round(27 + 5 * rng.standard_normal(n)), week)
    rush = rng.choice([7.8, 17.5], n)
    hour = np.choose(group, [rush, np.full(n, 23.5), np.full(n, 13.5)])
    hour = hour + np.array((0.7, 1.6, 2.0))[group] * rng.standard_normal(n)
    # 2021 and 2022 both are given 364 days, so that weekdays stay.
    days = week * 7 + weekday + 364 * draw.nuisance
    draw.add("started", "date", draw.moments(days, hour, "2021-01-04"))
    draw.add("minutes", "number", draw.amount((18, 14, 35), 0.4, digits=0))
    draw.add("kilometers", "number", draw.amount((6, 5, 8), 0.45, digits=1))
    draw.add("price_eur", "number", draw.amount((9, 13, 19), 0.3, factor=2.2))
    draw.add(
        "payment",
        "category",
        draw.one_of(("card", "app", "cash"), ((4, 5, 1), (5, 3, 2), (5, 1, 4))),
    )
    versions = ("v3.1", "v3.2", "v4.0", "v4.1")
    by_year = ((5, 5, 0.1, 0.1), (0.1, 0.1, 5, 5))
    draw.add("app_version", "category", draw.one_of(versions, by_year, by=draw.nuisance))
    wait = np.abs(draw.normal((4, 9, 5), 3))
    booked = (np.round(hour * 60 - wait) % 1440).astype(int)
    clock = [f"{minute // 60:02d}:{minute % 60:02d}" for minute in booked]
    draw.add("booked_at", "time", np.array(clock, dtype=object))
    draw.add("passengers", "number", 1 + rng.poisson(np.array((0.1, 1.2, 1.4))[group]))
    draw.lose("kilometers", 0.1)


def products(draw: Draw) -> None:
    rng = draw.rng
    words = (
        "pan kettle knife bowl spoon oven whisk grater plate mug",
        "spade hose seeds rake pot gloves lawn fence shears soil",
        "stapler folder pen notebook desk lamp paper binder ink clip",
        "ball racket shoes bike helmet tent rope mat goggles bottle",
    )
    common = ("large", "small", "new", "set", "pro", "classic", "steel", "light", "home", "blue")
    own = np.array([line.split() for line in words])
    titles = []
    for group in draw.group:
        chosen = [*rng.choice(own[group], 2, replace=False), *rng.choice(common, 3, replace=False)]
        if rng.uniform() < 0.15:  # a word of another group
            chosen[1] = rng.choice(own[rng.randint(len(own))])
        titles.append(" ".join(rng.permutation(chosen)[: rng.randint(4, 6)]))
    draw.add("title", "text", np.array(titles, dtype=object))
    draw.add("price_eur", "number", draw.amount((22, 16, 8, 60), 0.4, factor=2.0))
    draw.add("weight_g", "number", draw.amount((500, 1500, 120, 900), 0.5, digits=0))
    brands = ("Alva", "Brek", "Corin", "Dalo", "Esk", "Fjell", "Gron", "Halm")
    by_tier = ((5, 4, 3, 2, 0.1, 0.1, 0.1, 0.1), (0.1, 0.1, 0.1, 0.1, 5, 4, 3, 2))
    draw.add("brand", "category", draw.one_of(brands, by_tier, by=draw.nuisance))
    shelves = ("A", "B", "C", "D")
    draw.add("shelf", "category", draw.one_of(shelves, 0.4 + 4 * np.eye(4)))
    draw.add("in_stock", "yes-no", draw.yes_no((0.8, 0.8, 0.8, 0.8), ("false", "true")))
    draw.add("rating", "number", np.clip(draw.normal((4,) * 4, 0.6, other=0.5), 1, 5))
    draw.lose("rating", 0.25)
    draw.lose("weight_g", 0.05)


def sensors(draw: Draw) -> None:
    draw.add("temperature_c", "number", draw.normal((60, 69, 63), 2.2))
    draw.add("pressure_pa", "number", draw.normal((102_000, 101_200, 101_600), 230, digits=0))
    draw.add("humidity", "number", draw.normal((0.40, 0.44, 0.58), 0.05, digits=3))
    draw.add("vibration_mm_s", "number", draw.amount((0.7, 3.0, 1.2), 0.35, digits=3))
    draw.add("current_ma", "number", draw.normal((410, 470, 500), 35, other=160, digits=0))
    draw.add("rpm", "number", draw.normal((1480, 1495, 1440), 22, other=70, digits=0))
    draw.add("flow_l_min", "number", draw.amount((12, 12, 7), 0.25, factor=1.9))
    counter = draw.rng.randint(0, 10_000_000, draw.n)
    draw.add("pulse_counter", "number", counter)
    halls = ("hall 1", "hall 2", "hall 3", "hall 4")
    by_site = ((5, 5, 0.1, 0.1), (0.1, 0.1, 5, 5))
    draw.add("hall", "category", draw.one_of(halls, by_site, by=draw.nuisance))
    draw.add("alarm", "yes-no", draw.yes_no((0.05, 0.5, 0.2)))
    draw.lose("humidity", 0.15)


@dataclass(frozen=True)
class Recipe:
    """Names and sizes of the groups, and what fills the table."""

    title: str
    groups: tuple[str, ...]
    shares: tuple[float, ...]
    fill: Callable[[Draw], None]
    nuisance: str = ""
    id_column: str | None = None
    id_of: str = "{}"
    missing_as: str = ""


RECIPES = {
    "customers": Recipe(
        "Customers of a shop",
        ("bargain hunters", "families", "professionals"),
        (0.4, 0.35, 0.25),
        customers,
        nuisance="two markets",
        id_column="customer",
        id_of="C{}",
    ),
    "patients": Recipe(
        "Patients of a heart clinic",
        ("well", "ill"),
        (0.55, 0.45),
        patients,
        id_column="patient",
        id_of="P-{}",
    ),
    "loans": Recipe(
        "Loans of a bank",
        ("car", "home", "business"),
        (0.45, 0.3, 0.25),
        loans,
        id_column="loan_id",
    ),
    "census": Recipe(
        "Answers to a census",
        ("lower income", "higher income"),
        (0.65, 0.35),
        census,
        nuisance="men and women",
        missing_as="?",
    ),
    "mushrooms": Recipe(
        "Mushrooms of three genera",
        ("genus A", "genus B", "genus C"),
        (0.4, 0.3, 0.3),
        mushrooms,
        nuisance="two regions",
        missing_as="?",
    ),
    "events": Recipe(
        "Rides with a taxi",
        ("to work", "at night", "to sights"),
        (0.4, 0.3, 0.3),
        events,
        nuisance="two years, before and after a rise of prices",
    ),
    "products": Recipe(
        "Products of a warehouse",
        ("kitchen", "garden", "office", "sports"),
        (0.25, 0.25, 0.25, 0.25),
        products,
        nuisance="cheap and expensive brands",
        id_column="sku",
        id_of="A{:06d}",
    ),
    "sensors": Recipe(
        "Readings of sensors at a machine",
        ("idle", "worn", "leaking"),
        (0.4, 0.35, 0.25),
        sensors,
        nuisance="two sites",
        missing_as="NA",
    ),
}
