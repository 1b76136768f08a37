"""The report as PDF, from the same templates as the HTML."""
