from ._given import as_relations as as_relations
from ._relations import Relations as Relations
