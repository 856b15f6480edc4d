from ._keys import cannot_links_from_keys as cannot_links_from_keys
