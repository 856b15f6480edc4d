from ._adult_like import PeopleTable as PeopleTable
from ._adult_like import make_adult_like as make_adult_like
from ._customers import MixedTable as MixedTable
from ._customers import customers_paths as customers_paths
from ._customers import load_customers as load_customers
from ._customers import make_mixed_customers as make_mixed_customers
from ._purchases import Purchases as Purchases
from ._purchases import make_purchases as make_purchases
