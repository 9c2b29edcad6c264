"""Compare what a platform says with what is here, and plan the steps."""
