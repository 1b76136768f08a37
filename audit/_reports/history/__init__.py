"""The page of several runs, in time order."""
