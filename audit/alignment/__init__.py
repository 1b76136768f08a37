"""From predictions to tables: the measures of Abstraction Alignment."""
