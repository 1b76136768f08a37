"""The PDF: the same templates on paper."""
