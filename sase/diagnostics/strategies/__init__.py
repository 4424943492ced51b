"""The strategy lab: what each strategy finds beyond a stricter one, and what that one forbids."""
