"""What pictures of co-clusters show: blocks of a table, and runs along an order."""
