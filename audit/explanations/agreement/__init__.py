"""Agreement of attribution methods with each other and with people."""
