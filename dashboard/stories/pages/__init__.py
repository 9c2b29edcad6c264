"""The pages about stories and imports."""
