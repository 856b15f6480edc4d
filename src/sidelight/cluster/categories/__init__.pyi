from ._ranking import CategoryRanking as CategoryRanking
from ._text_categories import TextCategories as TextCategories
