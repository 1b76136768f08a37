"""`audit explore`: a browser of a run's tables, which only reads.

Pages are rendered on the server, are complete without a script, and refer to nothing outside.
"""
