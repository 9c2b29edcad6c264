"""Commands for operators: is everything in order, back up, restore."""
