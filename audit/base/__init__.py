"""What every room stands on: errors, files, the disk, progress, DAGs as arrays."""
