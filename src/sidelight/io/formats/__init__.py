"""File formats: text in any encoding, Excel, Arrow, arrays; each read into names and columns."""
