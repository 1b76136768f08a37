"""`audit explore`: a local web application that walks from a verdict to the records behind it.

Pages are rendered on the server, are complete without a script, and refer to nothing outside.
"""
