"""The annotator's pages of links and of visits from platforms."""
