"""Bind WHERE, HAVING and RETURN: conjuncts, their classes, and where each is checked."""
