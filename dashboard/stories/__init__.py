"""The Stories entry of the menu: the list, one story, imports, and exports of votes."""
