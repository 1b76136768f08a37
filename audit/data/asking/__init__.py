"""What data most likely mean, of which a question offers the best; never applied unasked."""
