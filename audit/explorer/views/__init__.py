"""The pages of the application, a file for each place in it."""
