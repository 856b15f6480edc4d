"""What pictures show, as plain data, for reports and for Matplotlib."""
