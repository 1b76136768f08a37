"""The chapters of a report: what each shows, in tables, cards and figures."""
