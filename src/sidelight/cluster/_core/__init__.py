"""What all k-means share: distances, seeding, the loop, new rows."""
