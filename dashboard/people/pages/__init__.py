"""The pages about participants and invitations."""
