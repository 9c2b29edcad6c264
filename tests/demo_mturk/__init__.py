"""``make demo-mturk``: a whole campaign on the double of Mechanical Turk, for anybody to look at."""
