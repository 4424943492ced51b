"""The matches of every form: series, sets, groups, candidates, and unions of them."""
