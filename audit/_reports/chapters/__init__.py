"""The chapters of a report, made of tables, cards and figures."""
