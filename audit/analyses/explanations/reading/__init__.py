"""Reading of attributions and of the human evidence for them."""
