"""Series: run evaluations by automaton, lines, walks back and match sets, and their matches."""
