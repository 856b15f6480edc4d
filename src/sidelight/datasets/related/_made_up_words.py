"""Names, places and words for made-up tables, and the slips of the people who type them."""

from __future__ import annotations

import numpy as np

FIRST_NAMES = (
    "Ada", "Alan", "Amara", "Ana", "Bernd", "Bo", "Carla", "Chen", "Clara", "Dana", "David",
    "Elena", "Emil", "Eva", "Farid", "Felix", "Greta", "Hana", "Hugo", "Ines", "Ivan", "Jana",
    "Jin", "Johan", "Jun", "Karim", "Lea", "Lena", "Li", "Lucas", "Maria", "Marco", "Mei", "Mina",
    "Nadia", "Nils", "Olga", "Omar", "Paul", "Petra", "Rosa", "Sara", "Stefan", "Tariq", "Tomas",
    "Vera", "Wei", "Wen", "Yara", "Yusuf",
)  # fmt: skip
SURNAMES = (
    "Adler", "Bauer", "Becker", "Brandt", "Chen", "Costa", "Diaz", "Fischer", "Garcia", "Haddad",
    "Hansen", "Huang", "Ivanova", "Jensen", "Kim", "Klein", "Kovacs", "Lang", "Larsen", "Lehmann",
    "Li", "Lopez", "Martin", "Mayer", "Meyer", "Moreau", "Nakamura", "Novak", "Okafor", "Olsen",
    "Park", "Petrov", "Rossi", "Ruiz", "Santos", "Sato", "Schmidt", "Silva", "Smith", "Sommer",
    "Tanaka", "Vogel", "Wagner", "Wang", "Weber", "Winter", "Wong", "Young", "Zhang", "Zimmermann",
)  # fmt: skip
STREETS = (
    "Birch Lane", "Bridge Street", "Castle Road", "Cherry Avenue", "Church Street", "Field Road",
    "Garden Street", "Harbor Road", "High Street", "Hill Lane", "Lake View", "Linden Avenue",
    "Market Square", "Mill Lane", "Oak Street", "Park Road", "River Street", "School Lane",
    "Station Road", "Valley Road",
)  # fmt: skip
CITIES = (
    "Ashford", "Brookfield", "Clearwater", "Dunmore", "Eastvale", "Fairview", "Glenwood",
    "Highbridge", "Kingsport", "Lakeside", "Milton", "Northgate", "Oakdale", "Riverton",
    "Stonebridge", "Westfield",
)  # fmt: skip
MAIL_HOSTS = ("mail.example", "post.example", "home.example")
#: Words of titles and venues by field of research; the first are those of every field.
COMMON_WORDS = (
    "approach", "analysis", "efficient", "evaluation", "fast", "large", "methods", "model", "new",
    "robust", "scalable", "study", "survey", "systems",
)  # fmt: skip
FIELDS = {
    "databases": (
        ("Conf. on Data Management", "J. of Query Systems"),
        ("index", "join", "query", "record", "relational", "schema", "storage", "stream", "table",
         "transaction", "tuple", "view"),
    ),
    "learning": (
        ("Conf. on Statistical Learning", "J. of Learning Theory"),
        ("bayesian", "boosting", "classifier", "clustering", "gradient", "kernel", "label",
         "margin", "network", "regression", "regularized", "sampling"),
    ),
    "networks": (
        ("Symp. on Networking", "Trans. on Communication"),
        ("bandwidth", "congestion", "latency", "mobile", "packet", "protocol", "queue", "routing",
         "sensor", "traffic", "wireless", "topology"),
    ),
    "vision": (
        ("Conf. on Image Understanding", "J. of Visual Computing"),
        ("camera", "contour", "depth", "edge", "face", "image", "motion", "object", "recognition",
         "segmentation", "shape", "texture"),
    ),
}  # fmt: skip

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def mistyped(text: str, rng: np.random.RandomState) -> str:
    """One slip: a letter left out, doubled, changed, or swapped with the next."""
    if len(text) < 3:
        return text
    place = int(rng.randint(1, len(text) - 1))  # the first letter is seldom wrong
    slip = int(rng.randint(4))
    if slip == 0:
        return text[:place] + text[place + 1 :]
    if slip == 1:
        return text[: place + 1] + text[place:]
    if slip == 2:
        return text[:place] + LETTERS[int(rng.randint(26))] + text[place + 1 :]
    return text[:place] + text[place + 1] + text[place] + text[place + 2 :]


def maybe_mistyped(text: str, p_typo: float, rng: np.random.RandomState) -> str:
    """The text, with a slip in a share ``p_typo`` of all cases."""
    return mistyped(text, rng) if rng.uniform() < p_typo else text
