"""From a bound query to a plan of operators, and from plan to plan."""
