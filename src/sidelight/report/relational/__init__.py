"""The reports of clusters in graphs: scored pairs, connected clusters, entities."""
