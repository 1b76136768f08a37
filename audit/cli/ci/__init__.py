"""What continuous integration reads: JUnit files, annotations and a summary on GitHub."""
