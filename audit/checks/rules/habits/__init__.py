"""Rules on the habits of those who code: over time, over sites, and in whole records."""
