"""What pictures of maps show: grids of nodes."""
