"""A release as a study again: its stories, or its stories and votes."""
