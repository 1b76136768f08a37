"""The International Classification of Diseases: its codes, their shapes and their notes."""
