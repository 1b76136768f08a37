"""Label hierarchies: the DAG, the readers of its files, and what its codes mean."""
