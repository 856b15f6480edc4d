from ._sammon import SammonMapping as SammonMapping
