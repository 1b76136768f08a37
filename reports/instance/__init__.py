"""The page of one instance."""
