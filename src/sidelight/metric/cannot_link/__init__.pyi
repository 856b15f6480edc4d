from ._metric import CannotLinkMetric as CannotLinkMetric
