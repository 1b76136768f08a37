"""From labels to tables: what an audit measures of a dataset."""
