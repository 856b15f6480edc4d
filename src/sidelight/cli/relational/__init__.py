"""Commands about related objects: correlate, consensus, regions, resolve."""
