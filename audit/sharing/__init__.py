"""What may be shared: counts told in bins, means in steps, and what follows from these."""
