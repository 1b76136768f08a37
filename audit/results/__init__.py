"""What an audit says: the record of a result, its overviews, and what of it may be shared."""
