from ._binary import distinct_names as distinct_names
from ._calendar import cycles_of as cycles_of
from ._calendar import month_of as month_of
from ._calendar import weekday_of as weekday_of
from ._preparer import check_scale as check_scale
from ._source import Source as Source
from ._source import as_source as as_source
from ._texts import encode_texts as encode_texts
