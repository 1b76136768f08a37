"""Statistics over arrays: expectations, intervals, discovery rates, resampling."""
