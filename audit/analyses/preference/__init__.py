"""Which answers a language model prefers: specific or general ones, correct or merely related."""
