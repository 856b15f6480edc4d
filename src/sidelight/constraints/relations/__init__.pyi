from ._relations import Relations as Relations
from ._relations import as_relations as as_relations
