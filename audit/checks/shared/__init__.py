"""What several rules use."""
