"""What is published and no plain table, and the readers of it."""
