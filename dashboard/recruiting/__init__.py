"""What the researchers' pages show of recruitment, and the forms in which they steer it."""
