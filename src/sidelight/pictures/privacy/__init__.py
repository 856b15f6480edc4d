"""What pictures of published tables show: distributions before and after."""
