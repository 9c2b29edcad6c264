"""The Recruitment entry of the menu: campaigns, payments, mismatches and the join link."""
