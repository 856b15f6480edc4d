"""What pictures of graphs and pairs show: signs, rates over a threshold, regions."""
