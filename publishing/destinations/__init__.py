"""Places outside that a published release can be deposited at. Nothing here touches the database."""
