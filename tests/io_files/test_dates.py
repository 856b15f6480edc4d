"""Dates and times of day come back, whichever way they are written."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidelight.io.inner import read_dates

EPOCH = dt.datetime(1970, 1, 1)


def read(*texts, **options):
    return read_dates(pa.chunked_array([pa.array(texts, type=pa.string())]), **options)


def seconds(*moments):
    return [(moment - EPOCH).total_seconds() for moment in moments]


MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
FULL = ("January", "February", "March", "April", "May", "June", "July", "August", "September")
FULL += ("October", "November", "December")
WAYS = {
    "YYYY-MM-DD": lambda d: f"{d.year}-{d.month:02}-{d.day:02}",
    "YYYY/MM/DD": lambda d: f"{d.year}/{d.month}/{d.day}",
    "DD.MM.YYYY": lambda d: f"{d.day:02}.{d.month:02}.{d.year}",
    "DD. MM. YYYY": lambda d: f"{d.day}. {d.month}. {d.year}",
    "DD/MM/YYYY": lambda d: f"{d.day:02}/{d.month:02}/{d.year}",
    "DD-MM-YYYY": lambda d: f"{d.day}-{d.month}-{d.year}",
    "MM/DD/YYYY": lambda d: f"{d.month}/{d.day}/{d.year}",
    "MM-DD-YYYY": lambda d: f"{d.month:02}-{d.day:02}-{d.year}",
    "DD Mon YYYY": lambda d: f"{d.day} {MONTHS[d.month - 1]} {d.year}",
    "Mon DD YYYY": lambda d: f"{FULL[d.month - 1]} {d.day}, {d.year}",
}
CLOCKS = {
    "": lambda d: "",
    " hh:mm": lambda d: f" {d.hour:02}:{d.minute:02}",
    " hh:mm:ss": lambda d: f" {d.hour}:{d.minute:02}:{d.second:02}",
    " hh:mm:ss ": lambda d: d.strftime(" %H:%M:%S.") + f"{d.microsecond:06}",
    " hh:mm:ss  ": lambda d: (
        f" {d.hour % 12 or 12}:{d.minute:02}:{d.second:02} " + ("PM" if d.hour >= 12 else "AM")
    ),
}
KEPT = {"": 86400, " hh:mm": 60, " hh:mm:ss": 1, " hh:mm:ss ": 1e-6, " hh:mm:ss  ": 1}
moments = st.datetimes(dt.datetime(1000, 1, 1), dt.datetime(3000, 12, 31, 23, 59, 59))


@settings(max_examples=100)
@given(
    st.lists(moments, min_size=1, max_size=12),
    st.sampled_from(sorted(WAYS)),
    st.sampled_from(sorted(CLOCKS)),
    st.sampled_from(["", "NA", None, "-"]),
)
def test_dates_come_back(values, way, clock, missing):
    values = [*values, dt.datetime(2024, 3, 25, 14, 5, 30)]  # 25 is a day, whatever comes first
    texts = [WAYS[way](value) + CLOCKS[clock](value) for value in values]
    found = read(*texts, missing)
    assert (found.kind, found.format) == ("date", way + clock.rstrip())
    assert found.bad.tolist() == []
    assert found.note == ""
    assert np.isnan(found.seconds[-1])
    expected = np.array(seconds(*values))
    if clock != " hh:mm:ss ":
        expected = expected - expected % KEPT[clock]
    np.testing.assert_allclose(found.seconds[:-1], expected, rtol=0, atol=1e-5)
    assert found.has_time == bool(np.any(expected % 86400 != 0))
    alone = read(texts[0], format=found.format)  # as a new row of a known column
    np.testing.assert_allclose(alone.seconds, expected[:1], rtol=0, atol=1e-5)


@given(st.lists(st.times(), min_size=1))
def test_times_of_day_come_back(values):
    found = read(*(value.isoformat("seconds") for value in values))
    assert (found.kind, found.has_time) == ("time", True)
    assert found.seconds.tolist() == [v.hour * 3600 + v.minute * 60 + v.second for v in values]
    assert read(*(f"{v.hour}:{v.minute:02}" for v in values)).format == "hh:mm"


def test_iso_with_all_that_belongs_to_it():
    texts = ["2024-03-01T14:05:30.25", "2024-03-01T14:05:30Z", "2024-03-01t14:05+02:00"]
    found = read(*texts, "2024-03-01 14:05:00-0530")
    day = dt.datetime(2024, 3, 1)
    assert found.seconds.tolist() == [
        *seconds(day + dt.timedelta(hours=14, minutes=5, seconds=30.25)),
        *seconds(day + dt.timedelta(hours=14, minutes=5, seconds=30)),
        *seconds(day + dt.timedelta(hours=12, minutes=5)),
        *seconds(day + dt.timedelta(hours=19, minutes=35)),
    ]
    assert "UTC" in found.note


@pytest.mark.parametrize(
    "text", ["3 Mar 2024", "Mar 3, 2024", "March 3rd, 2024", "Sun, 3 Mar 2024", "03-MAR-2024"]
)
def test_months_by_name(text):
    assert read(text).seconds.tolist() == seconds(dt.datetime(2024, 3, 3))


@pytest.mark.parametrize(
    ("texts", "first", "told"),
    [
        (["01.02.2024"], "day", True),
        (["01-02-2024"], "day", True),
        (["01/02/2024"], "month", True),
        (["01/02/2024", "13/02/2024"], "day", False),
        (["01.02.2024", "01.13.2024"], "month", False),
    ],
)
def test_day_or_month_first(texts, first, told):
    found = read(*texts)
    expected = dt.datetime(2024, 2, 1) if first == "day" else dt.datetime(2024, 1, 2)
    assert found.seconds[:1].tolist() == seconds(expected)
    assert bool(found.note) == told
    if told:
        assert found.note.startswith(f"taken as {first} before")


def test_years_of_two_digits_only_where_one_order_fits():
    assert read("31.12.24", "01.02.99").seconds.tolist() == seconds(
        dt.datetime(2024, 12, 31), dt.datetime(1999, 2, 1)
    )
    assert "1969 to 2068" in read("12/31/24").note
    assert read("99-12-31", "24-01-01").format == "YY-MM-DD"
    for open_texts in (["01.02.24"], ["24-12-31"], ["5/6/07", "7/8/09"]):
        assert read(*open_texts) is None


@pytest.mark.parametrize(
    "text",
    [
        *("2024-02-30", "31.04.2024", "13/13/2024", "0999-12-31", "3001-01-01", "25:00", "12:60"),
        *(
            "13:05 pm",
            "1.5",
            "12.345.678",
            "soon",
            "2024",
            "20240131",
            "",
            "9 Foo 2024",
            "1.1.1.24",
        ),
    ],
)
def test_what_is_no_date(text):
    assert read(text) is None


def test_every_day_of_the_calendar_and_no_other():
    texts, expected = [], []
    for year in (1000, 1900, 2000, 2023, 2024, 3000):
        for month in range(14):
            for day in range(33):
                texts.append(f"{year}-{month:02}-{day:02}")
                try:
                    expected.append((dt.datetime(year, month, day) - EPOCH).total_seconds())
                except ValueError:
                    expected.append(np.nan)
    good = ["2024-01-01"] * 50 * len(texts)
    found = read(*texts, *good)
    np.testing.assert_array_equal(found.seconds[: len(texts)], expected)
    np.testing.assert_array_equal(found.bad, np.flatnonzero(np.isnan(expected)))


def test_a_few_other_texts_are_told_and_more_are_too_many():
    good = [f"2024-01-{i % 28 + 1:02}" for i in range(98)]
    found = read(*good, "soon", "2024-02-30")
    assert found.bad.tolist() == [98, 99]
    assert read(*good[:97], "soon", "later", "never") is None


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "+02:00"])
def test_timestamps_of_arrow(unit, zone):
    values = [dt.datetime(2024, 3, 1, 14, 5, 30), None, dt.datetime(1969, 12, 31)]
    stamps = [None if v is None else int((v - EPOCH).total_seconds()) for v in values]
    column = pa.chunked_array([pa.array(stamps, pa.timestamp("s")).cast(pa.timestamp(unit, zone))])
    found = read_dates(column)
    assert found.seconds[[0, 2]].tolist() == [stamps[0], stamps[2]]
    assert (found.kind, found.has_time, found.format) == ("date", True, "")
    assert np.isnan(found.seconds[1])


def test_dates_and_times_of_arrow():
    for kind in (pa.date32(), pa.date64()):
        found = read_dates(pa.chunked_array([pa.array([dt.date(1970, 1, 3), None], kind)]))
        assert (found.seconds[0], found.has_time) == (2 * 86400, False)
    for kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")):
        found = read_dates(pa.chunked_array([pa.array([dt.time(5, 6)], kind)]))
        assert (found.kind, found.seconds.tolist()) == ("time", [5 * 3600 + 6 * 60])
    ends = [dt.date(9999, 12, 31), dt.date(2024, 1, 1)]  # how databases write "never"
    found = read_dates(pa.chunked_array([pa.array(ends, pa.date32())]))
    assert found.bad.tolist() == [0]
    assert np.isnan(found.seconds[0])
    assert read_dates(pa.chunked_array([[1, 2]])) is None
    assert read_dates(pa.chunked_array([pa.array([None, None], pa.date32())])) is None
