"""Turn a bound query into a plan of operators, and optimize the plan."""
