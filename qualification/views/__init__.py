"""The annotator's pages of the test and of practice."""
