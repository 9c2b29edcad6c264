"""What the researchers state about their data: on the card, in Croissant metadata, in citations."""
