"""What pictures of classifiers show: decisions, and rounds of boosting."""
