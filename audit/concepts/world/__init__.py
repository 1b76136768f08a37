"""The world of "Unit Testing for Concepts in Neural Networks": classes, images, encoders, tests."""
