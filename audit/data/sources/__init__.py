"""Where data are that lie in no file."""
