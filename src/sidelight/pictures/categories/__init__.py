"""What pictures of categories show: where documents went."""
