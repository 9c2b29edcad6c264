"""Every invariant as a check of the stored rows; ``manage.py check_integrity`` runs them all.

The invariants, by the numbers that checks name:

1. A story never has more counted votes than the study asks for, and never two by one annotator.
2. An answer that got a receipt is stored and exported; sending it again gets the same receipt.
3. A late or surplus vote is stored, credited and paid; it is never counted and never dropped.
4. Only a qualified annotator below the limit is served, in an open study. Each refusal has its reason.
5. A person has one attempt at a test (or as many as its round allows). The key never leaves the server.
6. Votes are facts with their context, only ever added. Later decisions point at them.
7. The same counted votes give the same verdicts and release files. A published release never changes.
8. Platform identities are in one table alone. A person can be erased, and their votes stay.
9. Rows of test runs never enter a live count or release.
10. The audit log has every action of a researcher that changes something.
"""
