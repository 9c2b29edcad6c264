"""Compare a platform's submissions with visits here, and plan the steps."""
