"""What every room is built on: errors, files, the disk, progress, DAGs as arrays."""
