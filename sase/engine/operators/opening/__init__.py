"""How the nodes of a plan are opened: what knows every operator and every form of pattern."""
