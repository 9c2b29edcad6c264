"""The People entry of the menu: the list, one participant, and invitations."""
